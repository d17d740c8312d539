"""The plugins of Karmada's scheduler by their upstream names, and the request that they answer.

The request of one attempt is decoded once for filters, ranking and division; a failure has the
reason of a Scheduled condition that is not True.

Filters, by what the cluster must satisfy:

- ClusterAffinity: the placement means it. As a score the plugin has no preference.
- APIEnablement: it serves the kind of the workload.
- TaintToleration: the workload tolerates the taints that keep others away.
- SpreadConstraint: it has the property by which the workload is spread.
- ClusterEviction: the workload is not leaving it.
- Capacity: where room is protected, it has room for all replicas of a duplicated workload. Ours:
  upstream's scheduler asks for room in divisions only, and only of what clusters report.

The score ClusterLocality prefers the clusters where the workload is already.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import Binding, BindingStatus
from reconciler.dialects.karmada.api.cluster import MemberCluster, Members, Requirements
from reconciler.dialects.karmada.api.placement import AffinityTerm, ClusterAffinity, Placement
from reconciler.dialects.karmada.scheduler.room import BindingRoom
from reconciler.model.cluster import Taint, TaintEffect, Toleration, UntoleratedTaint, tolerates
from reconciler.model.fields import text
from reconciler.model.labels import unmet
from reconciler.model.quantity import Quantity, Resources
from reconciler.model.records import dataclass, field, replace
from reconciler.model.text import enumerated
from reconciler.schedule.capacity import written_amounts
from reconciler.schedule.columns import listed
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import (
    NO_CLUSTERS,
    Levels,
    Mask,
    Profile,
    Rejection,
    mask_of,
    positions_of,
)


class Request(NamedTuple):
    """One binding, tried with one affinity group.

    Attributes:
        affinity_name: That group's name, `""` where there are no groups.
        affinities: The sets of clusters of which one must match; `None` when any cluster will do.
        tiers: The primary group and its overflow groups; empty where nothing overflows.
        targets: The clusters in spec.clusters, with whatever replicas.
        held: Position to replicas of the known clusters in spec.clusters, in their order. A name
            that stands there twice stands here twice.
        evicting: The clusters that an eviction task names.
        room: What is free for it, `None` where no room is protected.
    """

    binding: Binding
    placement: Placement
    affinity_name: str
    affinities: tuple[ClusterAffinity, ...] | None
    tiers: tuple[ClusterAffinity, ...]
    targets: Mask
    held: tuple[tuple[int, int], ...]
    evicting: Mask
    room: BindingRoom | None = None


def request_of(
    binding: Binding,
    placement: Placement,
    term: AffinityTerm | None,
    members: Members,
    room: BindingRoom | None = None,
) -> Request:
    """Return the question of a binding for one affinity group, `None` where there are no groups.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go
    `Filter`: clusterAffinity wins over the groups, and only workloads overflow.
    """
    position = members.fleet.position
    tiers = () if term is None or not term.overflow or not binding.is_workload else term.tiers
    affinities: tuple[ClusterAffinity, ...] | None = None
    if placement.cluster_affinity is not None:
        affinities = (placement.cluster_affinity,)
    elif term is not None:
        affinities = tiers or (term.affinity,)
        if binding.between and not tiers:
            affinities += (ClusterAffinity(cluster_names=binding.between),)
    return Request(
        binding=binding,
        placement=placement,
        affinity_name="" if term is None else term.affinity_name,
        affinities=affinities,
        tiers=tiers,
        targets=members.fleet.named([name for name, _ in binding.clusters]),
        held=tuple([(position[name], held) for name, held in binding.clusters if name in position]),
        evicting=members.fleet.named([task.from_cluster for task in binding.tasks]),
        room=room,
    )


class FailureKind(StrEnum):
    """The reasons of a Scheduled condition that is not True."""

    NO_CLUSTER_FIT = "NoClusterFit"
    UNSCHEDULABLE = "Unschedulable"
    SCHEDULER_ERROR = "SchedulerError"
    QUOTA_EXCEEDED = "QuotaExceeded"


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that gave no result, with upstream's message."""

    kind: FailureKind
    message: str

    def within(self, step: str) -> "Failure":
        """Return the same failure, told as part of a greater step.

        >>> Failure(FailureKind.UNSCHEDULABLE, "too few").within("failed to scale up").message
        'failed to scale up: too few'
        """
        return replace(self, message=f"{step}: {self.message}")


def refused_before(status: BindingStatus) -> str:
    """Return why a quota refused a binding at its last scheduling, `""` if none did."""
    for condition in status.conditions or ():
        if text(condition, "reason") == FailureKind.QUOTA_EXCEEDED:
            return text(condition, "message")
    return ""


def scheduler_error(message: str) -> Failure:
    """Return a failure that upstream retries with growing pauses."""
    return Failure(FailureKind.SCHEDULER_ERROR, message)


def unschedulable(message: str) -> Failure:
    """Return a failure for lack of room, which upstream retries when something changes."""
    return Failure(FailureKind.UNSCHEDULABLE, message)


