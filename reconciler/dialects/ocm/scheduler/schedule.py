"""One sync of a placement: filter, score, order and choose, then decision groups and conditions.

The sets of the hub offer the clusters. All PlacementDecisions so far are counted, since they say
what this placement and the others have chosen. The chosen clusters are divided into decision
groups, which PlacementDecision objects list.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from reconciler.dialects.ocm.api.cluster import (
    ClusterSet,
    Members,
    OfferedClusters,
    OtherChoices,
    Request,
    Scores,
    SetBinding,
    offer_of,
)
from reconciler.dialects.ocm.api.placement import (
    GROUP_INDEX_LABEL,
    GROUP_NAME_LABEL,
    PLACEMENT_LABEL,
    DecisionObject,
    Placement,
)
from reconciler.dialects.ocm.scheduler.plugins import (
    PROFILE,
    may_balance,
    prioritizers_of,
    refuse_selector,
    selected,
    tolerated_until,
)
from reconciler.dialects.scores import Reports
from reconciler.errors import Misconfigured, UserError
from reconciler.model.cluster import Condition
from reconciler.model.decision import ScorePart
from reconciler.model.identity import ClusterName
from reconciler.model.labels import MAX_NAME
from reconciler.model.records import dataclass, field
from reconciler.schedule.columns import (
    Numbers,
    best_first,
    column_of,
    greatest,
    less_one_each,
    listed,
    weighted_sum,
)
from reconciler.schedule.fleet import Fleet
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection, positions_of, run_filters

NEGATIVE = "numberOfClusters must be greater than or equal to 0"


class Code(StrEnum):
    """How a run ended. A warning does not stop it, the other two do."""

    SUCCESS = "Success"
    WARNING = "Warning"
    ERROR = "Error"
    MISCONFIGURED = "Misconfigured"


@dataclass(frozen=True, slots=True)
class Status:
    """How a run ended, by which plugin, `""` for none, and upstream's sentence."""

    code: Code = Code.SUCCESS
    plugin: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ScoredPlacement:
    """What one prioritizer answered, with the weight it has."""

    name: str
    weight: int
    scores: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleResult:
    """A run of the scheduler.

    Attributes:
        status: How it ended.
        passed: Clusters left after each filter that completed, keyed by all names up to it.
        feasible: Clusters left after the last filter that ran.
        rejections: Why the other candidates were turned away.
        scored: What each prioritizer answered, in their order.
        totals: Weighted totals of the feasible clusters, ascending by name; `None` if the run was
            stopped early.
        order: Positions of the feasible clusters, best first; empty if the run was stopped early.
        picked: Positions of the clusters chosen, best first.
        ranked: The clusters chosen, best first.
        unscheduled: How many fewer than asked for.
        until: When a toleration of a decided cluster ends, `None` if never or stopped early.
    """

    status: Status
    passed: Mapping[str, Mask]
    feasible: Mask
    rejections: tuple[Rejection, ...] = ()
    scored: tuple[ScoredPlacement, ...] = ()
    totals: "Numbers | None" = None
    order: Numbers = field(default_factory=list)
    picked: Sequence[int] = ()
    ranked: tuple[ClusterName, ...] = ()
    unscheduled: int = 0
    until: datetime | None = None


def schedule(request: Request, members: Members, now: datetime) -> ScheduleResult:
    """Choose clusters for a placement.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/schedule.go `Schedule`.
    """
    filtered = _filter(request, members, now)
    if filtered.status.code is Code.MISCONFIGURED:
        return filtered
    try:
        prioritizers = prioritizers_of(request.placement)
    except Misconfigured as error:
        return _stopped(filtered, Status(Code.MISCONFIGURED, "", error.message))
    if (request.placement.number_of_clusters or 0) < 0:
        # Unlike upstream: it crashes on a negative number.
        return _stopped(filtered, Status(Code.MISCONFIGURED, "", NEGATIVE))
    scored: list[ScoredPlacement] = []
    status = filtered.status
    for prioritizer in prioritizers:
        try:
            scores = prioritizer.score(request, members, filtered.feasible, now)
        except UserError as error:
            return _stopped(
                filtered, Status(Code.ERROR, prioritizer.name, error.message), tuple(scored)
            )
        scored.append(ScoredPlacement(prioritizer.name, prioritizer.weight, scores))
        if scores.expired:
            expired = " ".join(scores.expired)
            message = f"AddOnPlacementScores {expired} expired"
            status = Status(Code.WARNING, prioritizer.name, message)
    totals = add_up(scored, filtered.feasible)
    order = best_first(totals, filtered.feasible)
    wanted = request.placement.number_of_clusters
    picked = listed(order if wanted is None else order[:wanted])
    return ScheduleResult(
        status=status,
        passed=filtered.passed,
        feasible=filtered.feasible,
        rejections=filtered.rejections,
        scored=tuple(scored),
        totals=totals,
        order=order,
        picked=picked,
        ranked=tuple(map(members.fleet.names.__getitem__, picked)),
        unscheduled=0 if wanted is None else wanted - len(picked),
        until=tolerated_until(request, members, now),
    )


