"""The plugins of KubeFleet's scheduler by their upstream names, and the filters run over a fleet.

Filters:

- ClusterAffinity, required terms: a cluster must fit one of them.
- ClusterEligibility: the cluster must be connected, joined and healthy.
- NamespaceAffinity: a namespaced placement goes only where its namespace exists.
- TaintToleration: the placement must tolerate each taint of a cluster, whatever its effect.
- SamePlacementAffinity: a cluster takes a placement once, and keeps it rather than another.
- TopologySpreadConstraints, hard: a cluster must not make the spread too uneven.
- Capacity: where room is protected, a cluster must have room for all that a placement selects.
  Ours: upstream's scheduler knows what a cluster has as properties only, and no placement takes
  any. Free is what a cluster reports as available, less what is reserved. Resources that a cluster
  does not report have no limit, nor has a cluster without a status.

Scores:

- TopologySpreadConstraints, soft and hard: clusters that make the spread more even come first.
- ClusterAffinity, preferred terms: weights of the terms that a cluster fits.
- SamePlacementAffinity: a cluster that an earlier policy had picked comes before another.

Source: kubefleet@e160c1c pkg/scheduler/profile/profile.go `NewDefaultProfile`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.member import (
    AFFINITY,
    SAME_PLACEMENT,
    TOPOLOGY,
    Member,
    Members,
    Unscorable,
)
from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior, UpstreamCrash
from reconciler.dialects.kubefleet.api.placement import Policy, Preference, SelectorTerm, scores_of
from reconciler.dialects.kubefleet.scheduler.topology import (
    SkewViolation,
    Topology,
    satisfying,
    scale_of,
)
from reconciler.model.cluster import Taint, Toleration
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import refusal_of, unmet
from reconciler.model.quantity import Quantity, Resources, readable_resources
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import Same
from reconciler.schedule.capacity import ClusterDemand, Ledger, beyond, plus, written_amounts
from reconciler.schedule.fleet import group_by, remember
from reconciler.schedule.framework import (
    NO_CLUSTERS,
    Levels,
    Mask,
    Profile,
    Rejection,
    first_positions,
    mask_of,
    positions_of,
    run_filters,
)

API = "kubefleet"
REMEDY = "have this much more capacity, neither used nor reserved"


@dataclass(frozen=True, slots=True)
class Lacking:
    """What a cluster lacks for what would be added."""

    amounts: tuple[tuple[str, Quantity], ...]

    def __str__(self) -> str:
        return f"cannot hold what would be added, missing {written_amounts(dict(self.amounts))}"


@dataclass(slots=True, eq=False)
class PlacementRoom:
    """What is free for one placement.

    Attributes:
        ledger: What is reserved.
        holder: The placement.
        demand: What it selects takes of a cluster.
        held: The clusters that have a binding of it: nothing would be added there.
        brought: Returns what a binding brings that is on a resource snapshot of this name.
        refused: What was told of a fleet, so that it is told again as it was when it decided.
    """

    ledger: Ledger
    holder: ObjectKey
    demand: ClusterDemand
    held: frozenset[str]
    brought: Callable[[str], ClusterDemand]
    grown: bool = False
    refused: dict[Same, tuple[Rejection, ...]] = field(default_factory=dict, repr=False)

    def rejections(self, members: Members) -> tuple[Rejection, ...]:
        """Return the clusters that cannot hold it, one rejection for each lack."""
        return remember(self.refused, Same(members), lambda: tuple(self._full(members)))

    def lacking(self, members: Members, position: int) -> Lacking | None:
        """Return what one cluster lacks, `None` if it holds what would be added."""
        if members.fleet.names[position] in self.held:
            return None
        return self._lack(members, position, self.demand.resources, {})

    def _lack(
        self, members: Members, position: int, added: Resources, had: Resources
    ) -> Lacking | None:
        """Return what one cluster lacks for more, beside what the placement has there."""
        free = available(members)[position]
        if free is None:
            return None
        taken = self.ledger.taken(API, self.holder, members.fleet.names[position], had)
        wanted = plus(added, taken)
        lack = beyond({name: wanted[name] for name in added if name in free}, free)
        return Lacking(tuple(sorted(lack.items()))) if lack else None

    def reasons(self, members: Members) -> dict[int, str]:
        """Return why clusters cannot hold it, by position."""
        found: dict[int, str] = {}
        for rejection in self.rejections(members):
            found |= dict.fromkeys(positions_of(rejection.clusters), str(rejection.reason))
        return found

    @property
    def short(self) -> bool:
        """Whether a cluster was refused."""
        return self.grown or any(self.refused.values())

    def full(
        self, bindings: Mapping[str, Binding], latest: str, members: Members
    ) -> dict[str, str]:
        """Return the clusters that cannot hold what the latest snapshot adds, and why.

        Args:
            bindings: Of the placement, by name.
            latest: The snapshot of what is selected.
            members: Everyone.
        """
        counts = {}
        for binding in bindings.values():
            position = members.fleet.position.get(binding.target)
            if binding.resource_snapshot in ("", latest) or position is None:
                continue
            had = self.brought(binding.resource_snapshot).resources
            grown = beyond(self.demand.resources, had)
            lack = self._lack(members, position, grown, had) if grown else None
            if lack is not None:
                counts[str(binding.target)] = str(lack)
        self.grown |= bool(counts)
        return counts

    def _full(self, members: Members) -> Iterable[Rejection]:
        if not self.demand.resources:
            return
        by_lack: dict[Lacking, list[int]] = {}
        for position in range(len(members.views)):
            lack = self.lacking(members, position)
            if lack is not None:
                by_lack.setdefault(lack, []).append(position)
        for lack, positions in by_lack.items():
            yield Rejection(mask_of(positions), lack, REMEDY)


def available(members: Members) -> tuple[Resources | None, ...]:
    """Return what each cluster reports as available, `None` where it reports nothing."""
    return remember(members.available, True, lambda: tuple(map(_available, members.views)))


def _available(view: Member) -> Resources | None:
    return readable_resources(view.usage.get("available", {}))


def lacks_room(rejections: Iterable[Rejection]) -> bool:
    """Return whether a cluster was turned away for nothing but lack of room."""
    return any(isinstance(one.reason, Lacking) for one in rejections)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A policy and where its placement stands in this cycle.

    Attributes:
        policy: What is wanted.
        topology: How picking each cluster would change the spread.
        namespace: The placement's namespace, `""` for a cluster-scoped one.
        placed: Clusters with a scheduled or bound binding of the present policy.
        obsolete: Clusters with a binding of an earlier policy.
        room: What is free for it, `None` where no room is protected.
    """

    policy: Policy
    topology: Topology
    namespace: str = ""
    placed: Mask = NO_CLUSTERS
    obsolete: Mask = NO_CLUSTERS
    room: PlacementRoom | None = None


