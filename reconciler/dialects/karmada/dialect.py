"""Karmada as the contract has it: its kinds, and where its answers are."""

from collections.abc import Mapping

from reconciler.dialects.contract import Dialect
from reconciler.dialects.karmada.api.names import (
    CLUSTER,
    CLUSTER_GROUP,
    CONFIG_GROUP,
    MULTICLUSTER_GROUP,
    PLACES_BY,
    POLICY_GROUP,
    WORK_GROUP,
)
from reconciler.manifests.schemas.violations import Admission
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.model.late import late, late_value


def _admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    from reconciler.dialects.karmada.api.admission import KARMADA_ADMISSIONS, WORKLOAD_ADMISSIONS

    del known
    return {**KARMADA_ADMISSIONS, **WORKLOAD_ADMISSIONS}


KARMADA = Dialect(
    name="karmada",
    title="Karmada",
    kinds=(
        ApiKind(
            group=CLUSTER_GROUP,
            kind="Cluster",
            writer=Writer.BOTH,
            reported_in="{}",
            overlaid=True,
        ),
        ApiKind(group=POLICY_GROUP, kind="ClusterOverridePolicy", short=("cop",)),
        ApiKind(
            group=POLICY_GROUP, kind="ClusterPropagationPolicy", short=("cpp",), suspendable=True
        ),
        ApiKind(group=POLICY_GROUP, kind="ClusterTaintPolicy"),
        ApiKind(
            group=POLICY_GROUP,
            kind="FederatedResourceQuota",
            namespaced=True,
            writer=Writer.BOTH,
            short=("frq",),
        ),
        ApiKind(group=POLICY_GROUP, kind="OverridePolicy", namespaced=True, short=("op",)),
        ApiKind(
            group=POLICY_GROUP,
            kind="PropagationPolicy",
            namespaced=True,
            short=("pp",),
            suspendable=True,
        ),
        ApiKind(
            group=WORK_GROUP, kind="ClusterResourceBinding", writer=Writer.OURS, short=("crb",)
        ),
        ApiKind(
            group=WORK_GROUP,
            kind="ResourceBinding",
            namespaced=True,
            writer=Writer.OURS,
            short=("rb",),
        ),
        ApiKind(
            group=WORK_GROUP,
            kind="Work",
            namespaced=True,
            short=("wk",),
            read=False,
            reported_in="karmada-es-{}",
            carries=late("reconciler.dialects.karmada.api.work", "reports_in"),
        ),
    ),
    cluster=CLUSTER,
    placed=frozenset({(WORK_GROUP, "ClusterResourceBinding"), (WORK_GROUP, "ResourceBinding")}),
    noun="binding",
    roots=frozenset(
        {(POLICY_GROUP, "ClusterPropagationPolicy"), (POLICY_GROUP, "PropagationPolicy")}
    ),
    places_by=PLACES_BY,
    concerning=frozenset({(POLICY_GROUP, "ClusterTaintPolicy")}),
    domains=("karmada.io",),
    crds=late_value("reconciler.dialects.karmada.crd_kinds", "CRD_KINDS"),
    content=frozenset(
        {
            (CONFIG_GROUP, "ResourceInterpreterCustomization"),
            (MULTICLUSTER_GROUP, "ServiceExport"),
            (MULTICLUSTER_GROUP, "ServiceImport"),
        }
    ),
    admissions=_admissions,
    updates=late_value("reconciler.dialects.karmada.api.admission", "KARMADA_UPDATES"),
    view=late_value("reconciler.dialects.karmada.view.answers", "VIEW"),
    begin=late("reconciler.dialects.karmada.plan", "Karmada"),
    statement=late_value("reconciler.dialects.karmada.reads", "STATEMENT"),
    renderers=late("reconciler.dialects.karmada.binding.renderer", "KarmadaRenderers"),
    importer=late_value("reconciler.dialects.karmada.hub_import", "IMPORTER"),
    clusters=late_value("reconciler.dialects.karmada.projection", "CLUSTERS"),
    capacity=late_value("reconciler.dialects.karmada.plan", "CAPACITY"),
)
