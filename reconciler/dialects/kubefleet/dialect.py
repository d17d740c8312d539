"""KubeFleet as the contract has it: its kinds, and where its answers are."""

from reconciler.dialects.contract import Dialect
from reconciler.dialects.kubefleet.api.names import (
    CLUSTER,
    CLUSTER_GROUP,
    PLACEMENT_GROUP,
    PLACES_BY,
    RUNS,
    STRATEGIES,
)
from reconciler.model.kinds import ApiKind, Writer
from reconciler.model.late import late, late_value

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
        ApiKind(
            group=CLUSTER_GROUP,
            kind="MemberCluster",
            short=("cluster",),
            reported_in="{}",
            overlaid=True,
        ),
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
    crds=late_value("reconciler.dialects.kubefleet.crd_kinds", "CRD_KINDS"),
    content=frozenset(
        {(PLACEMENT_GROUP, "ClusterResourceEnvelope"), (PLACEMENT_GROUP, "ResourceEnvelope")}
    ),
    approvable=RUNS,
    admissions=late("reconciler.dialects.kubefleet.api.admission", "kubefleet_admissions"),
    updates=late_value("reconciler.dialects.kubefleet.api.admission", "RUN_UPDATES"),
    view=late_value("reconciler.dialects.kubefleet.view.answers", "VIEW"),
    begin=late("reconciler.dialects.kubefleet.plan", "KubeFleet"),
    statement=late_value("reconciler.dialects.kubefleet.reads", "STATEMENT"),
    importer=late_value("reconciler.dialects.kubefleet.hub_import", "IMPORTER"),
    renderers=late("reconciler.dialects.kubefleet.workgenerator.renderer", "KubeFleetRenderers"),
    strategy=(PLACEMENT_GROUP, "ClusterStagedUpdateStrategy"),
    past_blobs=late("reconciler.dialects.kubefleet.workgenerator.content", "past_blobs"),
    clusters=late_value("reconciler.dialects.kubefleet.projection", "CLUSTERS"),
    capacity=late_value("reconciler.dialects.kubefleet.plan", "CAPACITY"),
)
