"""The placement types: which clusters each picks, and the changes to bindings that follow.

Bindings of a placement are first put into groups by what the scheduler has to do with them. PickAll
picks every feasible cluster, PickFixed the clusters that the policy names, PickN the best so many,
and fewer again when fewer are wanted. Clusters are picked in this order: topology, affinity, kept
before new, greater name.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import compress, islice

from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    binding_names,
    previous_state,
    reassigned,
    renamed,
    unscheduled,
)
from reconciler.dialects.kubefleet.api.member import Members, RankedCluster
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    PARENT,
    SCHEDULED,
    SCHEDULER_FINALIZER,
    UNSCHEDULED,
    UnexpectedBehavior,
)
from reconciler.dialects.kubefleet.api.snapshots import NO_DECISION, ClusterDecision
from reconciler.dialects.kubefleet.scheduler.plugins import (
    PROFILE,
    PlacementRoom,
    Request,
    describe_rejections,
    filter_members,
    lacks_room,
)
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import (
    MAX_UNSELECTED,
    Snapshot,
    SnapshotReport,
    fixed_decision,
    invalid_decision,
    list_decisions,
    missing_decision,
    picked_decisions,
    recorded_score,
)
from reconciler.model.identity import ClusterName
from reconciler.model.records import dataclass, field_names, replace
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Levels, Mask, bits_of, grades, positions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The bindings of one placement, each group ascending by name.

    Attributes:
        deleting: Being deleted.
        unscheduled: Marked for removal, of whichever policy.
        dangling: Their cluster is gone or leaving.
        obsolete: Decided by an earlier policy.
        scheduled: Picked by the present policy, not yet rolled out.
        bound: Picked by the present policy and rolled out.
    """

    deleting: tuple[Binding, ...]
    unscheduled: tuple[Binding, ...]
    dangling: tuple[Binding, ...]
    obsolete: tuple[Binding, ...]
    scheduled: tuple[Binding, ...]
    bound: tuple[Binding, ...]

    @property
    def present(self) -> int:
        """How many clusters the present policy has; obsolete ones do not count."""
        return len(self.scheduled) + len(self.bound)


def classify(bindings: Iterable[Binding], snapshot: str, members: Members) -> Groups:
    """Sort bindings into groups; the first that fits wins, an unknown state fits none.

    Args:
        bindings: Ascending by name.
        snapshot: Name of the present policy snapshot.
        members: Everyone.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `classifyBindings`.
    """
    fleet = members.fleet
    groups: dict[str, list[Binding]] = {name: [] for name in field_names(Groups)}
    for binding in bindings:
        position = fleet.position.get(binding.target)
        if binding.deleting:
            group = "deleting"
        elif binding.state == UNSCHEDULED:
            group = "unscheduled"
        elif position is None or fleet.clusters[position].deleting:
            group = "dangling"
        elif binding.policy_snapshot != snapshot:
            group = "obsolete"
        elif binding.state == SCHEDULED:
            group = "scheduled"
        elif binding.state == BOUND:
            group = "bound"
        else:
            continue
        groups[group].append(binding)
    return Groups(**{name: tuple(group) for name, group in groups.items()})


def targets_of(members: Members, *groups: Iterable[Binding]) -> Mask:
    """Return the clusters of the bindings."""
    return members.fleet.named(binding.target for group in groups for binding in group)


@dataclass(frozen=True, slots=True, kw_only=True)
class PickRecord:
    """What one cycle looked at and what it chose, kept for whoever asks why.

    Attributes:
        request: What the plugins were asked, or would be; `None` for PickFixed, which asks none.
        feasible: Clusters that passed the filters, `None` if these were not asked.
        picked: In the order picked.
        missing: How many clusters were still wanted, negative if there were too many; `None` if
            as many as fit are wanted.
        limit: How many this cycle could pick, `None` for all.
    """

    request: Request | None = None
    feasible: Mask | None = None
    picked: tuple[RankedCluster, ...] = ()
    missing: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """What one cycle does after classification.

    Attributes:
        created: New bindings, in the order picked.
        patched: Bindings that the present policy takes over or takes back.
        dropped: Bindings marked Unscheduled.
        report: What to write into the snapshot's status, `None` for nothing.
        requeue: Whether another cycle must follow at once.
        record: What it looked at.
    """

    created: tuple[Binding, ...] = ()
    patched: tuple[Binding, ...] = ()
    dropped: tuple[Binding, ...] = ()
    report: SnapshotReport | None = None
    requeue: bool = False
    record: PickRecord | None = None