AFFINITY_REASON = "cluster(s) did not match the placement cluster affinity constraint"


def reject_affinity(request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters outside of the affinity, or of the group being tried and its overflow.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go
    `Filter`.
    """
    if request.affinities is None:
        return
    matching = NO_CLUSTERS
    for affinity in request.affinities:
        matching = Mask(matching | members.matching(affinity))
    remedy = MatchedAffinity(request.affinity_name, request.affinities, members)
    yield Rejection(Mask(members.fleet.all & ~matching), AFFINITY_REASON, remedy)


@dataclass(frozen=True, slots=True)
class MatchedAffinity:
    """What a cluster would have to match: one of these affinities, of the group of a name."""

    group: str
    affinities: tuple[ClusterAffinity, ...]
    members: Members = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f'match the affinity group "{self.group}"' if self.group else "match clusterAffinity"

    def of(self, position: int) -> str:
        """Return what the cluster at a position lacks of each affinity."""
        view = self.members.views[position]
        ways = [" and ".join(_lacking(affinity, view)) for affinity in self.affinities]
        lacks = " or ".join(dict.fromkeys(filter(None, ways)))
        return f"{self}: {lacks}" if lacks else str(self)


def _lacking(affinity: ClusterAffinity, view: MemberCluster) -> Iterator[str]:
    """Yield what a cluster lacks of an affinity, clauses that follow "to qualify"."""
    name, labels = view.cluster.name, affinity.label_selector
    if name in (affinity.exclude or ()):
        yield "not be excluded by name"
    if affinity.cluster_names and name not in affinity.cluster_names:
        yield f"be one of {enumerated(affinity.cluster_names, MOST_NAMED)}"
    if labels is not None:
        yield from unmet(labels.requirements, view.cluster.labels)
    fields = {"provider": view.provider, "region": view.region}
    for requirement in affinity.field_requirements:
        if requirement.key == "zone":
            zones = frozenset(view.zones)
            wanted = frozenset(requirement.values or ())
            if zones.isdisjoint(wanted) == (requirement.operator == "In"):
                has = enumerated(sorted(zones), MOST_NAMED) or "none"
                verb = "have" if requirement.operator == "In" else "not have"
                yield f"{verb} zone {enumerated(sorted(wanted), MOST_NAMED)} (it has {has})"
        else:
            yield from unmet([requirement], fields, "field")


MOST_NAMED = 5


API_REASON = "cluster(s) did not have the API resource"


@dataclass(frozen=True, slots=True)
class MissingApi:
    """What the cluster would have to serve."""

    api_version: str
    kind: str

    def __str__(self) -> str:
        return f"serve {self.kind} of {self.api_version} (status.apiEnablements)"


def reject_missing_apis(
    request: Request, members: Members, _now: datetime, /
) -> Iterator[Rejection]:
    """Reject clusters that do not list the workload's API, unless the workload is there already.

    A list that is known to be incomplete counts like a complete one.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/apienablement/api_enablement.go
    `Filter`.
    """
    api = (request.binding.api_version, request.binding.kind)
    serving = members.serving(api) | members.declared | request.targets
    yield Rejection(Mask(members.fleet.all & ~serving), API_REASON, MissingApi(*api))


EVICTION_REASON = "cluster(s) is in the process of eviction"
EVICTION_REMEDY = "finish the eviction: healthy elsewhere, or timed out"


def reject_evicting(request: Request, _members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters that a graceful eviction task names, even where the workload still is.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clustereviction/cluster_eviction.go
    `Filter`.
    """
    yield Rejection(request.evicting, EVICTION_REASON, EVICTION_REMEDY)


FEW = 4  # ours: so many times less than the fleet are asked one by one
ROOM_REMEDY = "have this much more capacity, neither used nor reserved"


@dataclass(frozen=True, slots=True)
class NoRoom:
    """What a cluster lacks for what would be added; nothing where no node has room for a pod."""

    lacking: tuple[tuple[str, Quantity], ...]

    def __str__(self) -> str:
        return f"cluster(s) cannot hold what would be added, missing {self.missing}"

    @property
    def missing(self) -> str:
        """What it lacks, as people read it."""
        return missing(dict(self.lacking))


def missing(lacking: Resources) -> str:
    """Return what is lacking, as people read it."""
    return written_amounts(lacking) if lacking else "nodes with room for it"


def reject_full(request: Request, _members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that have no room for all replicas, but for those that have some already.

    What is there already stays, with as many replicas as it has.
    """
    room, binding = request.room, request.binding
    if room is None or not binding.replicas or not request.placement.duplicated:
        return ()
    asked = request.affinity_name, binding.replicas
    if asked not in room.refused:
        room.refused[asked] = tuple(_full(request, room))
    return room.refused[asked]


def _rooms(
    room: BindingRoom, requirements: Requirements | None, clusters: Mask
) -> Iterator[tuple[int, int]]:
    """Yield how many replicas each of some clusters can take; of a few, nothing else is asked."""
    if clusters.bit_count() * FEW < len(room.fleet.members.views):
        for position in positions_of(clusters):
            yield position, room.more_at(position, requirements)
        return
    column = listed(room.more(requirements))
    yield from ((position, column[position]) for position in positions_of(clusters))


def _full(request: Request, room: BindingRoom) -> Iterator[Rejection]:
    binding, limited = request.binding, room.fleet.limited
    holding = mask_of(position for position, held in request.held if held)
    limited = Mask(limited & ~holding)
    meant = map(room.fleet.members.matching, request.affinities or ())
    if request.affinities is not None:
        limited = Mask(limited & reduce(or_, meant, 0))
    by_lack: dict[tuple[tuple[str, Quantity], ...], list[int]] = {}
    for position, more in _rooms(room, binding.requirements, limited):
        if more < binding.replicas:
            lack = room.lacking(position, binding.requirements, binding.replicas)
            by_lack.setdefault(tuple(sorted(lack.items())), []).append(position)
    for amounts, positions in by_lack.items():
        yield Rejection(mask_of(positions), NoRoom(amounts), ROOM_REMEDY)


SPREAD_REMEDY = "set the property to spread by in its spec"


def reject_without_topology(
    request: Request, members: Members, _now: datetime, /
) -> Iterator[Rejection]:
    """Reject clusters without the provider, region or zones that a constraint groups by.

    It does so even where the strategy ignores the constraint; the deprecated `zone` does not count.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/spreadconstraint/spread_constraint.go
    `Filter`.
    """
    everyone, seen = members.fleet.all, NO_CLUSTERS
    for constraint in request.placement.spread_constraints or ():
        field = constraint.spread_by_field
        if field in ("provider", "region"):
            having, name = members.by_field[field].having, field
        elif field == "zone":
            having, name = members.zoned, "zones"
        else:
            continue
        lacking = Mask(everyone & ~having & ~seen)
        seen = Mask(seen | lacking)
        yield Rejection(lacking, f"cluster(s) did not have {name} property", SPREAD_REMEDY)


REPELLING = frozenset({TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE})


@dataclass(frozen=True, slots=True)
class ToleratedTaint:
    """What would help against a taint."""

    taint: Taint

    def __str__(self) -> str:
        return f"lose the taint {self.taint}, or be tolerated (placement.clusterTolerations)"


def reject_taints(request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters with an untolerated taint, unless the workload is there already.

    Seconds of tolerations do not matter here: a limited toleration lets the workload in.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
    `Filter`.
    """
    tolerations = request.placement.cluster_tolerations or ()
    for rejection in remember(
        members.untolerated, tolerations, lambda: _untolerated(tolerations, members)
    ):
        if rejection.clusters & request.targets:
            yield replace(rejection, clusters=Mask(rejection.clusters & ~request.targets))
        else:
            yield rejection


def _untolerated(tolerations: tuple[Toleration, ...], members: Members) -> tuple[Rejection, ...]:
    carriers: dict[Taint, Mask] = {}
    for taints, clusters in members.fleet.by_taints.items():
        taint = first_untolerated(taints, tolerations)
        if taint is not None:
            carriers[taint] = Mask(carriers.get(taint, NO_CLUSTERS) | clusters)
    return tuple(
        Rejection(clusters, UntoleratedTaint(taint), ToleratedTaint(taint))
        for taint, clusters in carriers.items()
    )


def first_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]
) -> Taint | None:
    """Return the first repelling taint that no toleration fits, without its moment."""
    for taint in taints:
        if taint.effect in REPELLING and not any(tolerates(item, taint) for item in tolerations):
            return taint if taint.time_added is None else replace(taint, time_added=None)
    return None


def score_affinity(
    _request: Request, _members: Members, _feasible: Mask, _now: datetime, /
) -> Levels:
    """Score every cluster 0.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go
    `Score`.
    """
    return ()


MAX_SCORE = 100


def score_locality(
    request: Request, _members: Members, _feasible: Mask, _now: datetime, /
) -> Levels:
    """Prefer the clusters where the workload is already, with whatever replicas.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusterlocality/cluster_locality.go
    `Score`.
    """
    return ((MAX_SCORE, request.targets),) if request.targets else ()


EVICTION_FILTER = "ClusterEviction"

PROFILE: Profile[Request, Members, Levels] = Profile(
    # Upstream's registry is a Go map: which plugin gives the reason is random there. This is the
    # order in which it registers them; feasibility does not depend on it.
    filters={
        "APIEnablement": reject_missing_apis,
        "TaintToleration": reject_taints,
        "ClusterAffinity": reject_affinity,
        "SpreadConstraint": reject_without_topology,
        EVICTION_FILTER: reject_evicting,
        "Capacity": reject_full,  # ours, and silent unless room is protected
    },
    scores={"ClusterAffinity": score_affinity, "ClusterLocality": score_locality},
)
"""Scores are added up."""
