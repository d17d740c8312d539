"""ManagedCluster and the hub beside it: what placements read, and the fleet indexed by that.

A cluster gets a taint from its Available condition when its agent says that it is unwell, or says
nothing. Cluster sets and their bindings decide which clusters a placement may choose from. Sets,
bindings and scores are followed by change. `Request` is the question that the scheduler's plugins
are asked.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cached_property
from operator import attrgetter

from reconciler.dialects.ocm.api.placement import CLUSTER_GROUP, AddOnScore, Placement
from reconciler.dialects.reads import Followed
from reconciler.dialects.scores import SCORES, Reported, Reports, named, reports_of
from reconciler.errors import UserError
from reconciler.manifests.admission import taint_id
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Cluster, Taint, TaintEffect, shared_taint
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.labels import LabelSelector, decode_label_selector, refusal_of
from reconciler.model.moments import parse_instant
from reconciler.model.quantity import approximate
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import Same, patched
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World
from reconciler.schedule.columns import Numbers, column_of
from reconciler.schedule.fleet import (
    Fleet,
    InvertedIndex,
    ascending,
    fleet_in_order,
    remember,
    select_indexed,
)
from reconciler.schedule.framework import NO_CLUSTERS, Mask, mask_where

UNREACHABLE = f"{CLUSTER_GROUP}/unreachable"
UNAVAILABLE = f"{CLUSTER_GROUP}/unavailable"
AVAILABLE = "ManagedClusterConditionAvailable"
NO_SELECT = "NoSelect"


def taints_of(body: Body, settings: Settings, _record: Body | None) -> tuple[Body, ...]:
    """Return the taints of a cluster that scheduling uses: those written, and that one."""
    written = bodies(mapping(body, "spec"), "taints")
    return (*written, *condition_taints(body, declared=settings.declared_clusters))


def condition_taints(body: Body, *, declared: bool) -> list[Body]:
    """Return the taint that follows from the Available condition, if any.

    A condition that is missing or Unknown makes a cluster unreachable, False unavailable. A
    cluster without a status is a declaration, and available.

    Source: ocm@00f84c3 pkg/registration/hub/taint/controller.go `sync`.
    """
    status = mapping(body, "status")
    if not status and declared:
        return []
    conditions = bodies(status, "conditions")
    available: Body = next((c for c in conditions if c.get("type") == AVAILABLE), {})
    verdict = text(available, "status")
    if verdict == "True":
        return []
    key = UNAVAILABLE if verdict == "False" else UNREACHABLE
    derived: dict[str, object] = {"key": key, "effect": NO_SELECT}
    since = text(available, "lastTransitionTime")
    if since:
        derived["timeAdded"] = since
    written = {taint_id(taint) for taint in bodies(mapping(body, "spec"), "taints")}
    return [] if taint_id(derived) in written else [derived]


@dataclass(frozen=True, slots=True)
class OtherChoices:
    """How often anyone else has chosen each cluster, and the most chosen of all.

    The most chosen one need not be among the clusters, nor exist.
    """

    column: Numbers
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What wants placing, and what is known beside the clusters.

    Attributes:
        placement: What is asked for.
        candidates: Clusters that may be chosen from.
        decided: Clusters in the placement's decisions so far, those that still exist.
        others: How often anyone else has chosen each cluster, `None` where no score asks.
        reports: Scores of add-ons.
    """

    placement: Placement
    candidates: Mask
    decided: Mask = NO_CLUSTERS
    others: OtherChoices | None = None
    reports: Reports = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """One plugin's answer: a score for each feasible cluster, ascending by name.

    Attributes:
        column: The scores, 0 where there is none.
        silent: Clusters that it said nothing about.
        expired: Those whose scores ran out, as `cluster/resource`, sorted.
        missing: Those for which no score is reported; it stands as 0.
    """

    column: Numbers
    silent: Mask = NO_CLUSTERS
    expired: tuple[str, ...] = ()
    missing: tuple[ClusterName, ...] = ()


