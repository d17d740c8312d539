"""Karmada as the contract has it: its kinds, and where its answers are."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reconciler.dialects.contract import Dialect, DialectMemory
from reconciler.dialects.importer import Importer
from reconciler.dialects.renderer import Renderers
from reconciler.manifests.schemas.violations import Admission, UpdateAdmission
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import ApiKind, Kind, KnownKinds, Writer

if TYPE_CHECKING:
    from reconciler.dialects.view import View
    from reconciler.model.copy_report import CopyReport

CLUSTERS = "cluster.karmada.io"
POLICIES = "policy.karmada.io"
WORK = "work.karmada.io"


def _admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    from reconciler.dialects.karmada.api.admission import KARMADA_ADMISSIONS
    from reconciler.dialects.karmada.api.workload_admission import WORKLOAD_ADMISSIONS

    del known
    return {**KARMADA_ADMISSIONS, **WORKLOAD_ADMISSIONS}


def _updates() -> Mapping[Kind, UpdateAdmission]:
    from reconciler.dialects.karmada.api.policy_updates import KARMADA_UPDATES

    return KARMADA_UPDATES


def _view() -> "View":
    from reconciler.dialects.karmada.view.answers import VIEW

    return VIEW


def _begin() -> DialectMemory:
    from reconciler.dialects.karmada.plan import Karmada

    return Karmada()


def _carried(work: Body) -> Iterable[tuple[ObjectKey, "CopyReport"]]:
    from reconciler.dialects.karmada.api.work_reports import reports_in

    return reports_in(work)


def _renderers() -> Renderers:
    from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers

    return KarmadaRenderers()


def _importer() -> Importer:
    from reconciler.dialects.karmada.imports.importer import IMPORTER

    return IMPORTER


def _crds() -> Mapping[str, tuple[str, ...]]:
    from reconciler.dialects.karmada.crd_kinds import CRD_KINDS

    return CRD_KINDS


KARMADA = Dialect(
    name="karmada",
    kinds=(
        ApiKind(group=CLUSTERS, kind="Cluster", writer=Writer.BOTH),
        ApiKind(group=POLICIES, kind="ClusterOverridePolicy", short=("cop",)),
        ApiKind(group=POLICIES, kind="ClusterPropagationPolicy", short=("cpp",), suspendable=True),
        ApiKind(group=POLICIES, kind="ClusterTaintPolicy", read=False),
        ApiKind(group=POLICIES, kind="FederatedResourceQuota", namespaced=True, read=False),
        ApiKind(group=POLICIES, kind="OverridePolicy", namespaced=True, short=("op",)),
        ApiKind(
            group=POLICIES,
            kind="PropagationPolicy",
            namespaced=True,
            short=("pp",),
            suspendable=True,
        ),
        ApiKind(group=WORK, kind="ClusterResourceBinding", writer=Writer.OURS, short=("crb",)),
        ApiKind(
            group=WORK,
            kind="ResourceBinding",
            namespaced=True,
            writer=Writer.OURS,
            short=("rb",),
        ),
        ApiKind(
            group=WORK,
            kind="Work",
            namespaced=True,
            short=("wk",),
            read=False,
            reported_in="karmada-es-{}",
            carries=_carried,
        ),
    ),
    cluster=(CLUSTERS, "Cluster"),
    placed=frozenset({(WORK, "ClusterResourceBinding"), (WORK, "ResourceBinding")}),
    noun="binding",
    roots=frozenset({(POLICIES, "ClusterPropagationPolicy"), (POLICIES, "PropagationPolicy")}),
    domains=("karmada.io",),
    crds=_crds,
    content=frozenset(
        {
            ("config.karmada.io", "ResourceInterpreterCustomization"),
            ("multicluster.x-k8s.io", "ServiceExport"),
            ("multicluster.x-k8s.io", "ServiceImport"),
        }
    ),
    admissions=_admissions,
    updates=_updates,
    view=_view,
    begin=_begin,
    renderers=_renderers,
    importer=_importer,
)
