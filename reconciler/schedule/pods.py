"""What one pod asks for, by resource, as Kubernetes adds it up; and how amounts are written.

Content that is not as Kubernetes would have it counts as absent: it is the member cluster's to
judge.
"""

from functools import lru_cache

from reconciler.model.body import Body
from reconciler.model.fields import mapping_of, mappings_of
from reconciler.model.quantity import (
    Quantity,
    canonical_binary,
    canonical_cpu,
    canonical_decimal,
    parse_quantity,
)

NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
BINARY = frozenset({"memory", "ephemeral-storage"})
KEPT_PREFIXES = ("hugepages-", "attachable-volumes-")


def pod_request(pod: Body) -> dict[str, Quantity]:
    """Return the resources of one replica, by name.

    Containers add up, each init container counts alone, the overhead comes on top. A request that
    is missing is taken from the limits.

    Source: karmada@f8fdd02 pkg/util/lifted/resource.go `NewResource`, `SetMaxResource`.
    """
    total: dict[str, Quantity] = {}
    for container in mappings_of(pod.get("containers")):
        for name, amount in _container(container).items():
            total[name] = Quantity(total.get(name, 0) + amount)
    for container in mappings_of(pod.get("initContainers")):
        for name, amount in _container(container).items():
            total[name] = max(total.get(name, amount), amount)
    for name, amount in amounts_of(mapping_of(pod.get("overhead"))).items():
        total[name] = Quantity(total.get(name, 0) + amount)
    return total


def _container(body: Body) -> dict[str, Quantity]:
    """Return the requests of one container, filled from its limits."""
    resources = mapping_of(body.get("resources"))
    limits = amounts_of(mapping_of(resources.get("limits")))
    return limits | amounts_of(mapping_of(resources.get("requests")))


def amounts_of(body: Body) -> dict[str, Quantity]:
    """Return the quantities of the resources that count.

    Names without a domain other than the native ones are dropped.
    """
    amounts = {}
    for name, value in body.items():
        if name not in NATIVE and not is_extended(name) and not name.startswith(KEPT_PREFIXES):
            continue
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                amounts[name] = parse_quantity(str(value))
            except ValueError:
                continue
    return amounts


def is_extended(name: str) -> bool:
    """Return whether a resource is one that Kubernetes does not bring by itself.

    >>> is_extended("example.com/gpu"), is_extended("requests.example.com/gpu")
    (True, False)
    """
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


@lru_cache(maxsize=1 << 12)  # workloads ask for few different amounts
def canonical_amount(name: str, amount: Quantity) -> str:
    """Return the text that upstream prints: binary for memory-like resources, else decimal."""
    if name == "cpu":
        return canonical_cpu(amount)
    if name in BINARY or name.startswith("hugepages-"):
        return canonical_binary(amount)
    return canonical_decimal(amount)
