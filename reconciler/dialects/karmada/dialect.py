"""Karmada as the contract has it: its kinds, and where its answers are."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reconciler.dialects.contract import CapacityRules, Dialect, DialectMemory
from reconciler.dialects.importer import Importer
from reconciler.dialects.karmada.api.names import (
    CLUSTER,
    CLUSTER_GROUP,
    CONFIG_GROUP,
    MULTICLUSTER_GROUP,
    PLACES_BY,
    POLICY_GROUP,
    WORK_GROUP,
)
from reconciler.dialects.renderer import Renderers
from reconciler.manifests.schemas.violations import Admission, UpdateAdmission
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.projection.project import Language

if TYPE_CHECKING:
    from reconciler.dialects.contract import Statement
    from reconciler.dialects.view import View
    from reconciler.model.kinds import CopyReport


def _admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    from reconciler.dialects.karmada.api.admission import KARMADA_ADMISSIONS, WORKLOAD_ADMISSIONS

    del known
    return {**KARMADA_ADMISSIONS, **WORKLOAD_ADMISSIONS}


def _updates() -> Mapping[Kind, UpdateAdmission]:
    from reconciler.dialects.karmada.api.admission import KARMADA_UPDATES

    return KARMADA_UPDATES


def _view() -> "View":
    from reconciler.dialects.karmada.view.answers import VIEW

    return VIEW


def _begin() -> DialectMemory:
    from reconciler.dialects.karmada.plan import Karmada

    return Karmada()


def _statement() -> "Statement":
    from reconciler.dialects.karmada.reads import STATEMENT

    return STATEMENT


def _carried(work: Body) -> Iterable[tuple[ObjectKey, "CopyReport"]]:
    from reconciler.dialects.karmada.api.work import reports_in

    return reports_in(work)


def _renderers() -> Renderers:
    from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers

    return KarmadaRenderers()


def _importer() -> Importer:
    from reconciler.dialects.karmada.hub_import import IMPORTER

    return IMPORTER


def _capacity() -> CapacityRules | None:
    from reconciler.dialects.karmada.plan import BindingCapacity

    return BindingCapacity()


def _crds() -> Mapping[str, tuple[str, ...]]:
    from reconciler.dialects.karmada.crd_kinds import CRD_KINDS

    return CRD_KINDS


def _clusters() -> Language:
    from reconciler.dialects.karmada.projection import CLUSTERS

    return CLUSTERS


KARMADA = Dialect(
    name="karmada",
    title="Karmada",
    kinds=(
        ApiKind(group=CLUSTER_GROUP, kind="Cluster", writer=Writer.BOTH),
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
            carries=_carried,
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
    crds=_crds,
    content=frozenset(
        {
            (CONFIG_GROUP, "ResourceInterpreterCustomization"),
            (MULTICLUSTER_GROUP, "ServiceExport"),
            (MULTICLUSTER_GROUP, "ServiceImport"),
        }
    ),
    admissions=_admissions,
    updates=_updates,
    view=_view,
    begin=_begin,
    statement=_statement,
    renderers=_renderers,
    importer=_importer,
    clusters=_clusters,
    capacity=_capacity,
)
