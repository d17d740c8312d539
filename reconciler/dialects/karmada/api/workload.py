"""What a workload asks for, by its kind: replicas, and what each of them requires.

Kubernetes' own kinds are built in. For a custom kind a row says what a script says upstream: where
the number of replicas stands, and where the template of their pods. Rows of a repository, in
`reconciler.yaml`, come before the ones here. Any other kind has no replicas. A FlinkDeployment has
one number of replicas for two sorts of pods, each as large as the larger.

A replica requires resources and nodes: required affinity, selector, tolerations. The binding
contains both, and its schema judges them when it is read again. So content that is not as
Kubernetes would have it counts as absent: it is the member cluster's to judge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import ceil
from typing import NamedTuple

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping_of, mappings_of, number_or_none, text
from reconciler.model.quantity import Quantity
from reconciler.model.records import dataclass, field
from reconciler.model.settings import Settings
from reconciler.schedule.pods import amounts_of, canonical_amount, pod_request

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


class ReplicaRequirements(NamedTuple):
    """Replicas of a workload and the `replicaRequirements` of each, `None` if there are none."""

    replicas: int
    requirements: Body | None


def pod_requirements(pod: Body) -> Body | None:
    """Return what one pod requires, `None` if nothing."""
    return requirements_of(pod, pod_request(pod))


def requirements_of(pod: Body, request: Mapping[str, Quantity]) -> Body | None:
    """Return what one replica requires, `None` if nothing.

    Args:
        pod: Says on which nodes.
        request: Of resources, by name.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `GenerateReplicaRequirements`.
    """
    requirements: dict[str, object] = {}
    claim = node_claim_of(pod)
    if claim:
        requirements["nodeClaim"] = claim
    wanted = {
        name: canonical_amount(name, request[name]) for name in sorted(request) if request[name] > 0
    }
    if wanted:
        requirements["resourceRequest"] = wanted
    return requirements or None


def count_of(value: object) -> int:
    """Return a number of replicas; what no API server would admit counts 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value <= MOST_REPLICAS else 0


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
MATCHES = ("matchExpressions", "matchFields")
INT64 = 2**63


def node_claim_of(pod: Body) -> dict[str, object]:
    """Return the node claim of a pod spec, an empty one if any node will do.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `NewNodeClaim`.
    """
    claim: dict[str, object] = {}
    affinity = mapping_of(mapping_of(pod.get("affinity")).get("nodeAffinity"))
    terms = mapping_of(affinity.get(REQUIRED)).get("nodeSelectorTerms")
    if isinstance(terms, list):
        claim["hardNodeAffinity"] = {
            "nodeSelectorTerms": [_term(item) for item in mappings_of(terms)]
        }
    selector = mapping_of(pod.get("nodeSelector"))
    wanted = {label: value for label, value in selector.items() if isinstance(value, str)}
    if wanted:
        claim["nodeSelector"] = wanted
    tolerations = [dict(_toleration(item)) for item in mappings_of(pod.get("tolerations"))]
    if tolerations:
        claim["tolerations"] = tolerations
    return claim


def _term(body: Body) -> Body:
    """Return one term of a node affinity."""
    return {
        name: [
            requirement
            for item in mappings_of(body[name])
            if (requirement := _requirement(item)) is not None
        ]
        for name in body
        if name in MATCHES and isinstance(body[name], list)
    }


def _requirement(body: Body) -> Body | None:
    """Return one expression, `None` if it cannot be judged."""
    if not isinstance(body.get("key"), str) or not isinstance(body.get("operator"), str):
        return None
    fields: dict[str, object] = {}
    for name, value in body.items():
        if name in ("key", "operator"):
            fields[name] = value
        elif name == "values" and isinstance(value, list):
            fields[name] = [item for item in value if isinstance(item, str)]
    return fields


def _toleration(body: Body) -> Iterator[tuple[str, object]]:
    """Yield the fields of a toleration."""
    for name, value in body.items():
        if name == "tolerationSeconds":
            whole = isinstance(value, int) and not isinstance(value, bool)
            if whole and isinstance(value, int) and -INT64 <= value < INT64:
                yield name, value
        elif name in ("key", "operator", "value", "effect") and isinstance(value, str):
            yield name, value


API_VERSION = "flink.apache.org/v1beta1"
KIND = "FlinkDeployment"
SLOTS = "taskmanager.numberOfTaskSlots"
MANAGERS = ("jobManager", "taskManager")


