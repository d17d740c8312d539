"""The categories of kinds that kubectl has of KubeFleet: `get fleet`."""

from collections.abc import Mapping

from reconciler.dialects.kubefleet.api.groups import CLUSTER_GROUP, PLACEMENT_GROUP
from reconciler.dialects.kubefleet.crd_kinds import CRD_KINDS
from reconciler.model.known_kinds import Kind


def _of(*groups: str) -> frozenset[Kind]:
    return frozenset((group, kind) for group in groups for kind in CRD_KINDS[group])


CATEGORIES: Mapping[str, frozenset[Kind]] = {
    "fleet": _of(CLUSTER_GROUP, PLACEMENT_GROUP),
    "fleet-cluster": _of(CLUSTER_GROUP),
    "fleet-placement": _of(PLACEMENT_GROUP),
}
"""Source: kubefleet@e160c1c config/crd/bases `spec.names.categories`, alike in a group."""
