"""KubeFleet as the contract has it: its kinds, and where its answers are."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reconciler.dialects.contract import Dialect, DialectMemory
from reconciler.dialects.importer import Importer
from reconciler.dialects.renderer import Renderers
from reconciler.manifests.schemas.violations import Admission
from reconciler.model.known_kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.model.world import World

if TYPE_CHECKING:
    from reconciler.dialects.view import View

CLUSTERS = "cluster.kubernetes-fleet.io"
PLACEMENTS = "placement.kubernetes-fleet.io"


def _admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    from reconciler.dialects.kubefleet.api.admission import kubefleet_admissions

    return kubefleet_admissions(known)


def _view() -> "View":
    from reconciler.dialects.kubefleet.view.answers import VIEW

    return VIEW


def _begin() -> DialectMemory:
    from reconciler.dialects.kubefleet.plan import KubeFleet

    return KubeFleet()


def _importer() -> Importer:
    from reconciler.dialects.kubefleet.imports.importer import IMPORTER

    return IMPORTER


def _renderers() -> Renderers:
    from reconciler.dialects.kubefleet.workgenerator.renderers import KubeFleetRenderers

    return KubeFleetRenderers()


def _past_blobs(world: World) -> Iterable[tuple[str, str]]:
    from reconciler.dialects.kubefleet.workgenerator.snapshot_content import past_blobs

    return past_blobs(world)


def _crds() -> Mapping[str, tuple[str, ...]]:
    from reconciler.dialects.kubefleet.crd_kinds import CRD_KINDS

    return CRD_KINDS


_JUDGED = (
    ApiKind(group=PLACEMENTS, kind="ClusterStagedUpdateRun", short=("csur",), read=False),
    ApiKind(group=PLACEMENTS, kind="ClusterStagedUpdateStrategy", short=("csus",), read=False),
    ApiKind(group=PLACEMENTS, kind="StagedUpdateRun", namespaced=True, short=("sur",), read=False),
    ApiKind(
        group=PLACEMENTS, kind="StagedUpdateStrategy", namespaced=True, short=("sus",), read=False
    ),
    ApiKind(
        group=PLACEMENTS, kind="Work", namespaced=True, read=False, reported_in="fleet-member-{}"
    ),
)
"""Kinds that are held against their schemas and do nothing else."""

KUBEFLEET = Dialect(
    name="kubefleet",
    kinds=(
        ApiKind(group=CLUSTERS, kind="MemberCluster", short=("cluster",)),
        ApiKind(
            group=PLACEMENTS, kind="ClusterResourceBinding", writer=Writer.OURS, short=("crb",)
        ),
        ApiKind(
            group=PLACEMENTS,
            kind="ResourceBinding",
            namespaced=True,
            writer=Writer.OURS,
            short=("rb",),
        ),
        ApiKind(
            group=PLACEMENTS,
            kind="ClusterResourcePlacement",
            writer=Writer.BOTH,
            short=("crp",),
            suspendable=True,
        ),
        ApiKind(
            group=PLACEMENTS,
            kind="ResourcePlacement",
            namespaced=True,
            writer=Writer.BOTH,
            short=("rp",),
            suspendable=True,
        ),
        ApiKind(
            group=PLACEMENTS, kind="ClusterResourceSnapshot", writer=Writer.OURS, short=("crs",)
        ),
        ApiKind(
            group=PLACEMENTS,
            kind="ResourceSnapshot",
            namespaced=True,
            writer=Writer.OURS,
            short=("rs",),
        ),
        ApiKind(
            group=PLACEMENTS,
            kind="ClusterSchedulingPolicySnapshot",
            writer=Writer.OURS,
            short=("csps",),
        ),
        ApiKind(
            group=PLACEMENTS,
            kind="SchedulingPolicySnapshot",
            namespaced=True,
            writer=Writer.OURS,
            short=("sps",),
        ),
        ApiKind(group=PLACEMENTS, kind="ClusterResourceOverride"),
        ApiKind(group=PLACEMENTS, kind="ResourceOverride", namespaced=True),
        ApiKind(
            group=PLACEMENTS, kind="ClusterResourcePlacementDisruptionBudget", short=("crpdb",)
        ),
        ApiKind(
            group=PLACEMENTS,
            kind="ClusterResourcePlacementEviction",
            writer=Writer.BOTH,
            short=("crpe",),
        ),
        *_JUDGED,
    ),
    cluster=(CLUSTERS, "MemberCluster"),
    placed=frozenset({(PLACEMENTS, "ClusterResourcePlacement"), (PLACEMENTS, "ResourcePlacement")}),
    parts={
        (PLACEMENTS, "ClusterResourcePlacement"): (PLACEMENTS, "ClusterResourceBinding"),
        (PLACEMENTS, "ResourcePlacement"): (PLACEMENTS, "ResourceBinding"),
    },
    noun="binding",
    domains=("kubernetes-fleet.io", "kubefleet.dev"),
    crds=_crds,
    content=frozenset({(PLACEMENTS, "ClusterResourceEnvelope"), (PLACEMENTS, "ResourceEnvelope")}),
    admissions=_admissions,
    view=_view,
    begin=_begin,
    importer=_importer,
    renderers=_renderers,
    past_blobs=_past_blobs,
)
