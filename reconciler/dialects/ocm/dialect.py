"""Open Cluster Management as the contract has it: its kinds, and where its answers are."""

from collections.abc import Mapping

from reconciler.dialects.contract import Dialect
from reconciler.dialects.ocm.api.placement import CLUSTER, CLUSTER_GROUP, WORK_GROUP
from reconciler.manifests.schemas.violations import Admission
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.model.late import late, late_value


def _admissions(known_kinds: KnownKinds) -> Mapping[Kind, Admission]:
    from reconciler.dialects.ocm.api.admission import OCM_ADMISSIONS

    del known_kinds
    return OCM_ADMISSIONS


OCM = Dialect(
    name="ocm",
    title="Open Cluster Management",
    kinds=(
        ApiKind(
            group=CLUSTER_GROUP,
            kind="AddOnPlacementScore",
            namespaced=True,
            reported_in="{}",
            overlaid=True,
        ),
        ApiKind(
            group=CLUSTER_GROUP,
            kind="ManagedCluster",
            writer=Writer.BOTH,
            short=("mcl", "mcls"),
            reported_in="{}",
            overlaid=True,
        ),
        ApiKind(group=CLUSTER_GROUP, kind="ManagedClusterSet", short=("mclset", "mclsets")),
        ApiKind(
            group=CLUSTER_GROUP,
            kind="ManagedClusterSetBinding",
            namespaced=True,
            short=("mclsetbinding", "mclsetbindings"),
        ),
        ApiKind(
            group=CLUSTER_GROUP,
            kind="Placement",
            namespaced=True,
            writer=Writer.BOTH,
            suspendable=True,
        ),
        ApiKind(group=CLUSTER_GROUP, kind="PlacementDecision", namespaced=True, writer=Writer.OURS),
        ApiKind(
            group=WORK_GROUP,
            kind="ManifestWork",
            namespaced=True,
            read=False,
            reported_in="{}",
            carries=late("reconciler.dialects.ocm.workstatus.work_status", "reports_in"),
        ),
        ApiKind(
            group=WORK_GROUP,
            kind="ManifestWorkReplicaSet",
            namespaced=True,
            writer=Writer.BOTH,
            short=("mwrs",),
            suspendable=True,
        ),
    ),
    cluster=CLUSTER,
    placed=frozenset({(CLUSTER_GROUP, "Placement"), (WORK_GROUP, "ManifestWorkReplicaSet")}),
    parts={(CLUSTER_GROUP, "Placement"): (CLUSTER_GROUP, "PlacementDecision")},
    places_by={
        CLUSTER: (("metadata", "labels"), ("spec", "hubAcceptsClient")),
        (CLUSTER_GROUP, "ManagedClusterSet"): (("spec",),),
        (CLUSTER_GROUP, "Placement"): (("spec",),),
        (WORK_GROUP, "ManifestWorkReplicaSet"): (("spec", "placementRefs"),),
    },
    staged=frozenset({(WORK_GROUP, "ManifestWorkReplicaSet")}),
    domains=("open-cluster-management.io",),
    crds=late_value("reconciler.dialects.ocm.crd_kinds", "CRD_KINDS"),
    admissions=_admissions,
    view=late_value("reconciler.dialects.ocm.view.answers", "VIEW"),
    begin=late("reconciler.dialects.ocm.plan", "Ocm"),
    statement=late_value("reconciler.dialects.ocm.reads", "STATEMENT"),
    importer=late_value("reconciler.dialects.ocm.hub_import", "IMPORTER"),
    renderers=late("reconciler.dialects.ocm.manifestworkreplicaset.renderer", "OcmRenderers"),
    past_blobs=late("reconciler.dialects.ocm.manifestworkreplicaset.renderer", "past_blobs"),
    wraps=late_value("reconciler.dialects.ocm.manifestworkreplicaset.renderer", "WRAPS"),
    clusters=late_value("reconciler.dialects.ocm.projection", "CLUSTERS"),
    capacity=late_value("reconciler.dialects.ocm.plan", "CAPACITY"),
)