def flink_demand(body: Body) -> ReplicaRequirements:
    """Return what a FlinkDeployment asks for.

    Where the number of task managers is not written, it follows from parallelism and slots.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/thirdparty/resourcecustomizations
    flink.apache.org/v1beta1/FlinkDeployment `GetReplicas`.
    """
    jobs = at(body, "spec", "jobManager").get("replicas")
    replicas = (1 if jobs is None else count_of(jobs)) + _task_managers(body)
    pod = at(body, "spec", "podTemplate", "spec")
    placed = {name: pod[name] for name in ("nodeSelector", "tolerations") if name in pod}
    asked = (at(body, "spec", manager, "resource") for manager in MANAGERS)
    return ReplicaRequirements(replicas, requirements_of(placed, _largest(asked)))


def _task_managers(body: Body) -> int:
    """Return how many task managers there are."""
    written = at(body, "spec", "taskManager").get("replicas")
    if written is not None:
        return count_of(written)
    parallelism = _number(at(body, "spec", "job").get("parallelism"))
    slots = _number(at(body, "spec", "flinkConfiguration").get(SLOTS))
    return ceil(parallelism / slots) if parallelism and slots else 1


def _number(value: object) -> int:
    """Return a number, that of a text, too: Flink's own configuration has texts only."""
    return int(value) if isinstance(value, str) and value.isdecimal() else count_of(value)


def _largest(resources: Iterable[Body]) -> dict[str, Quantity]:
    """Return of each resource the most that one pod asks for."""
    most: dict[str, Quantity] = {}
    for asked in resources:
        for name, amount in amounts_of(asked).items():
            if name in ("cpu", "memory"):
                most[name] = max(most.get(name, amount), amount)
    return most


def demand_of(
    api_version: str, kind: str, body: Body, custom: CustomKinds = BUILT_IN
) -> ReplicaRequirements | None:
    """Return what a workload asks for, `None` if its kind has no replicas.

    Raises:
        Uncountable: The row of its kind finds something else than a number of pods.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/replica.go
    `getAllDefaultReplicaInterpreter`; customizations are asked before it, as in
    pkg/resourceinterpreter/interpreter.go `GetReplicas`.
    """
    row = custom.row(api_version, kind)
    if row is not None:
        return _by_row(row, body)
    interpreter = _NATIVE.get(VersionedKind(api_version, kind))
    return interpreter(body) if interpreter is not None else None


def is_interpreted(api_version: str, kind: str, custom: CustomKinds = BUILT_IN) -> bool:
    """Return whether it is known where a kind keeps its replicas."""
    return custom.row(api_version, kind) is not None or VersionedKind(api_version, kind) in _NATIVE


def _by_row(row: CustomKind, body: Body) -> ReplicaRequirements:
    """Return what a workload of a custom kind asks for."""
    template = {} if row.template is None else at(body, *row.template)
    return ReplicaRequirements(replicas_of(row, body), pod_requirements(at(template, "spec")))


def _scaled(body: Body) -> ReplicaRequirements:
    """Deployment, StatefulSet and ReplicaSet: `spec.replicas`, which counts 0 if unset."""
    return ReplicaRequirements(count_of(at(body, "spec").get("replicas")), _template(body))


def _job(body: Body) -> ReplicaRequirements:
    """Job: the parallelism, but no more than the completions."""
    spec = at(body, "spec")
    replicas = count_of(spec.get("parallelism"))
    if spec.get("completions") is not None:
        replicas = min(replicas, count_of(spec.get("completions")))
    return ReplicaRequirements(replicas, _template(body))


def _pod(body: Body) -> ReplicaRequirements:
    """Pod: one."""
    return ReplicaRequirements(1, pod_requirements(at(body, "spec")))


def _template(body: Body) -> Body | None:
    """Return the requirements of a pod template."""
    return pod_requirements(at(body, "spec", "template", "spec"))


_NATIVE: Mapping[VersionedKind, Callable[[Body], ReplicaRequirements]] = {
    VersionedKind("apps/v1", "Deployment"): _scaled,
    VersionedKind("apps/v1", "ReplicaSet"): _scaled,
    VersionedKind("apps/v1", "StatefulSet"): _scaled,
    VersionedKind("batch/v1", "Job"): _job,
    VersionedKind("v1", "Pod"): _pod,
    VersionedKind(API_VERSION, KIND): flink_demand,
}