@dataclass(frozen=True, slots=True)
class Unmatched:
    """The cluster fits none of the required terms."""

    def __str__(self) -> str:
        return "cluster does not match with any of the required cluster affinity terms"


@dataclass(frozen=True, slots=True)
class MatchedTerm:
    """What the cluster would have to fit: one of these terms."""

    terms: tuple[SelectorTerm, ...]
    members: Members = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"match {' or '.join(map(_term, self.terms))}"

    def of(self, position: int) -> str:
        """Return the terms, with what the cluster at a position lacks of their labels."""
        labels = self.members.views[position].cluster.labels
        lacks = [
            " and ".join(unmet(term.labels.requirements, labels))
            for term in self.terms
            if term.labels is not None
        ]
        said = " or ".join(dict.fromkeys(filter(None, lacks)))
        return f"{self}: {said}" if said else str(self)


def _term(term: SelectorTerm) -> str:
    """Return one required term as a person would say it."""
    labels = term.labels.requirements if term.labels is not None else ()
    parts = []
    for label in labels:
        values = f" ({', '.join(label.values)})" if label.values else ""
        parts.append(f"{label.key} {label.operator}{values}")
    parts += [f"{p.name} {p.operator} {', '.join(p.values)}" for p in term.properties]
    return f"[{'; '.join(parts)}]" if parts else "[anything]"