def cross_reference(
    snapshot: Snapshot,
    groups: Groups,
    picked: Sequence[RankedCluster],
    taken: Mapping[str, Binding],
) -> Pick:
    """Turn picked clusters into bindings: take over, take back, create, drop.

    Args:
        snapshot: The present policy.
        groups: Bindings by group; the obsolete ones are taken over or dropped.
        picked: In the order in which they were picked.
        taken: Bindings that exist, by name.

    Raises:
        UnexpectedBehavior: A state was not remembered, or a name cannot be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go
    `crossReferencePickedClustersAndDeDupBindings`.
    """
    names = [scored.name for scored in picked]
    decisions = dict(zip(names, picked_decisions(picked), strict=True))
    return adopt(snapshot, groups.obsolete, groups.unscheduled, decisions, taken)


def adopt(
    snapshot: Snapshot,
    open_bindings: Iterable[Binding],
    leaving: Iterable[Binding],
    decisions: Mapping[ClusterName, ClusterDecision],
    taken: Mapping[str, Binding],
) -> Pick:
    """Give the decided clusters their bindings.

    An open binding of a decided cluster keeps its state, that of another cluster is dropped. A
    leaving binding of a decided cluster gets the state back that it had. Two old bindings of one
    decided cluster are both taken.

    Args:
        snapshot: The present policy.
        open_bindings: Those that stay only if their cluster is decided.
        leaving: Those marked Unscheduled.
        decisions: By cluster, in the order in which they were picked.
        taken: Bindings that exist, by name.

    Raises:
        UnexpectedBehavior: A state was not remembered, or a name cannot be made.
    """
    patched, dropped, clusters = [], [], set[ClusterName]()
    for binding in open_bindings:
        clusters.add(binding.target)
        decision = decisions.get(binding.target)
        if decision is None:
            dropped.append(unscheduled(binding))
        else:
            patched.append(reassigned(binding, decision, snapshot.name, state=binding.state))
    for binding in leaving:
        clusters.add(binding.target)
        decision = decisions.get(binding.target)
        if decision is not None:
            state = previous_state(binding)
            patched.append(reassigned(binding, decision, snapshot.name, state=state))
    return Pick(
        created=new_bindings(
            snapshot,
            {name: item for name, item in decisions.items() if name not in clusters}
            if clusters
            else decisions,
            taken,
        ),
        patched=tuple(patched),
        dropped=tuple(dropped),
    )


def new_bindings(
    snapshot: Snapshot, decisions: Mapping[ClusterName, ClusterDecision], taken: Container[str]
) -> tuple[Binding, ...]:
    """Return fresh bindings for clusters that were picked by the policy of a snapshot.

    Args:
        snapshot: The policy.
        decisions: By cluster, in the order of picking.
        taken: Names of bindings that exist.

    Raises:
        UnexpectedBehavior: No binding can have a name made of these.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `generateBinding`.
    """
    name, namespace, labels = snapshot.name, snapshot.namespace, {PARENT: snapshot.placement}
    finalizers = (SCHEDULER_FINALIZER,)
    names = binding_names(snapshot.placement, decisions, taken)
    shared = Binding(
        "", namespace, ClusterName(""), SCHEDULED, name, NO_DECISION, labels, finalizers
    )
    return renamed(shared, names, decisions)


