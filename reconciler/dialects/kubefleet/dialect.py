"""KubeFleet as the contract has it: its kinds, and where its answers are."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reconciler.dialects.contract import CapacityRules, Dialect, DialectMemory
from reconciler.dialects.importer import Importer
from reconciler.dialects.kubefleet.api.names import (
    CLUSTER,
    CLUSTER_GROUP,
    PLACEMENT_GROUP,
    PLACES_BY,
    RUNS,
    STRATEGIES,
)
from reconciler.dialects.renderer import Renderers
from reconciler.manifests.schemas.violations import Admission, UpdateAdmission
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.model.world import World
from reconciler.projection.project import Language

if TYPE_CHECKING:
    from reconciler.dialects.contract import Statement
    from reconciler.dialects.view import View


def _admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    from reconciler.dialects.kubefleet.api.admission import kubefleet_admissions

    return kubefleet_admissions(known)


def _view() -> "View":
    from reconciler.dialects.kubefleet.view.answers import VIEW

    return VIEW


def _begin() -> DialectMemory:
    from reconciler.dialects.kubefleet.plan import KubeFleet

    return KubeFleet()


def _statement() -> "Statement":
    from reconciler.dialects.kubefleet.reads import STATEMENT

    return STATEMENT


def _importer() -> Importer:
    from reconciler.dialects.kubefleet.hub_import import IMPORTER

    return IMPORTER


def _capacity() -> CapacityRules | None:
    from reconciler.dialects.kubefleet.plan import PlacementCapacity

    return PlacementCapacity()


def _renderers() -> Renderers:
    from reconciler.dialects.kubefleet.workgenerator.renderer import KubeFleetRenderers

    return KubeFleetRenderers()


def _past_blobs(world: World) -> Iterable[tuple[str, str]]:
    from reconciler.dialects.kubefleet.workgenerator.content import past_blobs

    return past_blobs(world)


def _crds() -> Mapping[str, tuple[str, ...]]:
    from reconciler.dialects.kubefleet.crd_kinds import CRD_KINDS

    return CRD_KINDS


def _clusters() -> Language:
    from reconciler.dialects.kubefleet.projection import CLUSTERS

    return CLUSTERS


def _updates() -> Mapping[Kind, UpdateAdmission]:
    from reconciler.dialects.kubefleet.api.admission import RUN_UPDATES

    return RUN_UPDATES


_STAGED_UPDATES = (
    ApiKind(
        group=PLACEMENT_GROUP,
        kind="ClusterStagedUpdateRun",
        writer=Writer.BOTH,
        short=("csur",),
    ),
    ApiKind(
        group=PLACEMENT_GROUP,
        kind="StagedUpdateRun",
        namespaced=True,
        writer=Writer.BOTH,
        short=("sur",),
    ),
    ApiKind(group=PLACEMENT_GROUP, kind="ClusterStagedUpdateStrategy", short=("csus",)),
    ApiKind(group=PLACEMENT_GROUP, kind="StagedUpdateStrategy", namespaced=True, short=("sus",)),
    ApiKind(
        group=PLACEMENT_GROUP,
        kind="ClusterApprovalRequest",
        writer=Writer.BOTH,
        short=("careq",),
    ),
    ApiKind(
        group=PLACEMENT_GROUP,
        kind="ApprovalRequest",
        namespaced=True,
        writer=Writer.BOTH,
        short=("areq",),
    ),
)
"""Runs and what they need. Requests are made by passes; what people approve stands in their own
files of the same names, whose status is input."""

_WORK = ApiKind(
    group=PLACEMENT_GROUP,
    kind="Work",
    namespaced=True,
    read=False,
    reported_in="fleet-member-{}",
)
"""It is held against its schema and does nothing else."""

KUBEFLEET = Dialect(
    name="kubefleet",
    title="KubeFleet",
    kinds=(
        ApiKind(group=CLUSTER_GROUP, kind="MemberCluster", short=("cluster",)),
        ApiKind(
            group=PLACEMENT_GROUP, kind="ClusterResourceBinding", writer=Writer.OURS, short=("crb",)
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="ResourceBinding",
            namespaced=True,
            writer=Writer.OURS,
            short=("rb",),
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="ClusterResourcePlacement",
            writer=Writer.BOTH,
            short=("crp",),
            suspendable=True,
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="ResourcePlacement",
            namespaced=True,
            writer=Writer.BOTH,
            short=("rp",),
            suspendable=True,
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="ClusterResourceSnapshot",
            writer=Writer.OURS,
            short=("crs",),
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="ResourceSnapshot",
            namespaced=True,
            writer=Writer.OURS,
            short=("rs",),
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="ClusterSchedulingPolicySnapshot",
            writer=Writer.OURS,
            short=("csps",),
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="SchedulingPolicySnapshot",
            namespaced=True,
            writer=Writer.OURS,
            short=("sps",),
        ),
        ApiKind(group=PLACEMENT_GROUP, kind="ClusterResourceOverride"),
        ApiKind(group=PLACEMENT_GROUP, kind="ResourceOverride", namespaced=True),
        ApiKind(
            group=PLACEMENT_GROUP, kind="ClusterResourcePlacementDisruptionBudget", short=("crpdb",)
        ),
        ApiKind(
            group=PLACEMENT_GROUP,
            kind="ClusterResourcePlacementEviction",
            writer=Writer.BOTH,
            short=("crpe",),
        ),
        *_STAGED_UPDATES,
        _WORK,
    ),
    cluster=CLUSTER,
    placed=frozenset(
        {(PLACEMENT_GROUP, "ClusterResourcePlacement"), (PLACEMENT_GROUP, "ResourcePlacement")}
    ),
    parts={
        (PLACEMENT_GROUP, "ClusterResourcePlacement"): (PLACEMENT_GROUP, "ClusterResourceBinding"),
        (PLACEMENT_GROUP, "ResourcePlacement"): (PLACEMENT_GROUP, "ResourceBinding"),
    },
    places_by=PLACES_BY,
    concerning=STRATEGIES,
    noun="binding",
    domains=("kubernetes-fleet.io", "kubefleet.dev"),
    crds=_crds,
    content=frozenset(
        {(PLACEMENT_GROUP, "ClusterResourceEnvelope"), (PLACEMENT_GROUP, "ResourceEnvelope")}
    ),
    approvable=RUNS,
    admissions=_admissions,
    updates=_updates,
    view=_view,
    begin=_begin,
    statement=_statement,
    importer=_importer,
    renderers=_renderers,
    past_blobs=_past_blobs,
    clusters=_clusters,
    capacity=_capacity,
)