CPU = "cpu"
MEMORY = "memory"
EFFECTS = frozenset(effect.value for effect in TaintEffect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedCluster:
    """OCM's view of a cluster.

    `allocatable` has the amounts of cpu and memory, as upstream's float64, of those resources
    that the capacity names, too. `body` is the manifest, for CEL.
    """

    cluster: Cluster
    claims: Mapping[str, str]
    allocatable: Mapping[str, float]
    body: Body


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of a resource each cluster has: places in `distinct`, where `None` is no amount."""

    codes: Numbers
    distinct: tuple[float | None, ...]
    missing: Mask


@dataclass(kw_only=True, eq=False)
class Members:
    """All managed clusters, ascending by name; an index made once a pass, which remembers.

    Each part is built when a question first needs it. `reported`, `measurements` and `expressed`
    remember the scores of add-ons, those of amounts and what CEL expressions say, by the question.
    """

    fleet: Fleet
    views: tuple[ManagedCluster, ...]
    reported: dict[tuple[AddOnScore, Same, datetime], Reported] = field(
        default_factory=dict, repr=False
    )
    measurements: dict[tuple[str, Mask], Scores] = field(default_factory=dict, repr=False)
    expressed: dict[tuple[tuple[str, ...], Mask, Same], Mask] = field(
        default_factory=dict, repr=False
    )
    _claiming: dict[LabelSelector, Mask] = field(default_factory=dict, repr=False)
    _amounts: dict[str, Amounts] = field(default_factory=dict, repr=False)

    @cached_property
    def by_claim(self) -> InvertedIndex:
        """Claim to value to clusters."""
        return InvertedIndex([view.claims for view in self.views])

    def amounts(self, resource: str) -> Amounts:
        """Return the amount of a resource of each cluster."""
        return remember(self._amounts, resource, lambda: self._amounts_of(resource))

    def _amounts_of(self, resource: str) -> Amounts:
        amounts = [view.allocatable.get(resource) for view in self.views]
        codes = {amount: code for code, amount in enumerate(dict.fromkeys(amounts))}
        return Amounts(
            codes=column_of(map(codes.__getitem__, amounts)),
            distinct=tuple(codes),
            missing=mask_where([amount is None for amount in amounts]),
        )

    def claiming(self, selector: LabelSelector) -> Mask:
        """Return the clusters whose claims satisfy a selector that can be used.

        Claims follow the rules of labels.

        Source: ocm@00f84c3 pkg/placement/helpers/clusters.go `ClusterSelector.Matches`.
        """
        return remember(self._claiming, selector, lambda: self._select(selector))

    def _select(self, selector: LabelSelector) -> Mask:
        chosen = self.fleet.all
        for requirement in selector.requirements:
            clusters = select_indexed(requirement, self.by_claim, self.fleet.all)
            chosen = Mask(chosen & clusters)
        return chosen


def members_of(views: Iterable[ManagedCluster]) -> Members:
    """Return the fleet of these clusters, in whatever order they come; names are unique."""
    ordered = ascending(tuple(views), attrgetter("cluster"))
    return Members(fleet=fleet_in_order(tuple([view.cluster for view in ordered])), views=ordered)


def decode_cluster(body: Body) -> ManagedCluster:
    """Return the view of one ManagedCluster.

    Of claims with one name the last counts.

    Raises:
        UserError: A field has the wrong type, or its text cannot be read.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1/types.go `ManagedCluster`,
    and pkg/placement/helpers/clusters.go `GetClusterClaims`.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    status = fields.mapping(body, "status")
    return ManagedCluster(
        cluster=Cluster(
            name=ClusterName(fields.text(metadata, "name")),
            labels=dict(fields.pairs_or_none(metadata, "labels") or ()),
            taints=tuple(map(_taint, fields.bodies(spec, "taints"))),
            deleting=bool(metadata.get("deletionTimestamp")),
        ),
        claims={
            fields.text(claim, "name"): fields.text(claim, "value")
            for claim in fields.bodies(status, "clusterClaims")
        },
        allocatable=_allocatable(status),
        body=body,
    )


def _taint(body: Body) -> Taint:
    """Decode a taint, with the fraction of its moment."""
    added = fields.text(body, "timeAdded")
    effect = fields.text(body, "effect")
    if effect not in EFFECTS:
        raise UserError("must be NoSelect, PreferNoSelect or NoSelectIfNew", field="effect")
    try:
        time_added = parse_instant(added) if added else None
    except ValueError as error:
        raise UserError(str(error), field="timeAdded") from error
    moment = time_added.isoformat() if time_added is not None else ""
    return shared_taint(fields.text(body, "key"), fields.text(body, "value"), effect, moment)


def _allocatable(status: Body) -> dict[str, float]:
    """Return the amounts that count for scores."""
    allocatable = fields.mapping(status, "allocatable")
    capacity = fields.mapping(status, "capacity")
    return {
        resource: _amount(allocatable[resource], resource)
        for resource in (CPU, MEMORY)
        if allocatable.get(resource) is not None and capacity.get(resource) is not None
    }


def _amount(value: object, field_name: str) -> float:
    """Return an amount."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UserError("must be a quantity", field=field_name)
    try:
        return approximate(value)
    except ValueError as error:
        raise UserError(str(error), field=field_name) from error


SET_LABEL = f"{CLUSTER_GROUP}/clusterset"
DEFAULT_SET = "default"
GLOBAL_SET = "global"
EXCLUSIVE = "ExclusiveClusterSetLabel"
BY_LABELS = "LabelSelector"


@dataclass(frozen=True, slots=True)
class ClusterSet:
    """A set of clusters, by the label that names it or by a selector; `None` selects nothing."""

    name: str
    selector_type: str = EXCLUSIVE
    selector: LabelSelector | None = None


IMPLICIT: Mapping[str, ClusterSet] = {
    DEFAULT_SET: ClusterSet(DEFAULT_SET),
    GLOBAL_SET: ClusterSet(GLOBAL_SET, BY_LABELS, LabelSelector()),
}
"""Sets that stand on every hub; ocm@00f84c3 pkg/registration/hub/managedclusterset."""


@dataclass(frozen=True, slots=True)
class SetBinding:
    """An offer of a set to a namespace. Placements go by `name`, which must be that of the set."""

    namespace: str
    name: str
    cluster_set: str


@dataclass(frozen=True, slots=True)
class OfferedClusters:
    """What a placement is offered.

    `bound` says whether its namespace has a valid binding at all. `eligible` are the sets that
    count, sorted. `clusters` are their members that are not being deleted.
    """

    bound: bool
    eligible: tuple[str, ...]
    clusters: Mask


def decode_set(body: Body) -> ClusterSet:
    """Return the set of a manifest; a selector type that is not written is exclusive."""
    selector = fields.mapping(fields.mapping(body, "spec"), "clusterSelector")
    labels = fields.mapping_or_none(selector, "labelSelector")
    return ClusterSet(
        name=fields.text(fields.mapping(body, "metadata"), "name"),
        selector_type=fields.text(selector, "selectorType") or EXCLUSIVE,
        selector=None if labels is None else decode_label_selector(labels),
    )


def decode_set_binding(body: Body) -> SetBinding:
    """Return the binding of a manifest."""
    metadata = fields.mapping(body, "metadata")
    return SetBinding(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        cluster_set=fields.text(fields.mapping(body, "spec"), "clusterSet"),
    )


def offer_of(
    placement: Placement,
    sets: Mapping[str, ClusterSet],
    bindings: Iterable[SetBinding],
    members: Members,
) -> OfferedClusters:
    """Return what a placement may choose from, given the bindings of its namespace.

    A binding is valid if a set of its own name exists. Of the sets bound, those count that the
    placement names; if it names none, all.

    Raises:
        UserError: A set that counts has a selector that cannot be used; then nothing is decided.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `getValidManagedClusterSetBindings`, `getEligibleClusterSets`, `getAvailableClusters`.
    """
    bound = {item.name for item in bindings} & sets.keys()
    eligible = eligible_sets(placement, bound)
    clusters = 0
    for name in eligible:
        clusters |= _members_of_set(sets[name], members)
    return OfferedClusters(bool(bound), eligible, Mask(clusters & ~members.fleet.deleting))


def eligible_sets(placement: Placement, bound: AbstractSet[str]) -> tuple[str, ...]:
    """Return the sets that count for a placement, of those that are bound in its namespace."""
    return tuple(sorted(bound & set(placement.cluster_sets) if placement.cluster_sets else bound))


def _members_of_set(cluster_set: ClusterSet, members: Members) -> Mask:
    """Return the clusters of a set."""
    refusal = refusal_of_set(cluster_set)
    if refusal:
        raise UserError(f"the ManagedClusterSet {cluster_set.name} cannot be used: {refusal}")
    if cluster_set.selector_type == EXCLUSIVE:
        return members.fleet.by_label.get(SET_LABEL, {}).get(cluster_set.name, NO_CLUSTERS)
    if cluster_set.selector is None:
        return NO_CLUSTERS
    return members.fleet.select(cluster_set.selector)


def refusal_of_set(cluster_set: ClusterSet) -> str:
    """Return why a set cannot be used, `""` if it can.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta2
    `BuildClusterSelector`.
    """
    if cluster_set.selector_type == EXCLUSIVE:
        return ""
    if cluster_set.selector_type != BY_LABELS:
        return f"selectorType is not right: {cluster_set.selector_type}"
    return "" if cluster_set.selector is None else refusal_of(cluster_set.selector)


SETS = (CLUSTER_GROUP, "ManagedClusterSet")
SET_BINDINGS = (CLUSTER_GROUP, "ManagedClusterSetBinding")

Bindings = Mapping[str, tuple[SetBinding, ...]]
"""Namespace to the bindings there, sorted."""


@dataclass(slots=True, eq=False)
class HubObjects:
    """Those of the world that was followed last; each mapping is another one where it differs.

    Attributes:
        sets: By name, those that stand on every hub included.
        bindings: By namespace.
        reports: The scores by cluster and name.
    """

    sets: Mapping[str, ClusterSet] = field(default_factory=lambda: dict(IMPLICIT))
    bindings: Bindings = field(default_factory=dict)
    reports: Reports = field(default_factory=dict)
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed, repr=False)

    def follow(self, world: World) -> list[ObjectKey]:
        """Go on to a world, and return the objects that may be others."""
        keys = self._inputs.keys(world.inputs)
        changed = [key for key in keys if key[:2] in (SETS, SET_BINDINGS, SCORES)]
        sets, bindings, reports = (
            [key for key in changed if key[:2] == kind] for kind in (SETS, SET_BINDINGS, SCORES)
        )
        if sets:
            self.sets = sets_of(world.of_kind(*SETS))
        if bindings:
            self.bindings = bindings_of(world.of_kind(*SET_BINDINGS))
        if reports:
            came = reports_of(world.inputs[key] for key in reports if key in world.inputs)
            gone = [named(key) for key in reports if key not in world.inputs]
            self.reports = patched(self.reports, came, gone)
        return changed


def sets_of(manifests: Iterable[Manifest]) -> dict[str, ClusterSet]:
    """Return the sets by name, with those that stand on every hub."""
    return {**IMPLICIT, **{one.key.name: decode_set(one.body) for one in manifests}}


def bindings_of(manifests: Iterable[Manifest]) -> Bindings:
    """Return the bindings by namespace, given them sorted."""
    bindings: dict[str, tuple[SetBinding, ...]] = {}
    for manifest in manifests:
        space = manifest.key.namespace
        bindings[space] = (*bindings.get(space, ()), decode_set_binding(_placed(manifest)))
    return bindings


def _placed(manifest: Manifest) -> Body:
    """Return a body with the namespace that it has, written or not."""
    metadata = mapping(manifest.body, "metadata")
    return {**manifest.body, "metadata": {**metadata, "namespace": manifest.key.namespace}}