def pick_all(
    snapshot: Snapshot,
    groups: Groups,
    request: Request,
    members: Members,
    existing: Mapping[str, Binding],
    now: datetime,
) -> Pick:
    """Pick every cluster that passes the filters, ascending by name, with scores of 0.

    It is always fulfilled, even with no cluster at all. Unlike upstream: not where room is
    protected, and a cluster that fits otherwise has none.

    Args:
        snapshot: The present policy.
        groups: Bindings by group.
        request: Policy and state of the placement.
        members: Everyone.
        existing: Bindings by name.
        now: Aware UTC.

    Raises:
        UnexpectedBehavior: A cluster cannot be judged, or a binding cannot be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `runSchedulingCycleForPickAllPlacementType`.
    """
    feasible, rejections = filter_members(request, members, now)
    ranked, made = remember(members.unscored, True, lambda: _unscored(members))
    bits = bits_of(feasible, len(ranked))
    decided = dict(zip(compress(members.fleet.names, bits), compress(made, bits), strict=True))
    pick = adopt(snapshot, groups.obsolete, groups.unscheduled, decided, existing)
    decisions = list_decisions(
        (pick.created, pick.patched, groups.scheduled, groups.bound),
        filtered=describe_rejections(rejections, members, MAX_UNSELECTED),
    )
    count = len(pick.created) + len(pick.patched) + groups.present
    return replace(
        pick,
        report=SnapshotReport(decisions, count, fulfilled=not lacks_room(rejections)),
        record=PickRecord(request=request, feasible=feasible, picked=tuple(compress(ranked, bits))),
    )


def _unscored(members: Members) -> tuple[tuple[RankedCluster, ...], tuple[ClusterDecision, ...]]:
    """Return each cluster, and the decision for it, the same in all placements."""
    ranked = tuple(map(RankedCluster, members.fleet.names))
    return ranked, tuple(picked_decisions(ranked))


def pick_fixed(
    snapshot: Snapshot,
    groups: Groups,
    members: Members,
    existing: Mapping[str, Binding],
    room: PlacementRoom | None = None,
) -> Pick:
    """Bind the clusters that the policy names, as far as they exist and are eligible.

    Affinity, taints and topology do not matter. A binding of the present policy stays even if its
    cluster is not eligible any more, though the status says otherwise. An empty list of names does
    nothing at all.

    Args:
        snapshot: The present policy.
        groups: Bindings by group.
        members: Everyone.
        existing: Bindings by name.
        room: What is free for it, `None` where no room is protected.

    Raises:
        UnexpectedBehavior: A state was not remembered, or a name cannot be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `runSchedulingCycleForPickFixedPlacementType`, and frameworkutils.go
    `crossReferenceValidTargetsWithBindings`.
    """
    wanted = snapshot.policy.cluster_names
    if not wanted:
        return Pick()
    valid, refused = _judge(wanted, members, room)
    created, patched = _bind(snapshot, groups, valid, existing)
    staying = set(valid)
    report = SnapshotReport(
        decisions=(
            *map(fixed_decision, valid),
            *(invalid_decision(name, reason) for name, reason in refused if reason),
            *(missing_decision(name) for name, reason in refused if not reason),
        ),
        count=len(valid),
        fulfilled=not refused,
    )
    return Pick(
        created=created,
        patched=patched,
        dropped=tuple(unscheduled(item) for item in groups.obsolete if item.target not in staying),
        report=report,
        record=PickRecord(
            picked=tuple(map(RankedCluster, valid)), missing=len(wanted), limit=len(wanted)
        ),
    )


def _judge(
    wanted: tuple[str, ...], members: Members, room: PlacementRoom | None
) -> tuple[list[ClusterName], list[tuple[str, str]]]:
    """Return the names that can be bound, and the others with the reason, `""` if not found."""
    valid, refused = [], []
    full = {} if room is None else room.reasons(members)
    for name in wanted:
        position = members.fleet.position.get(ClusterName(name))
        if position is None:
            refused.append((name, ""))
        elif position in members.reasons:
            refused.append((name, members.reasons[position]))
        elif position in full:
            refused.append((name, full[position]))
        else:
            valid.append(ClusterName(name))
    return valid, refused


