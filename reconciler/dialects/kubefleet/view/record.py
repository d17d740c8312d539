"""What a pass tells of one placement: from where to where and why, or what a person must edit.

An explanation comes from the records of the scheduler. Rebalancers see a placement as where it is,
and where the scheduler would choose afresh.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    PlacementStatus,
    decode_binding,
    decode_placement_status,
)
from reconciler.dialects.kubefleet.api.member import (
    AFFINITY,
    SAME_PLACEMENT,
    TOPOLOGY,
    Members,
    RankedCluster,
)
from reconciler.dialects.kubefleet.api.names import (
    BINDINGS,
    BOUND,
    NUMBER_OF_CLUSTERS,
    PLACEMENT_GROUP,
    PLACEMENTS,
    POLICY_SNAPSHOTS,
    SCHEDULED,
    SCHEDULED_CONDITION,
    UnexpectedBehavior,
    subject_of,
)
from reconciler.dialects.kubefleet.api.placement import (
    PICK_ALL,
    PICK_FIXED,
    PICK_N,
    latest_master,
    scores_of,
)
from reconciler.dialects.kubefleet.api.snapshots import annotations_of, is_latest
from reconciler.dialects.kubefleet.eviction import EVICTION
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement, selected_targets
from reconciler.dialects.kubefleet.rollout.availability import Overriding
from reconciler.dialects.kubefleet.rollout.rollout import (
    NO_ROOM,
    ROLLOUT_STARTED,
    lacks_in,
    waits_for_room,
)
from reconciler.dialects.kubefleet.scheduler.picks import PickRecord, rank
from reconciler.dialects.kubefleet.scheduler.plugins import PROFILE, REPORT
from reconciler.dialects.kubefleet.scheduler.schedule import Scheduled, reschedule, schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import Snapshot, decode_snapshot
from reconciler.dialects.kubefleet.updaterun.cycle import RunStep
from reconciler.dialects.kubefleet.view.status import scheduled_condition
from reconciler.dialects.kubefleet.view.tree import is_behind, rollout_sentences, wait_for_run
from reconciler.dialects.kubefleet.view.tree import run_is_over as is_over
from reconciler.dialects.scores import read_score
from reconciler.errors import Misconfigured, UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.decision import (
    Cause,
    CauseKind,
    ClusterAnswer,
    ClusterVerdict,
    Decision,
    Explanation,
    Placed,
    ScorePart,
)
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.world import Fault, Manifest, World
from reconciler.rebalance.target import FreshPlace, PresentPlace, Standing, TargetState
from reconciler.schedule.framework import Mask, positions_of, remedy_of, run_every_filter


def decision_on(
    key: ObjectKey,
    outputs: Mapping[ObjectKey, Body],
    converged: ConvergedPlacement,
    members: Members,
    trigger: RescheduleTrigger | None,
    *,
    known_problem: str,
    edited: bool,
    evicted_by: str = "",
) -> Decision | None:
    """Return what moved or was rebalanced, or why there are newly fewer clusters than wanted.

    Args:
        key: The placement.
        outputs: Its files as the pass found them.
        converged: Where it converged.
        members: All clusters.
        trigger: A rebalancer's, `None` if there is none.
        known_problem: What its status complains about so far, `""` for nothing.
        edited: Whether a person edited a decision.
        evicted_by: Name of the eviction that deleted a binding, `""` if none did.
    """
    before, after = placed(outputs), _as_placed(selected_targets(converged.bindings.values()))
    moved = converged.moved
    trigger = None if moved.given_up and moved.step is None else trigger
    problem = problem_of(scheduled_condition(converged))
    lacking = lacks_in(converged.bindings.values())
    if not problem and lacking:
        problem = waits_for_room(lacking).removeprefix("; ")
    is_known = not problem or problem == known_problem
    if before == after and is_known and trigger is None and not moved.news:
        return None
    return Decision(
        key=key,
        subject=subject_of(key),
        cause=_cause(outputs, converged, members, trigger, edited=edited, evicted_by=evicted_by),
        before=before,
        after=after,
        problem=problem,
        rejected={
            ClusterName(decision.cluster): decision.reason
            for decision in converged.snapshot.status.decided
            if not decision.selected
        },
        begun=moved.started,
        given_back=moved.given_back,
    )


def problem_of(condition: Body) -> str:
    """Return what a Scheduled condition complains about, `""` for nothing."""
    return text(condition, "message") if condition.get("status") == "False" else ""


def _cause(
    outputs: Mapping[ObjectKey, Body],
    converged: ConvergedPlacement,
    members: Members,
    trigger: RescheduleTrigger | None,
    *,
    edited: bool,
    evicted_by: str,
) -> Cause:
    """Return why a placement moved; a rebalancer comes first, but for the first placement.

    The clusters are told where nothing else happened to it.
    """
    moved = converged.moved
    said = f"; {moved.news}" if moved.news else ""
    if not outputs:
        return Cause(CauseKind.CREATED, "" if trigger is None else trigger.by)
    if trigger is not None:
        return Cause(CauseKind.REBALANCED, f"{trigger.by}{said}", sources=trigger.askers)
    if evicted_by:
        return Cause(CauseKind.EVICTED, f"{EVICTION} {evicted_by}")
    if edited:
        return Cause(CauseKind.EDITED)
    if differs_in_policy(outputs, converged):
        return Cause(CauseKind.PLACEMENT_CHANGED)
    if said:
        return Cause(CauseKind.REBALANCED, f"{moved.by}{said}")
    gone = any(_is_gone(cluster, members) for cluster, _ in placed(outputs))
    return Cause(CauseKind.CLUSTER_GONE if gone else CauseKind.CLUSTERS_CHANGED)


def differs_in_policy(outputs: Mapping[ObjectKey, Body], converged: ConvergedPlacement) -> bool:
    """Return whether the policy of a placement is not the one that its files were decided by."""
    name = converged.snapshot.name
    snapshot = next(
        (b for k, b in outputs.items() if k.kind in POLICY_SNAPSHOTS and k.name == name), None
    )
    return snapshot is None or (
        _number(annotations_of(snapshot)) != _number(converged.snapshot.annotations)
    )


def _number(annotations: Mapping[str, str]) -> str | None:
    """Return how many clusters PickN wants, as a snapshot holds it."""
    return annotations.get(NUMBER_OF_CLUSTERS)


def _is_gone(cluster: ClusterName, members: Members) -> bool:
    """Return whether a cluster has no file, or is leaving."""
    position = members.fleet.position.get(cluster)
    return position is None or members.fleet.clusters[position].deleting


def placed(outputs: Mapping[ObjectKey, Body]) -> Placed:
    """Return the clusters that the bindings among a placement's files keep."""
    return placed_bindings(
        decode_binding(body) for key, body in outputs.items() if key.kind in BINDINGS
    )