def _filter(request: Request, members: Members, now: datetime) -> ScheduleResult:
    """Run the filters; one that has no cluster left to judge does not even look at its rules."""
    candidates = request.candidates
    passed: dict[str, Mask] = {}
    rejections: tuple[Rejection, ...] = ()
    for number, (name, reject) in enumerate(PROFILE.filters.items(), start=1):
        try:
            candidates, turned_away = run_filters({name: reject}, request, members, candidates, now)
        except Misconfigured as error:
            status = Status(Code.MISCONFIGURED, name, error.message)
            return ScheduleResult(
                status=status, passed=passed, feasible=candidates, rejections=rejections
            )
        rejections += turned_away
        passed[",".join(list(PROFILE.filters)[:number])] = candidates
    return ScheduleResult(
        status=Status(), passed=passed, feasible=candidates, rejections=rejections
    )


def _stopped(
    filtered: ScheduleResult, status: Status, scored: tuple[ScoredPlacement, ...] = ()
) -> ScheduleResult:
    """Return what is known of a run that ended after its filters."""
    return ScheduleResult(
        status=status,
        passed=filtered.passed,
        feasible=filtered.feasible,
        rejections=filtered.rejections,
        scored=scored,
    )


def add_up(scored: Sequence[ScoredPlacement], feasible: Mask) -> Numbers:
    """Return the sum of weight times score of each feasible cluster."""
    parts = [(item.weight, item.scores.column) for item in scored]
    return weighted_sum(parts, feasible.bit_count())


def parts_by_cluster(
    result: ScheduleResult, members: Members
) -> dict[ClusterName, tuple[ScorePart, ...]]:
    """Return what makes up the total of each feasible cluster, ascending by name.

    The parts come in the order of the prioritizers; one that said nothing of a cluster has none.
    Nobody has a total if the run was stopped early.
    """
    if result.totals is None:
        return {}
    found: dict[int, list[ScorePart]] = {i: [] for i in positions_of(result.feasible)}
    for scored in result.scored:
        silent = scored.scores.silent
        for (i, parts), score in zip(found.items(), listed(scored.scores.column), strict=True):
            if not silent >> i & 1:
                parts.append(ScorePart(scored.name, score, scored.weight))
    return {members.fleet.names[i]: tuple(parts) for i, parts in found.items()}


MOST_CLUSTERS = 100  # ocm@00f84c3 scheduling_controller.go `maxNumOfClusterDecisions`

