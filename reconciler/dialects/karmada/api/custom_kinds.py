"""Custom kinds that have replicas: where their number stands, and where the template of their pods.

A row says for one kind what a script says upstream. Those of a repository, in `reconciler.yaml`,
come before the ones here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, number_or_none, text
from reconciler.model.settings import Settings

MOST_REPLICAS = 2**31 - 1  # Kubernetes' int32

Path = tuple[str, ...]
"""Names of fields, from the outside in."""


class VersionedKind(NamedTuple):
    """What a row is for, of one version."""

    api_version: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomKind:
    """Where a kind keeps its replicas.

    Attributes:
        replicas: Path of their number.
        default: Their number where there is none.
        template: Path of the object whose `spec` is that of a pod, `None` if there is none.
    """

    replicas: Path = ("spec", "replicas")
    default: int = 0
    template: Path | None = ("spec", "template")


class Uncountable(UserError):
    """A workload has something else than a number of pods where its kind has the replicas."""


_SCALED = CustomKind()
_ONE_BY_DEFAULT = CustomKind(default=1)
_PARALLEL = CustomKind(replicas=("spec", "parallelism"), default=1)


def _workers(field_name: str) -> CustomKind:
    """Return the row of a training job: its workers count, its one master comes with them."""
    worker = ("spec", field_name, "Worker")
    return CustomKind(replicas=(*worker, "replicas"), default=1, template=(*worker, "template"))


UPSTREAM: Mapping[VersionedKind, CustomKind] = {
    VersionedKind("apps.kruise.io/v1alpha1", "BroadcastJob"): _PARALLEL,
    VersionedKind("apps.kruise.io/v1alpha1", "CloneSet"): _SCALED,
    VersionedKind("apps.kruise.io/v1alpha1", "UnitedDeployment"): _SCALED,
    VersionedKind("apps.kruise.io/v1beta1", "StatefulSet"): _SCALED,
    VersionedKind("argoproj.io/v1alpha1", "Workflow"): CustomKind(
        replicas=("spec", "parallelism"), default=1, template=()
    ),
}
"""Kinds that upstream has scripts for.

Source: karmada@f8fdd02 pkg/resourceinterpreter/default/thirdparty/resourcecustomizations.
"""

# Unlike upstream: which has no script for these, or one that knows components only, so that they
# would go whole to each cluster that a policy divides them among.
OURS: Mapping[VersionedKind, CustomKind] = {
    VersionedKind("actions.summerwind.dev/v1alpha1", "RunnerDeployment"): _ONE_BY_DEFAULT,
    VersionedKind("agones.dev/v1", "Fleet"): CustomKind(
        template=("spec", "template", "spec", "template")
    ),
    VersionedKind("apps.kruise.io/v1alpha1", "StatefulSet"): _SCALED,
    VersionedKind("apps.openshift.io/v1", "DeploymentConfig"): _ONE_BY_DEFAULT,
    VersionedKind("argoproj.io/v1alpha1", "Rollout"): _ONE_BY_DEFAULT,
    VersionedKind("game.kruise.io/v1alpha1", "GameServerSet"): CustomKind(
        template=("spec", "gameServerTemplate")
    ),
    VersionedKind("kubeflow.org/v1", "PaddleJob"): _workers("paddleReplicaSpecs"),
    VersionedKind("kubeflow.org/v1", "PyTorchJob"): _workers("pytorchReplicaSpecs"),
    VersionedKind("kubeflow.org/v1", "TFJob"): _workers("tfReplicaSpecs"),
    VersionedKind("kubeflow.org/v1", "XGBoostJob"): _workers("xgbReplicaSpecs"),
    VersionedKind("kubeflow.org/v2beta1", "MPIJob"): _workers("mpiReplicaSpecs"),
    VersionedKind("kubernetes.dask.org/v1", "DaskCluster"): CustomKind(
        replicas=("spec", "worker", "replicas"), template=("spec", "worker")
    ),
    VersionedKind("kubernetes.dask.org/v1", "DaskWorkerGroup"): CustomKind(
        replicas=("spec", "worker", "replicas"), template=("spec", "worker")
    ),
    VersionedKind("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): CustomKind(
        default=1, template=("spec", "leaderWorkerTemplate", "workerTemplate")
    ),
    VersionedKind("sparkoperator.k8s.io/v1beta2", "SparkApplication"): CustomKind(
        replicas=("spec", "executor", "instances"),
        default=1,
        template=("spec", "executor", "template"),
    ),
    VersionedKind("v1", "ReplicationController"): _ONE_BY_DEFAULT,
}
"""Kinds that many fleets have."""


@dataclass(frozen=True, slots=True)
class CustomKinds:
    """All rows, by what they are for."""

    rows: Mapping[VersionedKind, CustomKind] = field(default_factory=lambda: {**UPSTREAM, **OURS})

    def row(self, api_version: str, kind: str) -> CustomKind | None:
        """Return the row of a kind, `None` if it has none."""
        return self.rows.get(VersionedKind(api_version, kind))

    def is_configured(self, api_version: str, kind: str) -> bool:
        """Return whether the repository has a row of its own for a kind."""
        row = self.row(api_version, kind)
        return row is not None and row is not BUILT_IN.row(api_version, kind)


BUILT_IN = CustomKinds()
UPSTREAM_ONLY = CustomKinds(UPSTREAM)


def decode_custom_kinds(settings: Settings) -> CustomKinds:
    """Return the built-in rows and those of the configuration, which come first.

    With `builtInInterpreters: upstream` the built-in rows are those of upstream's scripts alone.
    """
    options = settings.options.get("karmada", {})
    upstream = text(options, "builtInInterpreters") == "upstream"
    built_in = UPSTREAM_ONLY if upstream else BUILT_IN
    written = bodies(options, "interpreters")
    if not written:
        return built_in
    own = {
        VersionedKind(text(row, "apiVersion"), text(row, "kind")): _decode(row) for row in written
    }
    return CustomKinds({**built_in.rows, **own})


def _decode(row: Body) -> CustomKind:
    """Decode one row of the configuration."""
    template = text(row, "podTemplatePath")
    return CustomKind(
        replicas=_path(text(row, "specReplicasPath")),
        default=number_or_none(row, "defaultReplicas") or 0,
        template=_path(template) if template else None,
    )


def _path(written: str) -> Path:
    """Return a path as CRDs write that of their scale.

    >>> _path(".spec.worker.replicas")
    ('spec', 'worker', 'replicas')
    """
    return tuple(written.removeprefix(".").split("."))


def spelled(path: Path) -> str:
    """Return a path as CRDs write it.

    >>> spelled(("spec", "replicas"))
    '.spec.replicas'
    """
    return "".join(f".{name}" for name in path)


def replicas_of(row: CustomKind, body: Body) -> int:
    """Return how many pods a workload asks for.

    Raises:
        Uncountable: There is something else than a number of pods.
    """
    value = at(body, *row.replicas[:-1]).get(row.replicas[-1])
    if value is None:
        return row.default
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_REPLICAS:
        return value
    raise Uncountable(
        f"`{spelled(row.replicas)}` must be a whole number of pods, from 0 to {MOST_REPLICAS}",
        field="".join(f"/{name}" for name in row.replicas),
    )
