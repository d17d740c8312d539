"""Which objects of an OCM hub become files, and what of them counts."""

from reconciler.dialects.importer import ImportedKind, Importer
from reconciler.dialects.ocm.api.groups import CLUSTER
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.imports.adopt import adopt
from reconciler.dialects.ocm.imports.switch import SWITCH
from reconciler.dialects.ocm.imports.works import WORK_REPORT
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP as WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND, WORK

OWN_NAMESPACES = "open-cluster-management"


def is_reserved(namespace: str) -> bool:
    """Return whether a namespace is the hub's own, as its installers call them.

    Source: ours; `clusteradm init` and `join` make that name, and with `-hub` and `-agent`.
    """
    return namespace.startswith(OWN_NAMESPACES)


IMPORTER = Importer(
    kinds={
        CLUSTER: ImportedKind(
            folder="clusters",
            status=(
                "allocatable",
                "capacity",
                "clusterClaims",
                "conditions",
                "managedNamespaces",
                "version",
            ),
            measured=("status.allocatable", "status.capacity"),
        ),
        (GROUP, "ManagedClusterSet"): ImportedKind(folder="clusters"),
        (GROUP, "ManagedClusterSetBinding"): ImportedKind(folder="placements"),
        (GROUP, "Placement"): ImportedKind(folder="placements"),
        (GROUP, "AddOnPlacementScore"): ImportedKind(
            folder="scores", status=("scores", "validUntil")
        ),
        (WORK_GROUP, KIND): ImportedKind(folder="workloads"),
    },
    adopt=adopt,
    reports={(WORK_GROUP, WORK): WORK_REPORT},
    is_reserved=is_reserved,
    live=((GROUP, "PlacementDecision"), (WORK_GROUP, KIND)),
    switch=SWITCH,
)