def reject_affinity(request: Request, members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that fit no required term; without any term all pass.

    Terms are tried in order and a cluster stops at the first that it fits, so an error in a later
    term is noticed only if some cluster gets there.

    Raises:
        UnexpectedBehavior: A term cannot be judged.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/filtering.go `Filter`.
    """
    terms = request.policy.required
    if not terms:
        return ()
    return remember(members.unmatched, terms, lambda: _unmatched(terms, members))


def _unmatched(terms: tuple[SelectorTerm, ...], members: Members) -> tuple[Rejection, ...]:
    candidates = members.fleet.all
    for term in terms:
        candidates = Mask(candidates & ~matching(term, members, candidates))
    return (Rejection(candidates, Unmatched(), MatchedTerm(terms, members)),)


def matching(term: SelectorTerm, members: Members, candidates: Mask) -> Mask:
    """Return the candidates that fit a term: its labels and each of its property expressions.

    Raises:
        UnexpectedBehavior: The label selector or a property cannot be judged.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/types.go `Matches`.
    """
    if not candidates:
        return candidates
    if term.labels is not None:
        refusal = refusal_of(term.labels)
        if refusal:
            raise UnexpectedBehavior(f"failed to parse label selector: {refusal}")
        candidates = Mask(candidates & members.fleet.select(term.labels))
    for requirement in term.properties:
        candidates = satisfying(requirement, members, candidates)
    return candidates


REPORT = "have a member agent that reports as joined and healthy"
STAY = "stay in the fleet"


@dataclass(frozen=True, slots=True)
class Ineligible:
    """Why a cluster cannot receive resources."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def reject_ineligible(
    _request: Request, members: Members, _now: datetime, /
) -> Iterable[Rejection]:
    """Reject clusters that cannot receive resources, one rejection for each sentence.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clustereligibility/plugin.go `Filter`.
    """
    return remember(members.ineligible, True, lambda: _ineligible(members))


def _ineligible(members: Members) -> tuple[Rejection, ...]:
    by_reason: dict[str, list[int]] = {}
    for position, reason in members.reasons.items():
        by_reason.setdefault(reason, []).append(position)
    return tuple(
        Rejection(
            mask_of(positions), Ineligible(reason), STAY if "left the fleet" in reason else REPORT
        )
        for reason, positions in by_reason.items()
    )


@dataclass(frozen=True, slots=True)
class NoNamespace:
    """The namespace is not there, or the cluster does not tell which it has."""

    known: bool

    def __str__(self) -> str:
        if self.known:
            return "target namespace does not exist on cluster"
        return "cluster has no namespace information available"


