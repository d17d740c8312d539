"""What is left in a cluster, in the units that capacities are counted in."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.quantity import NANOS, Quantity, ceil_by, ceil_units
from reconciler.model.resources import Resources, decode_resources

_ZERO = Quantity(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSummary:
    """What a cluster has left. `models` maps grade to the number of such nodes.

    `rooms` maps a resource to what is neither allocated nor being allocated, `pods` always; of one
    that is not there, nothing is left. Of a cluster that another API declares, `projected`, what is
    not there has no limit: that API may have no word for it.
    """

    rooms: Mapping[str, int]
    models: tuple[tuple[int, int], ...] = ()
    projected: bool = False


def decode_summary(body: Body, *, projected: bool = False) -> ResourceSummary:
    """Return the summary of resources in the status of a cluster.

    Args:
        body: The summary.
        projected: Whether the cluster is declared by another API.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/estimator/client/general.go `maxAvailableReplicas`.
    """
    allocatable, allocated, allocating = (
        decode_resources(fields.mapping(body, name))
        for name in ("allocatable", "allocated", "allocating")
    )
    named = {**({} if projected else {"pods": _ZERO}), **allocatable, **allocated, **allocating}
    return ResourceSummary(
        rooms={name: _room(name, allocatable, allocated, allocating) for name in named},
        models=tuple(
            (fields.number(item, "grade"), fields.number(item, "count"))
            for item in fields.bodies(body, "allocatableModelings")
        ),
        projected=projected,
    )


def used_in(body: Body) -> dict[str, Quantity]:
    """Return what a summary has as used of each resource that it says the whole amount of.

    Raises:
        UserError: A field has the wrong type.
    """
    allocatable, allocated, allocating = (
        decode_resources(fields.mapping(body, name))
        for name in ("allocatable", "allocated", "allocating")
    )
    return {
        name: Quantity(allocated.get(name, _ZERO) + allocating.get(name, _ZERO))
        for name in allocatable
    }


def decode_model(body: Body) -> tuple[int, Resources]:
    """Return the grade of a resource model, and the least that each resource has in it."""
    least = {
        fields.text(item, "name"): item.get("min", "0") for item in fields.bodies(body, "ranges")
    }
    return fields.number(body, "grade"), decode_resources(least)


def _room(name: str, allocatable: Resources, allocated: Resources, allocating: Resources) -> int:
    """Return what is left of a resource; of pods each amount is rounded by itself."""
    has = allocatable.get(name, _ZERO)
    gone, going = allocated.get(name, _ZERO), allocating.get(name, _ZERO)
    if name == "pods":
        return max(0, ceil_units(has) - ceil_units(gone) - ceil_units(going))
    return max(0, units_of(name, Quantity(has - gone - going)))


def amount_of(name: str, units: int) -> Quantity:
    """Return the amount that so many units of a resource are."""
    return Quantity(units * (NANOS // 1000 if name == "cpu" else NANOS))


def units_of(name: str, amount: Quantity) -> int:
    """Return an amount in thousandths where it is cpu, in whole units else, away from zero."""
    return ceil_by(NANOS // 1000 if name == "cpu" else NANOS, amount)