_FLOAT = re.compile(
    r"[+-]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Group:
    """A decision group: its name, its clusters ascending by name, and the objects that list it."""

    name: str
    clusters: tuple[ClusterName, ...]
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouped:
    """The groups of a choice. `problem` is why some are missing, `""` if none is."""

    groups: tuple[Group, ...]
    objects: tuple[DecisionObject, ...]
    problem: str = ""


def group(placement: Placement, ranked: Sequence[ClusterName], members: Members) -> Grouped:
    """Divide the chosen clusters into groups, and list these in objects of at most 100.

    Groups by selector come first, in spec order; what they leave makes further groups without a
    name. Within a group clusters are in order of name, and a choice of nothing is one empty group.
    If a selector cannot be used, the groups before it stay and no others are made.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `generateDecisionGroups`, `generateDecision`.
    """
    groups: list[Group] = []
    problem = ""
    try:
        length = group_length(placement.group_length, len(ranked))
        names = sorted(ranked)
        for rule in placement.groups:
            refuse_selector(rule.selector)
            mask = selected(rule.selector, members)
            chosen = [name for name in names if mask >> members.fleet.position[name] & 1]
            groups += _divide(rule.name, chosen, length)
            names = [name for name in names if not mask >> members.fleet.position[name] & 1]
        groups += _divide("", names, length) if groups or names else [Group("", ())]
    except Misconfigured as error:
        problem = error.message
    return _in_objects(placement, groups, problem)


def group_length(written: int | str, total: int) -> int:
    """Return how many clusters a group may have.

    Args:
        written: A number, or a percentage of the total, rounded up in upstream's float order.
        total: How many clusters are chosen; also the answer where `written` is out of range.

    Raises:
        Misconfigured: A text is not a percentage.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `calculateLength`.

    >>> group_length("7%", 100), group_length(0, 5)
    (8, 5)
    """
    length = written if isinstance(written, int) else _share(written, total)
    return length if 0 < length <= total else total


def _share(written: str, total: int) -> int:
    """Return a percentage of the total; what is no finite number counts as everything."""
    digits = written[:-1]
    percent = float(digits) if written.endswith("%") and _FLOAT.fullmatch(digits) else None
    if percent is None or (math.isinf(percent) and "inf" not in digits.lower()):
        raise Misconfigured(f"{written} invalid type: string is not a percentage")
    share = percent / 100 * total
    return math.ceil(share) if math.isfinite(share) else 0


def _divide(name: str, clusters: Sequence[ClusterName], length: int) -> list[Group]:
    """Cut clusters into groups of one name."""
    return [
        Group(name, tuple(clusters[start : start + length]))
        for start in range(0, len(clusters), max(length, 1))
    ]


def _in_objects(placement: Placement, groups: Sequence[Group], problem: str) -> Grouped:
    """List groups in objects, which are numbered from 1 across all groups."""
    listed: list[Group] = []
    objects: list[DecisionObject] = []
    for index, decision_group in enumerate(groups):
        labels = (
            (GROUP_INDEX_LABEL, str(index)),
            (GROUP_NAME_LABEL, decision_group.name),
            (PLACEMENT_LABEL, placement.name),
        )
        first = len(objects)
        for start in range(0, max(len(decision_group.clusters), 1), MOST_CLUSTERS):
            name = f"{placement.name}-decision-{len(objects) + 1}"
            clusters = decision_group.clusters[start : start + MOST_CLUSTERS]
            objects.append(DecisionObject(placement.namespace, name, labels, clusters))
        names = tuple(decision.name for decision in objects[first:])
        listed.append(Group(decision_group.name, decision_group.clusters, names))
    return Grouped(tuple(listed), tuple(objects), problem)


@dataclass(slots=True, eq=False)
class _FleetCounts:
    """How often each cluster of one fleet is chosen, and how often names of no cluster are."""

    fleet: Fleet
    column: Numbers
    strangers: Counter[ClusterName]

    def change(self, names: Iterable[ClusterName], by: int) -> None:
        """Count some clusters more or less often."""
        for name in names:
            position = self.fleet.position.get(name)
            if position is None:
                self.strangers[name] += by
            else:
                self.column[position] += by


@dataclass(slots=True, eq=False)
class DecisionsSoFar:
    """Every decision of the hub: by placement, and how often each cluster is chosen in all.

    It is changed in place: a placement sees those before it as they are now, those after it as they
    were.
    """

    _by_owner: dict[tuple[str, str], tuple[DecisionObject, ...]] = field(default_factory=dict)
    _appearances: Counter[ClusterName] = field(default_factory=Counter)
    _counts: _FleetCounts | None = None

    def own(self, placement: Placement) -> tuple[DecisionObject, ...]:
        """Return the decisions of a placement; a name too long for a label finds none."""
        if len(placement.name) > MAX_NAME:
            return ()
        return self._by_owner.get((placement.namespace, placement.name), ())

    def of_others(self, placement: Placement, fleet: Fleet) -> OtherChoices:
        """Return how often each cluster is chosen by anyone but the placement."""
        counts = self._counts_in(fleet)
        mine = _named(self._by_owner.get((placement.namespace, placement.name), ()))
        positions = [*map(fleet.position.get, mine)]
        column = less_one_each(counts.column, [one for one in positions if one is not None])
        most = greatest(column)
        if counts.strangers:
            strangers = counts.strangers.copy()
            strangers.subtract(name for name in mine if name not in fleet.position)
            most = max(most, *strangers.values())
        return OtherChoices(column, most)

    def put(self, owner: tuple[str, str], objects: tuple[DecisionObject, ...]) -> bool:
        """Put decisions in place of those that a placement had; return whether they are others."""
        before = self._by_owner.pop(owner, ())
        if objects:
            self._by_owner[owner] = objects
        for names, by in ((_named(objects), 1), (_named(before), -1)):
            for name in names:
                self._appearances[name] += by
                if not self._appearances[name]:
                    del self._appearances[name]
            if self._counts is not None:
                self._counts.change(names, by)
        return objects != before

    def _counts_in(self, fleet: Fleet) -> _FleetCounts:
        """Return the counts in a fleet; counted anew if it is another one than before."""
        counts = self._counts
        if counts is None or counts.fleet is not fleet:
            chosen = self._appearances
            found = [chosen.get(name, 0) for name in fleet.names]
            strangers = Counter[ClusterName]()
            if sum(map(bool, found)) < len(chosen):
                strangers.update({n: chosen[n] for n in chosen.keys() - fleet.position})
            counts = self._counts = _FleetCounts(fleet, column_of(found), strangers)
        return counts


def _named(decisions: Iterable[DecisionObject]) -> list[ClusterName]:
    """Return the clusters of some decisions, as often as they stand there."""
    return [name for decision in decisions for name in decision.clusters]


def decided_by(decisions: Iterable[DecisionObject]) -> DecisionsSoFar:
    """Index decisions, in whatever order they come; one without a placement counts, too."""
    by_owner: dict[tuple[str, str] | None, list[DecisionObject]] = defaultdict(list)
    for decision in decisions:
        by_owner[decision.owner].append(decision)
    found = DecisionsSoFar(_appearances=Counter(_named(by_owner.pop(None, ()))))
    for owner, objects in by_owner.items():
        if owner is not None:
            found.put(owner, tuple(objects))
    return found


MISCONFIGURED = "PlacementMisconfigured"
SATISFIED = "PlacementSatisfied"


@dataclass(frozen=True, slots=True)
class Hub:
    """What placements are decided from, beside the decisions.

    Attributes:
        members: The clusters.
        sets: By name.
        bindings: By namespace.
        reports: Scores of add-ons.
    """

    members: Members
    sets: Mapping[str, ClusterSet]
    bindings: Mapping[str, tuple[SetBinding, ...]]
    reports: Reports = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncVerdict:
    """What a placement should be.

    `status` is that of the run, or the wrong grouping that overrides it. `conditions` come in the
    order in which they are set.
    """

    request: Request
    offer: OfferedClusters
    result: ScheduleResult
    grouped: Grouped
    status: Status
    conditions: tuple[Condition, ...]


def judge(
    placement: Placement,
    hub: Hub,
    decided: DecisionsSoFar,
    now: datetime,
    *,
    afresh: bool = False,
    leaving: frozenset[ClusterName] = frozenset(),
) -> SyncVerdict | None:
    """Decide a placement, `None` if nothing is to be scheduled.

    If `afresh`, its own decisions so far do not count: every cluster is new to it, and none is
    steadied. The clusters in `leaving` are not offered.

    Raises:
        UserError: A cluster set cannot be used; everything stays as it is.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `syncPlacement`.
    """
    if placement.deleting or placement.disabled:
        return None
    bindings = hub.bindings.get(placement.namespace, ())
    offer = offer_of(placement, hub.sets, bindings, hub.members)
    request = Request(
        placement=placement,
        candidates=Mask(offer.clusters & ~hub.members.fleet.named(leaving)),
        decided=NO_CLUSTERS
        if afresh
        else hub.members.fleet.named(
            name for decision in decided.own(placement) for name in decision.clusters
        ),
        others=decided.of_others(placement, hub.members.fleet) if may_balance(placement) else None,
        reports=hub.reports,
    )
    result = schedule(request, hub.members, now)
    names = hub.members.fleet.names
    grouped = group(placement, [names[place] for place in sorted(result.picked)], hub.members)
    status = result.status
    if grouped.problem:
        status = Status(Code.MISCONFIGURED, "", grouped.problem)
    return SyncVerdict(
        request=request,
        offer=offer,
        result=result,
        grouped=grouped,
        status=status,
        conditions=(_misconfigured(status), _satisfied(placement, offer, result, status)),
    )


def _misconfigured(status: Status) -> Condition:
    """Return whether the placement can be used as written.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `newMisconfiguredCondition`.
    """
    if status.code is Code.MISCONFIGURED:
        message = f"{status.plugin}:{status.message}"
        return Condition(MISCONFIGURED, "True", "Misconfigured", message)
    message = "Placement configurations check pass"
    return Condition(MISCONFIGURED, "False", "Succeedconfigured", message)


def _satisfied(
    placement: Placement, offer: OfferedClusters, result: ScheduleResult, status: Status
) -> Condition:
    """Return whether the placement has all the clusters that it asks for, else the first reason.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `newSatisfiedCondition`.
    """
    if not offer.bound:
        reason = "NoManagedClusterSetBindings"
        message = "No valid ManagedClusterSetBindings found in placement namespace"
    elif not offer.eligible:
        reason = "NoIntersection"
        named = _joined_names(placement.cluster_sets)
        message = f"None of ManagedClusterSets {named} is bound to placement namespace"
    elif not offer.clusters:
        reason = "AllManagedClusterSetsEmpty"
        named = _joined_names(offer.eligible)
        message = f"All ManagedClusterSets {named} have no member ManagedCluster"
    elif status.code is Code.ERROR:
        reason, message = "NotAllDecisionsScheduled", status.message
    elif not result.ranked:
        reason = "NoManagedClusterMatched"
        message = "No ManagedCluster matches any of the cluster predicate"
    elif result.unscheduled:
        reason = "NotAllDecisionsScheduled"
        message = f"{result.unscheduled} cluster decisions unscheduled"
    else:
        message = "All cluster decisions scheduled"
        return Condition(SATISFIED, "True", "AllDecisionsScheduled", message)
    return Condition(SATISFIED, "False", reason, message)


def _joined_names(names: Iterable[str]) -> str:
    """Return names as upstream lists them."""
    return f"[{','.join(names)}]"