def _bind(
    snapshot: Snapshot,
    groups: Groups,
    valid: list[ClusterName],
    existing: Mapping[str, Binding],
) -> tuple[tuple[Binding, ...], tuple[Binding, ...]]:
    """Return the bindings to create and those to take over or take back.

    A name written twice is bound twice; it cannot be taken back twice, since the first time forgets
    the state.
    """
    placed = {binding.target for binding in (*groups.scheduled, *groups.bound)}
    obsolete = {binding.target: binding for binding in groups.obsolete}
    leaving = {binding.target: binding for binding in groups.unscheduled}
    created: dict[str, Binding] = {}
    taken = set(existing)
    patched: dict[str, Binding] = {}
    for name in valid:
        decision = fixed_decision(name)
        if name in placed:
            continue
        if name in obsolete:
            binding = obsolete[name]
            state = binding.state
        elif name in leaving:
            binding = leaving[name]
            if binding.name in patched:
                raise UnexpectedBehavior(f"{name} is named twice and cannot be taken back twice")
            state = previous_state(binding)
        else:
            (fresh,) = new_bindings(snapshot, {name: decision}, taken)
            taken.add(fresh.name)
            created[fresh.name] = fresh
            continue
        patched[binding.name] = reassigned(binding, decision, snapshot.name, state=state)
    return tuple(created.values()), tuple(patched.values())


TOPOLOGY_BATCH = 1  # topologyspreadconstraints/plugin.go PostBatch


def pick_n(
    snapshot: Snapshot,
    groups: Groups,
    request: Request,
    members: Members,
    existing: Mapping[str, Binding],
    now: datetime,
) -> Pick:
    """Pick as many clusters as are missing, or drop as many as are too many.

    With enough clusters nothing is picked, nothing moves, and obsolete bindings go. With topology
    constraints one cluster is picked a cycle, since each changes the spread for the next; only the
    last cycle reports.

    Args:
        snapshot: The present policy.
        groups: Bindings by group.
        request: Policy and state of the placement.
        members: Everyone.
        existing: Bindings by name.
        now: Aware UTC.

    Raises:
        UnexpectedBehavior: The number is missing, a cluster cannot be judged, or a binding cannot
            be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `runSchedulingCycleForPickNPlacementType`.
    """
    desired = snapshot.number_of_clusters
    missing = desired - groups.present
    if missing <= 0:
        record = PickRecord(request=request, missing=missing, limit=0)
        return replace(_scale_in(groups, desired), record=record)
    limit = min(missing, TOPOLOGY_BATCH) if request.policy.constraints else missing
    feasible, rejections = filter_members(request, members, now)
    ranked = rank(request, members, feasible, now)
    picked = tuple(islice(ranked, limit))
    record = PickRecord(
        request=request, feasible=feasible, picked=picked, missing=missing, limit=limit
    )
    pick = cross_reference(snapshot, groups, picked, existing)
    taken = len(pick.created) + len(pick.patched)
    if missing > limit and taken == limit:
        return Pick(
            created=pick.created,
            patched=pick.patched,
            dropped=pick.dropped,
            requeue=True,
            record=record,
        )
    decisions = list_decisions(
        (pick.created, pick.patched, groups.scheduled, groups.bound),
        ranked,
        describe_rejections(rejections, members, MAX_UNSELECTED),
    )
    count = taken + groups.present
    report = SnapshotReport(decisions, count, fulfilled=count >= desired)
    return replace(pick, record=record, report=report)


