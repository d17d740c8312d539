"""Cluster sets: which clusters a placement may choose from."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement import GROUP, Placement
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.labels import LabelSelector
from reconciler.model.selectors import decode_label_selector, refusal_of
from reconciler.schedule.framework import NO_CLUSTERS, Mask

SET_LABEL = f"{GROUP}/clusterset"
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