def placed_bindings(bindings: Iterable[Binding]) -> Placed:
    """Return the clusters that bindings keep."""
    return _as_placed(selected_targets(bindings))


def _as_placed(targets: tuple[str, ...]) -> Placed:
    return tuple((ClusterName(name), 0) for name in targets)


def removals(
    world: World,
    gone: Iterable[ObjectKey],
    outputs: Mapping[ObjectKey, Mapping[ObjectKey, Body]],
) -> Iterator[Decision]:
    """Yield the decisions on placements that are gone and had a status, given all files."""
    for key in sorted(gone):
        if key in world.outputs:
            yield record_removal(key, outputs.get(key, {}))


def record_removal(key: ObjectKey, outputs: Mapping[ObjectKey, Body]) -> Decision:
    """Return the decision on a placement that is gone."""
    return Decision(
        key=key,
        subject=subject_of(key),
        cause=Cause(CauseKind.REMOVED),
        before=placed(outputs),
        after=(),
        removed=True,
    )


def unsettled(manifest: Manifest, error: UserError) -> Fault:
    """Turn what stopped a placement, or a cluster, into a fault at its file."""
    message, name = error.message, subject_of(manifest.key)
    refused = isinstance(error, Misconfigured)
    expected = "fields that agree with each other, and outputs as the last pass wrote them"
    return Fault(
        path=manifest.origin.path,
        line=0,
        column=0,
        field=error.field,
        rule="placement-immutable" if refused else "kubefleet-unexpected",
        message=message if refused else f"{name} cannot be scheduled: {message}",
        expected="what it was, or a placement of another name" if refused else expected,
        subject=str(manifest.key),
    )