def reject_namespace(request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters without the placement's namespace; a cluster-scoped placement needs none.

    A cluster that does not gather its namespaces is trusted to have it.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/namespaceaffinity/filtering.go
    `Filter`.
    """
    if not request.namespace:
        return
    views = list(enumerate(members.views))
    untold = mask_of(i for i, view in views if view.namespaces == frozenset())
    missing = mask_of(
        i for i, view in views if view.namespaces and request.namespace not in view.namespaces
    )
    remedy = f"have and report the namespace {request.namespace}"
    yield Rejection(untold, NoNamespace(known=False), remedy)
    yield Rejection(missing, NoNamespace(known=True), remedy)


def reject_full(request: Request, members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that cannot hold what would be added, but for those that have it already."""
    return () if request.room is None else request.room.rejections(members)


@dataclass(frozen=True, slots=True)
class AlreadySelected:
    """The placement is there; the cluster is neither picked again nor reported as rejected."""

    def __str__(self) -> str:
        return "cluster is already selected"


def reject_placed(request: Request, _members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Set clusters aside where the present policy is at work already.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/sameplacementaffinity/filtering.go
    `Filter`, status ClusterAlreadySelected.
    """
    yield Rejection(request.placed, AlreadySelected(), "")


@dataclass(frozen=True, slots=True)
class IntolerableTaint:
    """The first taint of a cluster that no toleration covers."""

    taint: Taint

    def __str__(self) -> str:
        taint = self.taint
        return (
            f"taint &{{Key:{taint.key} Value:{taint.value} Effect:{taint.effect}}} "
            "cannot be tolerated"
        )


@dataclass(frozen=True, slots=True)
class ToleratedTaint:
    """What would help against a taint."""

    taint: Taint

    def __str__(self) -> str:
        value = f"={self.taint.value}" if self.taint.value else ""
        return f"tolerate {self.taint.key}{value}:{self.taint.effect}"


def reject_taints(request: Request, members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that carry a taint the placement does not tolerate.

    Clusters where the placement is already are no exception.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/tainttoleration/filtering.go
    `findIntolerableTaint`.
    """
    tolerations = request.policy.tolerations
    return remember(members.untolerated, tolerations, lambda: _untolerated(tolerations, members))


def _untolerated(tolerations: tuple[Toleration, ...], members: Members) -> tuple[Rejection, ...]:
    carriers: dict[Taint, Mask] = {}
    for taints, clusters in members.fleet.by_taints.items():
        for taint in taints:
            if not any(covers(toleration, taint) for toleration in tolerations):
                carriers[taint] = Mask(carriers.get(taint, NO_CLUSTERS) | clusters)
                break
    return tuple(
        Rejection(clusters, IntolerableTaint(taint), ToleratedTaint(taint))
        for taint, clusters in carriers.items()
    )


def covers(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration covers a taint.

    Unlike Kubernetes: without an operator it covers nothing (the CRD's default is Equal, applied
    where a placement is decoded), and with Equal an empty key fits an empty key only.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/tainttoleration/filtering.go
    `canTolerationTolerateTaint`.
    """
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.operator == "Equal" and (toleration.key, toleration.value) == (
        taint.key,
        taint.value,
    )


def reject_skew(request: Request, _members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters whose picking would violate a hard spread constraint.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/plugin.go
    `Filter`.
    """
    return request.topology.rejections


ASCENDING = "Ascending"
DESCENDING = "Descending"


def score_affinity(request: Request, members: Members, feasible: Mask, now: datetime, /) -> Levels:
    """Score by what the preferred terms give to each cluster of the fleet.

    A term of weight 0 gives nothing, but its sorter's property is read all the same. The property
    selector of a preferred term is not looked at.

    Raises:
        UnexpectedBehavior: A property cannot be read on some cluster, feasible or not; or a
            feasible cluster meets a term that cannot be judged.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/scoring.go
    `PreScore`, `Score`.
    """
    preferred = request.policy.preferred
    by_scores = members.scores is not None and bool(scores_of(request.policy))
    question = (preferred, Same(members.scores), now) if by_scores else preferred
    levels, unscorable = remember(
        members.affinities, question, lambda: _score_all(preferred, members, now)
    )
    for sorter in unscorable:
        if sorter.clusters & feasible:
            raise UnexpectedBehavior(f"failed to calculate score: {sorter.message}")
    return levels


def _score_all(
    preferred: tuple[Preference, ...], members: Members, now: datetime
) -> tuple[Levels, tuple[Unscorable, ...]]:
    """Return the sums of all terms, and what cannot be scored."""
    answers: list[Levels] = []
    unscorable = []
    for preference in preferred:
        sorter = preference.term.sorter
        if sorter is not None:
            scale_of(sorter.name, members, now)
    for preference in preferred:
        if not preference.weight:
            continue
        gained = _score_term(preference, members, now)
        if isinstance(gained, Unscorable):
            unscorable.append(gained)
        else:
            answers.append(gained)
    levels = answers[0] if len(answers) == 1 else _sums(answers, len(members.views))
    return levels, tuple(unscorable)


def _sums(answers: Iterable[Levels], size: int) -> Levels:
    """Return the sum of several scores; cluster by cluster, since most sums may differ."""
    total = [0] * size
    for levels in answers:
        for score, clusters in levels:
            for position in positions_of(clusters):
                total[position] += score
    return tuple(group_by(total, skip=0).items())


def _score_term(preference: Preference, members: Members, now: datetime) -> Levels | Unscorable:
    """Return what one term gives to the clusters, or the clusters that it cannot judge."""
    labels, sorter = preference.term.labels, preference.term.sorter
    matched = members.fleet.all
    if labels is not None:
        refusal = refusal_of(labels)
        if refusal:
            return Unscorable(matched, f"failed to parse label selector: {refusal}")
        matched = members.fleet.select(labels)
    if sorter is None:
        return ((preference.weight, matched),)
    scale = scale_of(sorter.name, members, now)
    if matched & scale.outside:
        outside = Mask(matched & scale.outside)
        return Unscorable(outside, f"cannot interpolate weight by {sorter.name}")
    if sorter.sort_order not in (ASCENDING, DESCENDING):
        meeting = Mask(matched & scale.having) if scale.ratios else NO_CLUSTERS
        return Unscorable(
            meeting, f"cannot interpolate weight as sort order {sorter.sort_order} is invalid"
        )
    weight, descending = preference.weight, sorter.sort_order == DESCENDING
    levels: dict[int, int] = {}
    for ratio, clusters in scale.ratios:
        score = round_half_away((ratio if descending else 1 - ratio) * weight)
        levels[score] = levels.get(score, 0) | clusters
    scored = [(score, Mask(clusters & matched)) for score, clusters in levels.items()]
    return tuple(sorted([level for level in scored if level[1] and level[0]], reverse=True))


def round_half_away(value: float) -> int:
    """Return the nearest integer, halves away from zero.

    Source: Go src/math/floor.go `Round`.

    >>> round_half_away(2.5), round_half_away(-2.5), round_half_away(0.49999999999999994)
    (3, -3, 0)
    """
    whole = math.trunc(value)
    return whole + int(math.copysign(1, value)) if abs(value - whole) >= 0.5 else whole


def score_placed(request: Request, _members: Members, _feasible: Mask, _now: datetime, /) -> Levels:
    """Score 1 for each cluster that an earlier policy had picked; no decision shows it.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/sameplacementaffinity/scoring.go
    `Score`.
    """
    return ((1, request.obsolete),) if request.obsolete else ()


def score_topology(
    request: Request, _members: Members, _feasible: Mask, _now: datetime, /
) -> Levels:
    """Score by how picking each cluster would change the spread.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/plugin.go
    `Score`.
    """
    return request.topology.scores


PROFILE: Profile[Request, Members, Levels] = Profile(
    filters={
        AFFINITY: reject_affinity,
        "ClusterEligibility": reject_ineligible,
        "NamespaceAffinity": reject_namespace,
        "TaintToleration": reject_taints,
        SAME_PLACEMENT: reject_placed,
        TOPOLOGY: reject_skew,
        "Capacity": reject_full,  # ours, and silent unless room is protected
    },
    scores={
        TOPOLOGY: score_topology,
        AFFINITY: score_affinity,
        SAME_PLACEMENT: score_placed,
    },
)
"""Scores are compared one after the other, in the order written."""


def filter_members(
    request: Request, members: Members, now: datetime
) -> tuple[Mask, tuple[Rejection, ...]]:
    """Return the feasible clusters, and the rejections that are told to the user.

    Raises:
        UnexpectedBehavior: A filter cannot judge a cluster.
        UpstreamCrash: A hard constraint without maxSkew is violated.
    """
    feasible, rejections = run_filters(PROFILE.filters, request, members, members.fleet.all, now)
    for rejection in rejections:
        reason = rejection.reason
        if isinstance(reason, SkewViolation) and reason.constraint.max_skew is None:
            raise UpstreamCrash(f"maxSkew of {reason.constraint.topology_key} must be given")
    return feasible, tuple(item for item in rejections if item.plugin != SAME_PLACEMENT)


def describe_rejections(
    rejections: Iterable[Rejection], members: Members, limit: int
) -> tuple[tuple[str, str], ...]:
    """Return the first rejected clusters by name, each with its reason; none is rejected twice."""
    rejected = [
        (position, reason)
        for clusters, reason in ((item.clusters, str(item.reason)) for item in rejections)
        for position in first_positions(clusters, limit)
    ]
    rejected.sort()
    names = members.fleet.names
    return tuple([(names[position], reason) for position, reason in rejected[:limit]])
