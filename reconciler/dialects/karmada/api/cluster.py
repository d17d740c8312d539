"""Karmada's Cluster: what the scheduler reads of it, and the fleet indexed by that.

A resource summary is decoded into what is left in the cluster, in the units in which capacities are
counted: thousandths for cpu, whole units otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from reconciler.dialects.karmada.api.placement import ClusterAffinity, Placement, StaticWeight
from reconciler.dialects.scores import Reports
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import (
    Cluster,
    Taint,
    TaintEffect,
    Toleration,
    effect_of,
    shared_taint,
)
from reconciler.model.identity import ClusterName
from reconciler.model.labels import Requirement, is_wellformed
from reconciler.model.moments import parse_moment
from reconciler.model.quantity import (
    NANOS,
    Quantity,
    Resources,
    ceil_by,
    ceil_units,
    decode_resources,
)
from reconciler.model.records import dataclass, field
from reconciler.projection.project import projected_from
from reconciler.schedule.columns import Numbers, Order, listed
from reconciler.schedule.fleet import (
    Fleet,
    SetsByValue,
    ascending,
    fleet_in_order,
    remember,
    select_indexed,
)
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection, mask_of, mask_where

_ZERO = Quantity(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSummary:
    """What a cluster has left. `models` maps grade to the number of such nodes.

    `rooms` maps a resource to what is neither allocated nor being allocated, `pods` always; of one
    that is not there, nothing is left. Of a cluster that another API declares, `projected`, what is
    not there has no limit: that API may have no word for it.
    """

    rooms: Mapping[str, int]
    models: tuple[tuple[int, int], ...] = ()
    projected: bool = False


def decode_summary(body: Body, *, projected: bool = False) -> ResourceSummary:
    """Return the summary of resources in the status of a cluster.

    Args:
        body: The summary.
        projected: Whether the cluster is declared by another API.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/estimator/client/general.go `maxAvailableReplicas`.
    """
    allocatable, allocated, allocating = (
        decode_resources(fields.mapping(body, name))
        for name in ("allocatable", "allocated", "allocating")
    )
    named = {**({} if projected else {"pods": _ZERO}), **allocatable, **allocated, **allocating}
    return ResourceSummary(
        rooms={name: _room(name, allocatable, allocated, allocating) for name in named},
        models=tuple(
            (fields.number(item, "grade"), fields.number(item, "count"))
            for item in fields.bodies(body, "allocatableModelings")
        ),
        projected=projected,
    )


def used_in(body: Body) -> dict[str, Quantity]:
    """Return what a summary has as used of each resource that it says the whole amount of.

    Raises:
        UserError: A field has the wrong type.
    """
    allocatable, allocated, allocating = (
        decode_resources(fields.mapping(body, name))
        for name in ("allocatable", "allocated", "allocating")
    )
    return {
        name: Quantity(allocated.get(name, _ZERO) + allocating.get(name, _ZERO))
        for name in allocatable
    }


def decode_model(body: Body) -> tuple[int, Resources]:
    """Return the grade of a resource model, and the least that each resource has in it."""
    least = {
        fields.text(item, "name"): item.get("min", "0") for item in fields.bodies(body, "ranges")
    }
    return fields.number(body, "grade"), decode_resources(least)


def _room(name: str, allocatable: Resources, allocated: Resources, allocating: Resources) -> int:
    """Return what is left of a resource; of pods each amount is rounded by itself."""
    has = allocatable.get(name, _ZERO)
    gone, going = allocated.get(name, _ZERO), allocating.get(name, _ZERO)
    if name == "pods":
        return max(0, ceil_units(has) - ceil_units(gone) - ceil_units(going))
    return max(0, units_of(name, Quantity(has - gone - going)))


def amount_of(name: str, units: int) -> Quantity:
    """Return the amount that so many units of a resource are."""
    return Quantity(units * (NANOS // 1000 if name == "cpu" else NANOS))


def units_of(name: str, amount: Quantity) -> int:
    """Return an amount in thousandths where it is cpu, in whole units else, away from zero."""
    return ceil_by(NANOS // 1000 if name == "cpu" else NANOS, amount)


Requirements = tuple[tuple[str, Quantity], ...]
"""What one replica asks for, sorted by resource name; it serves as a key."""

EVERY_API = ("*", "*")
"""Enabled in a cluster of another API, which cannot say what it serves."""

Ask = tuple[Requirements | None, int]
"""A question about capacity: the requirements, and what a cluster without limit answers."""


class TargetCluster(NamedTuple):
    """A cluster and its replicas; a tuple, since a decision may hold thousands of them."""

    name: ClusterName
    replicas: int


@dataclass(slots=True, eq=False)
class SharedTargets:
    """Clusters that get the same number of replicas, by position: those asked for so far.

    `first` is the first result with its positions, until a second one asks for its entries.
    """

    clusters: Mask = NO_CLUSTERS
    targets: dict[int, TargetCluster] = field(default_factory=dict)
    first: tuple[Sequence[int], tuple[TargetCluster, ...]] | None = None


@dataclass(eq=False)
class Capacity:
    """How many replicas each cluster can take, and the clusters ordered by it.

    `limited` is false where some cluster answered that it was not estimated. It is `shared` by all
    who ask the same.
    """

    ask: Ask
    numbers: Numbers
    order: Order
    limited: bool
    shared: bool = True

    @cached_property
    def column(self) -> tuple[int, ...]:
        """The numbers as Python's own."""
        return tuple(listed(self.numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberCluster:
    """Karmada's view of a cluster.

    `declared` says that the manifest has no status at all and that this counts as a promise: every
    API is enabled and capacity is without limit. `summary` is `None` where the status has none.
    `departed` says that there is no manifest: it stands in for a cluster that a binding names.
    """

    cluster: Cluster
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    apis: frozenset[tuple[str, str]] = frozenset()
    conditions: tuple[Body, ...] = ()
    summary: ResourceSummary | None = None
    resource_models: tuple[tuple[int, Resources], ...] = ()
    declared: bool = False
    departed: bool = False

    @property
    def projected(self) -> bool:
        """Whether another API declares it, and what it does not report has no limit."""
        return self.summary is not None and self.summary.projected

    @property
    def modelled(self) -> bool:
        """Whether its resource models count, and not what is left in its summary."""
        counts = () if self.summary is None else self.summary.models
        return bool(self.resource_models and counts) and all(count >= 0 for _, count in counts)


def decode_cluster(body: Body, *, declared: bool = True) -> MemberCluster:
    """Return the view of one Cluster manifest.

    Args:
        body: The manifest.
        declared: Whether a manifest without any status is a declaration; if not, it is judged as
            upstream does: no API enabled, no capacity.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/cluster/v1alpha1/types.go `Cluster`; `declared` is ours.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    status = fields.mapping(body, "status")
    summary, projected = fields.mapping_or_none(status, "resourceSummary"), projected_from(body)
    if summary is None and projected and status:
        summary = {}
    return MemberCluster(
        cluster=Cluster(
            name=ClusterName(fields.text(metadata, "name")),
            labels=dict(fields.pairs_or_none(metadata, "labels") or ()),
            taints=tuple(decode_taint(taint) for taint in fields.bodies(spec, "taints")),
            deleting=bool(metadata.get("deletionTimestamp")),
        ),
        provider=fields.text(spec, "provider"),
        region=fields.text(spec, "region"),
        zones=fields.strings(spec, "zones"),
        apis=_apis(status),
        conditions=fields.bodies(status, "conditions"),
        summary=None if summary is None else decode_summary(summary, projected=bool(projected)),
        resource_models=tuple(map(decode_model, fields.bodies(spec, "resourceModels"))),
        declared=declared and not status,
    )


def decode_taint(body: Body) -> Taint:
    """Return one taint of a manifest."""
    added = body.get("timeAdded")
    try:
        effect = effect_of(fields.text(body, "effect"))
        moment = None if added is None else parse_moment(fields.as_text(added, "timeAdded"))
    except ValueError as error:
        raise UserError(f"must be a taint: {error}", field="taints") from None
    key, value = fields.text(body, "key"), fields.text(body, "value")
    return shared_taint(key, value, effect.value, "" if moment is None else moment.isoformat())


def _apis(status: Body) -> frozenset[tuple[str, str]]:
    return frozenset(
        (fields.text(api, "groupVersion"), fields.text(resource, "kind"))
        for api in fields.bodies(status, "apiEnablements")
        for resource in fields.bodies(api, "resources")
    )


@dataclass(kw_only=True, eq=False)
class Members:
    """The fleet of Karmada clusters, indexed by what its scheduler asks; it remembers answers.

    Each part is built when a question first needs it; the memos are filled by the rules that ask.
    `scores` are those that add-ons report.
    """

    fleet: Fleet
    views: tuple[MemberCluster, ...]
    affinities: dict[ClusterAffinity, Mask] = field(default_factory=dict, repr=False)
    untolerated: dict[tuple[Toleration, ...], tuple[Rejection, ...]] = field(
        default_factory=dict, repr=False
    )
    rooms: dict[str, Numbers] = field(default_factory=dict, repr=False)
    capacities: dict[Ask, Capacity] = field(default_factory=dict, repr=False)
    targets: dict[int, SharedTargets] = field(default_factory=dict, repr=False)
    applied: dict[Placement, str] = field(default_factory=dict, repr=False)
    orders: dict[tuple[Ask, Mask], tuple[tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=dict, repr=False
    )
    votes: dict[tuple[tuple[StaticWeight, ...], Mask], tuple[tuple[int, ...], tuple[int, ...]]] = (
        field(default_factory=dict, repr=False)
    )
    scores: Reports = field(default_factory=dict, repr=False)
    _serving: dict[tuple[str, str], Mask] = field(default_factory=dict, repr=False)

    def with_scores(self, scores: Reports) -> "Members":
        """Return the same fleet with what is reported of its clusters; no answer depends on it."""
        if self.scores is scores:
            return self
        other = copy(self)
        other.scores = scores
        return other

    @cached_property
    def by_field(self) -> Mapping[str, SetsByValue]:
        """Provider and region the way labels are indexed; empty ones count as missing."""
        return {
            "provider": SetsByValue([view.provider or None for view in self.views]),
            "region": SetsByValue([region or None for region in self.regions]),
        }

    @cached_property
    def regions(self) -> tuple[str, ...]:
        """The region of each cluster."""
        return tuple([view.region for view in self.views])

    @cached_property
    def by_zone(self) -> Mapping[str, Mask]:
        """Zone to clusters."""
        zones: dict[str, list[int]] = {}
        for position, view in enumerate(self.views):
            for zone in view.zones:
                zones.setdefault(zone, []).append(position)
        return {zone: mask_of(members) for zone, members in zones.items()}

    @cached_property
    def zoned(self) -> Mask:
        """The clusters that have any zone."""
        return mask_where([bool(view.zones) for view in self.views])

    @cached_property
    def declared(self) -> Mask:
        """Those whose manifest has no status at all, as a promise."""
        return mask_where([view.declared for view in self.views])

    @cached_property
    def projected(self) -> Mask:
        """The clusters that other APIs declare; what they do not report has no limit."""
        return mask_where([view.projected for view in self.views])

    @cached_property
    def modelled(self) -> Mask:
        """Those of which resource models count."""
        return mask_where([bool(view.resource_models) and view.modelled for view in self.views])

    @cached_property
    def no_execute(self) -> Mask:
        """Those with a taint of that effect."""
        mask = 0
        for taints, clusters in self.fleet.by_taints.items():
            if any(taint.effect is TaintEffect.NO_EXECUTE for taint in taints):
                mask |= clusters
        return Mask(mask)

    @cached_property
    def departed(self) -> Mask:
        """Those without a manifest."""
        return mask_where([view.departed for view in self.views])

    def serving(self, api: tuple[str, str]) -> Mask:
        """Return the clusters that enable a group and version and kind, or promise every one.

        # Unlike upstream: no cluster of Karmada enables `*`, one of another API does.
        """
        wanted = {api, EVERY_API}
        return remember(
            self._serving,
            api,
            lambda: mask_where([not wanted.isdisjoint(view.apis) for view in self.views]),
        )

    def known_to(self, named: Iterable[str]) -> Mask:
        """Return the clusters that a binding hears of: of those without a file only its own.

        So what is told of one binding does not depend on which clusters others still name.
        """
        return Mask(self.fleet.all & ~(self.departed & ~self.fleet.named(named)))

    def matching(self, affinity: ClusterAffinity) -> Mask:
        """Return the clusters that an affinity, or the target of a static weight, means.

        Source: karmada@f8fdd02 pkg/util/selector.go `ClusterMatches`.
        """
        return remember(self.affinities, affinity, lambda: self._matching(affinity))

    def _matching(self, affinity: ClusterAffinity) -> Mask:
        chosen = self.fleet.all & ~self.fleet.named(affinity.exclude or ())
        if affinity.label_selector is not None:
            chosen &= self.fleet.select(affinity.label_selector)
        for requirement in affinity.field_requirements:
            chosen &= self._field(requirement)
        if affinity.cluster_names:
            chosen &= self.fleet.named(affinity.cluster_names)
        return Mask(chosen)

    def _field(self, requirement: Requirement) -> Mask:
        everyone = self.fleet.all
        if requirement.key == "zone":
            return self._zone(requirement)
        if not is_wellformed(requirement):
            return NO_CLUSTERS
        return select_indexed(requirement, self.by_field, everyone)

    def _zone(self, requirement: Requirement) -> Mask:
        overlapping = 0
        for zone in requirement.values or ():
            overlapping |= self.by_zone.get(zone, NO_CLUSTERS)
        match requirement.operator:
            case "In":
                return Mask(overlapping)
            case "NotIn":
                return Mask(self.fleet.all & ~overlapping)
            case "Exists":
                return self.zoned
            case "DoesNotExist":
                return Mask(self.fleet.all & ~self.zoned)
            case _:
                return NO_CLUSTERS


def members_of(clusters: Iterable[MemberCluster]) -> Members:
    """Return the indexed fleet of these clusters, in whatever order they come."""
    views = ascending(tuple(clusters), attrgetter("cluster"))
    return Members(fleet=fleet_in_order(tuple([view.cluster for view in views])), views=views)
