"""Properties of clusters: their values as exact quantities, and comparisons with them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne

from reconciler.dialects.kubefleet.api.clusters import Member, Members
from reconciler.dialects.kubefleet.api.names import RESOURCE_PROPERTY_PREFIX
from reconciler.dialects.kubefleet.api.policy import PropertyRequirement
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.model.quantity import Quantity, approximate, parse_quantity
from reconciler.schedule.framework import NO_CLUSTERS, Mask, mask_of, positions_of

TEXTS = 4096  # ours: distinct amounts kept
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "Gt": gt,
    "Ge": ge,
    "Eq": eq,
    "Ne": ne,
    "Le": le,
    "Lt": lt,
}


def values_of(views: Iterable[Member], name: str) -> list[str | None]:
    """Return the text of a property of each cluster, `None` where it is not reported.

    Raises:
        UnexpectedBehavior: The name begins with the resource prefix, yet does not go on as
            `total|allocatable|available-<resource>` with exactly one dash, and there is a cluster.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/types.go
    `retrievePropertyValueFrom`.
    """
    if not name.startswith(RESOURCE_PROPERTY_PREFIX):
        return [view.properties.get(name) for view in views]
    listed = list(views)
    parts = name.removeprefix(RESOURCE_PROPERTY_PREFIX).split("-")
    if listed and (len(parts) != 2 or not all(parts)):  # a capacity and a resource
        raise UnexpectedBehavior(f"invalid resource property name: {name}")
    capacity, resource = (*parts, "")[:2]
    if listed and capacity not in ("total", "allocatable", "available"):
        raise UnexpectedBehavior(f"invalid capacity type {capacity} in property name {name}")
    return [view.usage.get(capacity, {}).get(resource) for view in listed]


def quantities_of(views: Sequence[Member], name: str) -> list[Quantity | None]:
    """Return the amount of a property of each cluster, `None` where it is not reported.

    Raises:
        UnexpectedBehavior: The name is malformed, or a value is not a quantity.
    """
    texts = values_of(views, name)
    amounts: dict[str | None, Quantity | None] = {None: None}
    for view, text in zip(views, texts, strict=True):
        if text is not None and text not in amounts:
            try:
                amounts[text] = parse_quantity(text)
            except ValueError as error:
                raise UnexpectedBehavior(
                    f"value {text} of property {name} from cluster {view.cluster.name} must be a "
                    f"quantity: {error}"
                ) from None
    return [amounts[text] for text in texts]


@lru_cache(maxsize=TEXTS)
def rough_amount(text: str) -> float:
    """Return an amount as a float64, as scores are made of."""
    return approximate(text)


def satisfying(requirement: PropertyRequirement, members: Members, candidates: Mask) -> Mask:
    """Return the candidates of which an expression holds.

    A cluster without the property satisfies no operator, Ne included. What is wrong with the
    expression itself is noticed only where a cluster has the property.

    Raises:
        UnexpectedBehavior: A value cannot be read or compared.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/types.go `Matches`.
    """
    positions = positions_of(candidates)
    found = quantities_of([members.views[position] for position in positions], requirement.name)
    listed = zip(positions, found, strict=True)
    amounts = {position: amount for position, amount in listed if amount is not None}
    if not amounts:
        return NO_CLUSTERS
    wanted = _wanted(requirement)
    holds = _COMPARE.get(requirement.operator)
    if holds is None:
        raise UnexpectedBehavior(f"invalid operator: {requirement.operator}")
    return mask_of(position for position, amount in amounts.items() if holds(amount, wanted))


def _wanted(requirement: PropertyRequirement) -> Quantity:
    if len(requirement.values) != 1:
        raise UnexpectedBehavior("more than one value in the property selector expression")
    try:
        return parse_quantity(requirement.values[0])
    except ValueError as error:
        raise UnexpectedBehavior(f"property selector {requirement.name}: {error}") from None