def _scale_in(groups: Groups, desired: int) -> Pick:
    """Drop obsolete bindings and those too many: scheduled before bound, low scores first.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go `downscale`.
    """
    surplus = groups.present - desired
    if not surplus and not groups.obsolete:
        return Pick(report=_selected((groups.bound, groups.scheduled), desired))
    scheduled, bound = groups.scheduled, groups.bound
    if 0 < surplus < len(scheduled):
        ordered = _worst_first(scheduled)
        dropped, scheduled = ordered[:surplus], ordered[surplus:]
    else:
        rest = surplus - len(scheduled)
        ordered = bound if rest in (0, len(bound)) else _worst_first(bound)
        if surplus:
            dropped, scheduled, bound = (*scheduled, *ordered[:rest]), (), ordered[rest:]
        else:
            dropped = ()
    return Pick(
        dropped=tuple(map(unscheduled, (*groups.obsolete, *dropped))),
        report=_selected((scheduled, bound), desired),
    )


def _worst_first(bindings: Sequence[Binding]) -> tuple[Binding, ...]:
    """Sort by recorded score, then by name of the cluster, both ascending."""
    return tuple(sorted(bindings, key=lambda item: (recorded_score(item.decision), item.target)))


def _selected(groups: tuple[tuple[Binding, ...], ...], desired: int) -> SnapshotReport:
    count = sum(map(len, groups))
    return SnapshotReport(list_decisions(groups), count, fulfilled=count >= desired)


BIT_BY_BIT = 16  # ours: so many cost what one walk through 1,000 clusters does


def rank(
    request: Request, members: Members, feasible: Mask, now: datetime
) -> Iterator[RankedCluster]:
    """Return the feasible clusters, best first; they are found as far as they are asked for.

    The scores are compared in the order of the profile; of equals the cluster with the greater name
    comes first.

    Args:
        request: Policy and state of the placement.
        members: Everyone.
        feasible: Clusters that passed the filters.
        now: Aware UTC, for the scores; upstream's do not look at it.

    Raises:
        UnexpectedBehavior: A cluster cannot be scored; raised at once, not at the first item.

    Source: kubefleet@e160c1c pkg/scheduler/framework/score.go `ClusterScore.Less`, and
    frameworkutils.go `pickTopNScoredClusters`, which sorts in reverse.
    """
    return _ranked(rank_groups(request, members, feasible, now), members)


def _ranked(
    groups: Iterable[tuple[Mapping[str, int], Mask]], members: Members
) -> Iterator[RankedCluster]:
    """Yield the clusters of the groups; those of one share the mapping of their scores."""
    names = members.fleet.names
    for scores, clusters in groups:
        for position in _descending(clusters):
            yield RankedCluster(names[position], scores)


def rank_groups(
    request: Request, members: Members, feasible: Mask, now: datetime
) -> Iterator[tuple[Mapping[str, int], Mask]]:
    """Return the feasible clusters by equal scores, best first; see `rank`."""
    answers = [
        (name, score(request, members, feasible, now)) for name, score in PROFILE.scores.items()
    ]
    compared = len(answers)
    while compared > 1 and not answers[compared - 1][1]:
        compared -= 1  # scores of which the last ones are 0 everywhere need no comparison
    rest = {name: 0 for name, _ in answers[compared:]}
    return _walk(feasible, answers[:compared], {}, rest)


def _walk(
    clusters: Mask,
    answers: Sequence[tuple[str, Levels]],
    scores: Mapping[str, int],
    rest: Mapping[str, int],
) -> Iterator[tuple[Mapping[str, int], Mask]]:
    """Yield clusters of equal scores so far by those scores that are still to be compared."""
    (name, levels), *others = answers
    for score, among in grades(levels, clusters) if levels else ((0, clusters),):
        if others:
            yield from _walk(among, others, {**scores, name: score}, rest)
        elif among:
            yield {**scores, name: score, **rest}, among


def _descending(clusters: Mask) -> Iterator[int]:
    """Yield positions, the greatest first: a few bit by bit, since often one is all that is asked.

    >>> list(_descending(Mask(0b1101)))
    [3, 2, 0]
    """
    for _ in range(BIT_BY_BIT):
        if not clusters:
            return
        position = clusters.bit_length() - 1
        yield position
        clusters = Mask(clusters ^ 1 << position)
    yield from reversed(positions_of(clusters))
