"""A managed cluster as CEL sees it: the object after a round trip through its Go type."""

from reconciler.model.body import Body
from reconciler.model.quantity import canonical_binary, canonical_decimal, parse_quantity

_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)


def cluster_object(body: Body) -> dict[str, object]:
    """Return the object of a ManagedCluster.

    Unknown and empty fields are gone, except those that Go always writes; quantities are canonical.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/sdk-go/pkg/cel/common
    `ConvertObjectToUnstructured`.
    """
    metadata, spec, status = (_mapping(body.get(name)) for name in ("metadata", "spec", "status"))
    # neither `apiVersion` nor `kind`: what a lister of Go returns has none
    found: dict[str, object] = {"metadata": _nonempty(metadata, _METADATA)}
    taints = [_taint(item) for item in _items(spec, "taints")]
    found["spec"] = {
        "hubAcceptsClient": spec.get("hubAcceptsClient") is True,
        **_nonempty(spec, ("leaseDurationSeconds", "managedClusterClientConfigs")),
        **({"taints": taints} if taints else {}),
    }
    found["status"] = {
        "conditions": status.get("conditions"),
        **{
            name: {resource: _canonical(amount) for resource, amount in _mapping(amounts).items()}
            for name in ("capacity", "allocatable")
            if (amounts := status.get(name))
        },
        "version": _nonempty(_mapping(status.get("version")), ("kubernetes",)),
        **_nonempty(status, ("clusterClaims", "managedNamespaces")),
    }
    return found


def _mapping(value: object) -> Body:
    """Return a mapping, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _items(body: Body, name: str) -> list[Body]:
    """Return the mappings of a list."""
    value = body.get(name)
    return [_mapping(item) for item in value] if isinstance(value, list | tuple) else []


def _nonempty(body: Body, names: tuple[str, ...]) -> dict[str, object]:
    """Return the fields that are there and not empty."""
    return {name: body[name] for name in names if body.get(name)}


def _taint(body: Body) -> dict[str, object]:
    """Return a taint; Go always writes all but the value."""
    return {
        "key": body.get("key", ""),
        **_nonempty(body, ("value",)),
        "effect": body.get("effect", ""),
        "timeAdded": body.get("timeAdded"),
    }


def _canonical(amount: object) -> str:
    """Return the canonical text of a quantity; what is none, and counts nowhere, as it stands."""
    text = str(amount)
    try:
        quantity = parse_quantity(text)
    except ValueError:
        return text
    return canonical_binary(quantity) if text.endswith("i") else canonical_decimal(quantity)
