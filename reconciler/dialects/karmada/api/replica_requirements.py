"""What a workload needs: its replicas, and the resources and nodes that one replica asks for.

Known are the kinds that Karmada's native interpreter knows; any other has no replicas. Content that
is not as Kubernetes would have it counts as absent: it is the member cluster's to judge.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from reconciler.dialects.karmada.api.node_claim import node_claim_of
from reconciler.model.quantity import (
    Quantity,
    canonical_binary,
    canonical_cpu,
    canonical_decimal,
    parse_quantity,
)
from reconciler.model.world import Body

NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
BINARY = frozenset({"memory", "ephemeral-storage"})
MOST_REPLICAS = 2**31 - 1  # Kubernetes' int32
KEPT_PREFIXES = ("hugepages-", "attachable-volumes-")


@dataclass(frozen=True, slots=True)
class ReplicaRequirements:
    """Replicas of a workload and the `replicaRequirements` of each, `None` if there are none."""

    replicas: int
    requirements: Body | None


def demand_of(api_version: str, kind: str, body: Body) -> ReplicaRequirements | None:
    """Return what a workload asks for, `None` if its kind has no replicas.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/replica.go
    `getAllDefaultReplicaInterpreter`.
    """
    interpreter = _INTERPRETERS.get((api_version, kind))
    return interpreter(body) if interpreter is not None else None


def _scaled(body: Body) -> ReplicaRequirements:
    """Deployment, StatefulSet and ReplicaSet: `spec.replicas`, which counts 0 if unset."""
    spec = _mapping(body.get("spec"))
    return ReplicaRequirements(_count(spec.get("replicas")), _requirements(_pod_spec(spec)))


def _job(body: Body) -> ReplicaRequirements:
    """Job: the parallelism, but no more than the completions."""
    spec = _mapping(body.get("spec"))
    replicas = _count(spec.get("parallelism"))
    if spec.get("completions") is not None:
        replicas = min(replicas, _count(spec.get("completions")))
    return ReplicaRequirements(replicas, _requirements(_pod_spec(spec)))


def _pod(body: Body) -> ReplicaRequirements:
    """Pod: one."""
    return ReplicaRequirements(1, _requirements(_mapping(body.get("spec"))))


_INTERPRETERS: Mapping[tuple[str, str], Callable[[Body], ReplicaRequirements]] = {
    ("apps/v1", "Deployment"): _scaled,
    ("apps/v1", "ReplicaSet"): _scaled,
    ("apps/v1", "StatefulSet"): _scaled,
    ("batch/v1", "Job"): _job,
    ("v1", "Pod"): _pod,
}


def _pod_spec(spec: Body) -> Body:
    """Return the pod spec of a pod template."""
    return _mapping(_mapping(spec.get("template")).get("spec"))


def _requirements(pod: Body) -> Body | None:
    """Return what one replica requires, `None` if nothing.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `GenerateReplicaRequirements`.
    """
    requirements: dict[str, object] = {}
    claim = node_claim_of(pod)
    if claim:
        requirements["nodeClaim"] = claim
    request = _request(pod)
    if request:
        requirements["resourceRequest"] = request
    return requirements or None


def _request(pod: Body) -> dict[str, str]:
    """Return the resources of one replica, by name, in canonical text.

    Containers add up, each init container counts alone, the overhead comes on top. A request that
    is missing is taken from the limits.

    Source: karmada@f8fdd02 pkg/util/lifted/resource.go `NewResource`, `SetMaxResource`.
    """
    total: dict[str, Quantity] = {}
    for container in _items(pod.get("containers")):
        for name, amount in _container(container).items():
            total[name] = Quantity(total.get(name, 0) + amount)
    for container in _items(pod.get("initContainers")):
        for name, amount in _container(container).items():
            total[name] = max(total.get(name, amount), amount)
    for name, amount in _amounts(_mapping(pod.get("overhead"))).items():
        total[name] = Quantity(total.get(name, 0) + amount)
    return {name: _canonical(name, total[name]) for name in sorted(total) if total[name] > 0}


def _container(body: Body) -> dict[str, Quantity]:
    """Return the requests of one container, filled from its limits."""
    resources = _mapping(body.get("resources"))
    limits = _amounts(_mapping(resources.get("limits")))
    return limits | _amounts(_mapping(resources.get("requests")))


def _amounts(body: Body) -> dict[str, Quantity]:
    """Return the quantities of the resources that count.

    Names without a domain other than the native ones are dropped.
    """
    amounts = {}
    for name, value in body.items():
        extended = "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
        if name not in NATIVE and not extended and not name.startswith(KEPT_PREFIXES):
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                amounts[name] = parse_quantity(str(value))
            except ValueError:
                continue
    return amounts


def _canonical(name: str, amount: Quantity) -> str:
    """Return the text that upstream prints: binary for memory-like resources, else decimal."""
    if name == "cpu":
        return canonical_cpu(amount)
    if name in BINARY or name.startswith("hugepages-"):
        return canonical_binary(amount)
    return canonical_decimal(amount)


def _count(value: object) -> int:
    """Return a number of replicas; what no API server would admit counts 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value <= MOST_REPLICAS else 0


def _mapping(value: object) -> Body:
    """Return a mapping, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> Iterable[Body]:
    """Return the mappings of a list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