def known_problem(status: PlacementStatus) -> str:
    """Return what the status of a placement complains about so far."""
    conditions = status.conditions or ()
    by_type = {text(condition, "type"): condition for condition in reversed(conditions)}
    kinds = [kind for kind in PLACEMENTS if f"{kind}Scheduled" in by_type]
    problems = [problem_of(by_type[f"{kind}Scheduled"]) for kind in kinds]
    problems += [room_waited_for(by_type.get(f"{kind}{ROLLOUT_STARTED}", {})) for kind in kinds]
    return next(filter(None, problems), "")


def room_waited_for(condition: Body) -> str:
    """Return that a placement waits for room, as its RolloutStarted says; `""` if it does not."""
    _, mark, lacking = text(condition, "message").partition(NO_ROOM)
    return f"{mark.removeprefix('; ')}{lacking}" if mark else ""


def waiting_for_room(world: World) -> Iterator[tuple[ObjectKey, str]]:
    """Yield the placements of which an update waits for room, each with a clause that says so."""
    for kind in PLACEMENTS:
        for manifest in world.outputs_of_kind((PLACEMENT_GROUP, kind)):
            listed = bodies(mapping(manifest.body, "status"), "conditions")
            for condition in listed:
                if text(condition, "type") == f"{kind}{ROLLOUT_STARTED}":
                    why = room_waited_for(condition)
                    if why:
                        yield manifest.key, f"is not updated: {why}"


