"""Amounts of resources by name: what a cluster has, what a replica asks for."""

from collections.abc import Mapping

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.quantity import Quantity, parse_quantity

Resources = Mapping[str, Quantity]


def decode_resources(body: Body) -> dict[str, Quantity]:
    """Return a mapping of resource names to quantities.

    Raises:
        UserError: A value is no quantity.
    """
    resources = {}
    for name, amount in body.items():
        if isinstance(amount, bool) or not isinstance(amount, str | int | float):
            raise UserError("must be a quantity", field=name)
        try:
            resources[name] = parse_quantity(str(amount))
        except ValueError as error:
            raise UserError(f"must be a quantity: {error}", field=name) from None
    return resources


def readable_resources(body: Body) -> Resources | None:
    """Return amounts, `None` where there are none, or none that can be read."""
    try:
        return decode_resources(body) or None
    except UserError:
        return None


def less(capacity: Resources, used: Resources) -> dict[str, Quantity]:
    """Return what is left, 0 at least."""
    return {name: Quantity(max(0, amount - used.get(name, 0))) for name, amount in capacity.items()}
