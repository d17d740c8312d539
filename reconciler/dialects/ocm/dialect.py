"""Open Cluster Management as the contract has it: its kinds, and where its answers are."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reconciler.dialects.contract import CapacityRules, Dialect, DialectMemory
from reconciler.dialects.importer import Importer
from reconciler.dialects.ocm.api.placement import CLUSTER, CLUSTER_GROUP, WORK_GROUP
from reconciler.manifests.schemas.violations import Admission
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.projection.project import Language

if TYPE_CHECKING:
    from reconciler.dialects.contract import Statement
    from reconciler.dialects.renderer import Renderers, Wraps
    from reconciler.dialects.view import View
    from reconciler.model.kinds import CopyReport
    from reconciler.model.world import World


def _admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    from reconciler.dialects.ocm.api.admission import OCM_ADMISSIONS

    del known
    return OCM_ADMISSIONS


def _view() -> "View":
    from reconciler.dialects.ocm.view.answers import VIEW

    return VIEW


def _begin() -> DialectMemory:
    from reconciler.dialects.ocm.plan import Ocm

    return Ocm()


def _statement() -> "Statement":
    from reconciler.dialects.ocm.reads import STATEMENT

    return STATEMENT


def _importer() -> Importer:
    from reconciler.dialects.ocm.hub_import import IMPORTER

    return IMPORTER


def _carried(work: Body) -> Iterable[tuple[ObjectKey, "CopyReport"]]:
    from reconciler.dialects.ocm.workstatus.work_status import reports_in

    return reports_in(work)


def _capacity() -> CapacityRules | None:
    from reconciler.dialects.ocm.plan import SetCapacity

    return SetCapacity()


def _past_blobs(world: "World") -> Iterable[tuple[str, str]]:
    from reconciler.dialects.ocm.manifestworkreplicaset.renderer import past_blobs

    return past_blobs(world)


def _renderers() -> "Renderers":
    from reconciler.dialects.ocm.manifestworkreplicaset.renderer import OcmRenderers

    return OcmRenderers()


def _wraps() -> "Wraps":
    from reconciler.dialects.ocm.manifestworkreplicaset.renderer import as_manifest_work

    return {"manifestworks": as_manifest_work}


def _crds() -> Mapping[str, tuple[str, ...]]:
    from reconciler.dialects.ocm.crd_kinds import CRD_KINDS

    return CRD_KINDS


def _clusters() -> Language:
    from reconciler.dialects.ocm.projection import CLUSTERS

    return CLUSTERS


OCM = Dialect(
    name="ocm",
    title="Open Cluster Management",
    kinds=(
        ApiKind(group=CLUSTER_GROUP, kind="AddOnPlacementScore", namespaced=True),
        ApiKind(
            group=CLUSTER_GROUP, kind="ManagedCluster", writer=Writer.BOTH, short=("mcl", "mcls")
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
            carries=_carried,
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
    domains=("open-cluster-management.io",),
    crds=_crds,
    admissions=_admissions,
    view=_view,
    begin=_begin,
    statement=_statement,
    importer=_importer,
    renderers=_renderers,
    past_blobs=_past_blobs,
    wraps=_wraps,
    clusters=_clusters,
    capacity=_capacity,
)
