"""Properties of clusters: their values as exact quantities, and comparisons with them."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne

from reconciler.dialects.kubefleet.clusters import Member, Members
from reconciler.dialects.kubefleet.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.names import RESOURCE_PROPERTY_PREFIX
from reconciler.dialects.kubefleet.policy import PropertyRequirement
from reconciler.model.quantity import Quantity, approximate, parse_quantity
from reconciler.schedule.framework import NOBODY, Mask, mask_of, positions_of

TEXTS = 4096  # ours: distinct amounts kept
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "Gt": gt,
    "Ge": ge,
    "Eq": eq,
    "Ne": ne,
    "Le": le,
    "Lt": lt,
}


def value_of(member: Member, name: str) -> str | None:
    """Return the text of a cluster's property, `None` if the cluster does not report it.

    Raises:
        UnexpectedBehavior: The name begins with the resource prefix, yet does not go on as
            `total|allocatable|available-<resource>` with exactly one dash.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/types.go
    `retrievePropertyValueFrom`.
    """
    if not name.startswith(RESOURCE_PROPERTY_PREFIX):
        return member.properties.get(name)
    parts = name.removeprefix(RESOURCE_PROPERTY_PREFIX).split("-")
    if len(parts) != 2 or not all(parts):  # a capacity and a resource
        raise UnexpectedBehavior(f"invalid resource property name: {name}")
    capacity, resource = parts
    if capacity not in ("total", "allocatable", "available"):
        raise UnexpectedBehavior(f"invalid capacity type {capacity} in property name {name}")
    return member.usage.get(capacity, {}).get(resource)


def quantity_of(member: Member, name: str) -> Quantity | None:
    """Return the amount of a cluster's property, `None` if the cluster does not report it.

    Raises:
        UnexpectedBehavior: The name is malformed, or the value is not a quantity.
    """
    text = value_of(member, name)
    if text is None:
        return None
    try:
        return _parsed(text)
    except ValueError as error:
        raise UnexpectedBehavior(
            f"value {text} of property {name} from cluster {member.cluster.name} must be a "
            f"quantity: {error}"
        ) from None


@lru_cache(maxsize=TEXTS)
def _parsed(text: str) -> Quantity:
    """Return an amount; clusters share few distinct texts."""
    return parse_quantity(text)


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
    amounts = {
        position: amount
        for position in positions_of(candidates)
        if (amount := quantity_of(members.views[position], requirement.name)) is not None
    }
    if not amounts:
        return NOBODY
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