PLACED = "is placed there already and stays, whatever the filters say now"
ORDER: Mapping[str, str] = {
    TOPOLOGY: "the one with the greater topology spread score comes first",
    AFFINITY: "the one with the greater affinity score",
    SAME_PLACEMENT: "one placed before",
}
NOT_FOUND = "the policy names this cluster, and there is none of this name"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPlacement:
    """What an explanation is made of.

    Attributes:
        key: The status of the placement.
        snapshot: Its present policy, with the status after the pass.
        result: What the scheduler did, `None` if nothing made it look.
        bindings: Where the pass leaves the bindings.
        members: Everyone.
        now: Moment of the pass.
        runs: How far the runs are that roll it out.
        waits: What it waits for beside them, `""` for nothing.
    """

    key: ObjectKey
    snapshot: Snapshot
    result: Scheduled | None
    bindings: Mapping[str, Binding]
    members: Members
    now: datetime
    runs: tuple[RunStep, ...] = ()
    waits: str = ""


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where a cluster stands in the order, and its scores when it was looked at."""

    rank: int
    scores: tuple[ScorePart, ...]


def asked_of(
    key: ObjectKey,
    converged: ConvergedPlacement,
    members: Members,
    now: datetime,
    *,
    external: Overriding | None = None,
) -> AskedPlacement:
    """Return what the explanation of a converged placement is made of.

    Args:
        key: The placement.
        converged: Where it converged.
        members: All clusters.
        now: Moment of the pass.
        external: Of one that is rolled out by runs only, what applies its overrides.
    """
    lacking = lacks_in(converged.bindings.values())
    idle = external is not None and all(is_over(one.status) for one in converged.runs)
    return AskedPlacement(
        key=key,
        snapshot=converged.snapshot,
        result=converged.result,
        bindings=converged.bindings,
        members=members,
        now=now,
        runs=converged.runs,
        waits=_waits(key, lacking, converged, external if idle else None),
    )


def _waits(
    key: ObjectKey,
    lacking: Mapping[str, str],
    converged: ConvergedPlacement,
    idle: Overriding | None,
) -> str:
    """Return what a placement waits for; `idle` is for one that no run is rolling out."""
    if lacking:
        return f"The update is held: {waits_for_room(lacking).removeprefix('; ')}."
    if idle is None:
        return ""
    snapshots, bindings = [*converged.resources.values()], converged.bindings.values()
    latest = latest_master(snapshots, key.name)
    behind = any(is_behind(one, latest) for one in bindings)
    overrides = idle.behind(bindings, snapshots)
    return f"It {wait_for_run(key.namespace, overrides)}." if behind or overrides else ""


def explain_failure(key: ObjectKey, message: str) -> Explanation:
    """Return what can be said of a placement that cannot be scheduled: why not."""
    return Explanation(
        key=key,
        subject=subject_of(key),
        question="",
        result=f"it keeps its last result: {message}",
        clusters=(),
        judged=False,
    )


def explain(asked: AskedPlacement) -> Explanation:
    """Return what scheduling says of a placement, cluster by cluster.

    Where nothing made the scheduler look, it looks now, at what the pass left; that changes
    nothing.
    """
    result = asked.result
    if result is None:
        result = schedule(asked.snapshot, asked.bindings.values(), asked.members, asked.now)
    records = result.records
    policy = asked.snapshot.policy
    steps = [*_steps(asked, records)]
    return Explanation(
        key=asked.key,
        subject=subject_of(asked.key),
        question=_question(asked.snapshot),
        result=_result(asked),
        clusters=_fixed(asked) if policy.placement_type == PICK_FIXED else _ranked(asked, records),
        steps=tuple(steps),
        rollout=(*rollout_sentences(asked.runs), *filter(None, [asked.waits])),
    )


def _question(snapshot: Snapshot) -> str:
    policy = snapshot.policy
    if policy.placement_type == PICK_FIXED:
        return f"the clusters {', '.join(policy.cluster_names)}"
    if policy.placement_type == PICK_ALL:
        return "every cluster that fits"
    try:
        number = str(snapshot.number_of_clusters)
    except UnexpectedBehavior:
        number = "?"
    keys = ", ".join(constraint.topology_key for constraint in policy.constraints)
    return f"the best {number} cluster(s)" + (f", spread over {keys}" if keys else "")


def _result(asked: AskedPlacement) -> str:
    conditions = asked.snapshot.status.conditions or ()
    condition: Body = next((c for c in conditions if c.get("type") == SCHEDULED_CONDITION), {})
    return fields.text(condition, "message") or "Scheduling has not completed"


def _steps(asked: AskedPlacement, records: Sequence[PickRecord]) -> Iterable[str]:
    """Return the selection in order; of many equal cycles the first and the last."""
    if asked.result is None:
        yield "Nothing made the scheduler look at it in this pass; this is what it would say."
    total = len(records)
    for number, record in enumerate(records, start=1):
        if 3 < number < total - 1:
            continue
        if number == 3 < total - 2:
            yield f"Cycles 3 to {total - 2}: one cluster each."
            continue
        head = f"Cycle {number} of {total}: " if total > 1 else ""
        yield head + _step(record)
    if records and asked.snapshot.policy.placement_type == PICK_N:
        order = ", then ".join(ORDER.get(name, f"the greater {name}") for name in PROFILE.scores)
        yield f"Of two clusters {order}, then the greater name."


def _step(record: PickRecord) -> str:
    """Return one cycle as a sentence."""
    chosen = ", ".join(item.name for item in record.picked) or "no cluster"
    if record.request is None:
        return f"{record.missing} cluster(s) named, {len(record.picked)} of them can be bound."
    if record.feasible is None:
        surplus = -(record.missing or 0)
        if surplus:
            return f"{surplus} cluster(s) too many, so the lowest scores go."
        return "As many clusters as wanted are placed, so none is picked and none moves."
    feasible = record.feasible.bit_count()
    if record.missing is None:
        return f"{feasible} more cluster(s) pass the filters and are picked: {chosen}."
    limit = "" if record.limit == record.missing else f", {record.limit} at a time"
    return (
        f"{record.missing} more cluster(s) wanted{limit}, {feasible} pass the filters; "
        f"picked: {chosen}."
    )


def _targets(asked: AskedPlacement) -> frozenset[str]:
    staying = (item for item in asked.bindings.values() if item.state in (SCHEDULED, BOUND))
    return frozenset(item.target for item in staying)


def _fixed(asked: AskedPlacement) -> tuple[ClusterAnswer, ...]:
    """Return the answers for PickFixed: only eligibility counts, only for the clusters named."""
    members, named = asked.members, asked.snapshot.policy.cluster_names
    picked = _targets(asked)
    answers = {}
    for position, name in enumerate(members.fleet.names):
        verdicts: tuple[ClusterVerdict, ...] = ()
        if name not in named:
            verdicts = (ClusterVerdict("PickFixed", "the policy does not name it", "be named"),)
        elif position in members.reasons:
            reason = members.reasons[position]
            verdicts = (ClusterVerdict("ClusterEligibility", reason, REPORT),)
        answers[name] = ClusterAnswer(
            cluster=name,
            verdicts=verdicts,
            picked=name in picked,
            note=PLACED if verdicts and name in picked else "",
        )
    for name in map(ClusterName, named):
        missing = ClusterVerdict("PickFixed", NOT_FOUND, "exist")
        answers.setdefault(name, ClusterAnswer(cluster=name, verdicts=(missing,)))
    return tuple(answers[name] for name in sorted(answers))


def _ranked(asked: AskedPlacement, records: Sequence[PickRecord]) -> tuple[ClusterAnswer, ...]:
    """Return the answers for PickAll and PickN."""
    members, picked = asked.members, _targets(asked)
    weighed = _weighing(asked)
    last = records[-1] if records else None
    verdicts = {} if last is None else _verdicts(asked, last)
    standings = _standings(asked, records)
    earlier = {
        name
        for record in records[:1]
        if record.request is not None
        for name in _names(members, record.request.placed)
    }
    return tuple(
        ClusterAnswer(
            cluster=name,
            verdicts=tuple(
                verdict
                for verdict in verdicts.get(name, ())
                if name not in picked or verdict.plugin != TOPOLOGY
            ),
            scores=standings[name].scores if name in standings else (),
            rank=standings[name].rank if name in standings else None,
            picked=name in picked,
            note="; ".join(
                (*([PLACED] if name in earlier and name in picked else ()), *weighed(position))
            ),
        )
        for position, name in enumerate(members.fleet.names)
    )


def _weighing(asked: AskedPlacement) -> Callable[[int], Iterator[str]]:
    """Return what yields the scores that a cluster is ranked by."""
    reports, names = asked.members.scores, asked.members.fleet.names
    scores = () if reports is None else sorted(scores_of(asked.snapshot.policy), key=str)
    readings = [(one, read_score(one, names, reports or {}, asked.now)) for one in scores]
    return lambda position: (reported.told(name, position) for name, reported in readings)


def _names(members: Members, clusters: Mask) -> list[ClusterName]:
    return [members.fleet.names[position] for position in positions_of(clusters)]


def _verdicts(asked: AskedPlacement, record: PickRecord) -> dict[ClusterName, list[ClusterVerdict]]:
    """Return what every filter says against each cluster; that it is placed is no verdict."""
    request, members = record.request, asked.members
    verdicts: dict[ClusterName, list[ClusterVerdict]] = {}
    if request is None:
        return verdicts
    filters = {name: item for name, item in PROFILE.filters.items() if name != SAME_PLACEMENT}
    try:
        rejections = run_every_filter(filters, request, members, members.fleet.all, asked.now)
    except UnexpectedBehavior:  # what one of them cannot judge is told as the result
        return verdicts
    for rejection in rejections:
        reason = str(rejection.reason)
        for position in positions_of(rejection.clusters):
            verdict = ClusterVerdict(rejection.plugin, reason, remedy_of(rejection, position))
            verdicts.setdefault(members.fleet.names[position], []).append(verdict)
    return verdicts


def _standings(
    asked: AskedPlacement, records: Sequence[PickRecord]
) -> dict[ClusterName, _Standing]:
    """Return the order: who was picked, cycle after cycle, then the others as the last saw them."""
    standings: dict[ClusterName, _Standing] = {}
    scored = [r for r in records if r.missing is not None and r.feasible is not None]
    for record in scored:
        for cluster in record.picked:
            standings[cluster.name] = _standing(len(standings) + 1, cluster)
    for record in scored[-1:]:
        if record.request is None or record.feasible is None:
            continue
        for cluster in rank(record.request, asked.members, record.feasible, asked.now):
            if cluster.name not in standings:
                standings[cluster.name] = _standing(len(standings) + 1, cluster)
    return standings


def _standing(place: int, cluster: RankedCluster) -> _Standing:
    """Return the parts of a score in the order in which they are compared."""
    return _Standing(place, tuple(ScorePart(*part) for part in cluster.scores.items()))


def standing_of(own: Body | None, outputs: Mapping[ObjectKey, Body]) -> Standing:
    """Return where a placement is, as the last pass left it.

    Args:
        own: Its status file, `None` without one.
        outputs: The outputs that belong to it.
    """
    lacks = known_problem(decode_placement_status(own or {}))
    return Standing(
        clusters=frozenset(str(name) for name, _ in placed(outputs)),
        states=frozenset({TargetState.UNSCHEDULABLE} if lacks else ()),
    )


def present_place(outputs: Mapping[ObjectKey, Body]) -> PresentPlace | None:
    """Return where a placement is, `None` if that cannot be told; a number is never exceeded.

    Args:
        outputs: The outputs that belong to the placement.
    """
    latest = _latest_snapshot(outputs)
    if latest is None:
        return None
    clusters = placed(outputs)
    try:
        snapshot = decode_snapshot(latest)
        counted = snapshot.policy.placement_type == PICK_N
        whole = counted and len(clusters) >= snapshot.number_of_clusters
    except UserError:
        return None
    return PresentPlace(clusters, whole=whole)


def fresh_place(
    outputs: Mapping[ObjectKey, Body], members: Members, now: datetime
) -> FreshPlace | None:
    """Return where the scheduler would put a placement afresh, by the policy that it was given.

    How fast its rollout gets there is another question.

    Args:
        outputs: The outputs that belong to the placement.
        members: All clusters, at `now`.
        now: Moment of the pass.
    """
    latest = _latest_snapshot(outputs)
    if latest is None:
        return None
    try:
        snapshot = decode_snapshot(latest)
        bindings = [decode_binding(body) for key, body in outputs.items() if key.kind in BINDINGS]
        result = reschedule(snapshot, bindings, members, now)
    except UserError:
        return None
    if result.error is not None:
        return None
    conditions = (result.status or snapshot.status).conditions or ()
    scheduled = next((one for one in conditions if one.get("type") == SCHEDULED_CONDITION), {})
    return FreshPlace(
        before=placed(outputs),
        after=placed_bindings(result.bindings.values()),
        problem=problem_of(scheduled),
    )


def _latest_snapshot(outputs: Mapping[ObjectKey, Body]) -> Body | None:
    """Return the policy snapshot by which a placement is decided, `None` if there is none yet."""
    snapshots = (b for k, b in outputs.items() if k.kind in POLICY_SNAPSHOTS and is_latest(b))
    return next(snapshots, None)
