"""Properties of clusters: their values as exact quantities, and comparisons with them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import eq, ge, gt, le, lt, ne

from reconciler.dialects.kubefleet.api.clusters import Member, Members, PropertyScale
from reconciler.dialects.kubefleet.api.names import RESOURCE_PROPERTY_PREFIX
from reconciler.dialects.kubefleet.api.policy import PropertyRequirement
from reconciler.dialects.kubefleet.api.score_property import score_in
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.scores.reports import read_score
from reconciler.model.quantity import Quantity, approximate, parse_quantity
from reconciler.model.same import Same
from reconciler.schedule.columns import listed
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Mask, mask_of, positions_of
from reconciler.schedule.inverted_index import SetsByValue

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
    return _parsed(views, values_of(views, name), name)


def _parsed(
    views: Sequence[Member], texts: Sequence[str | None], name: str
) -> list[Quantity | None]:
    """Return the amounts of texts, each text read once."""
    amounts: dict[str | None, Quantity | None] = dict.fromkeys(texts)
    for text in amounts:
        if text is None:
            continue
        try:
            amounts[text] = parse_quantity(text)
        except ValueError as error:
            cluster = views[texts.index(text)].cluster.name
            raise UnexpectedBehavior(
                f"value {text} of property {name} from cluster {cluster} must be a "
                f"quantity: {error}"
            ) from None
    return [amounts[text] for text in texts]


def scale_of(name: str, members: Members, now: datetime) -> PropertyScale:
    """Return where each value of a property, or score, stands among those of the whole fleet.

    The extremes are found by exact comparison, the first by name of equal ones; the rest is
    float64. If all values are equal, nothing stands anywhere.

    Raises:
        UnexpectedBehavior: The name is malformed, or a value is not a quantity.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/types.go
    `interpolateWeightFor`.
    """
    score, reports = score_in(name), members.scores
    if score is None or reports is None:
        return remember(
            members.scales, name, lambda: _scale(name, values_of(members.views, name), members)
        )

    def texts() -> list[str | None]:
        found = read_score(score, members.fleet.names, reports, now)
        return [str(value) for value in listed(found.values)]

    question = (score, Same(reports), now)
    return remember(members.scales, question, lambda: _scale(name, texts(), members))


def _scale(name: str, texts: list[str | None], members: Members) -> PropertyScale:
    _parsed(members.views, texts, name)
    sets = SetsByValue(texts)
    if not sets:
        return PropertyScale((), NO_CLUSTERS, NO_CLUSTERS)
    amounts = {text: parse_quantity(text) for text in sets}
    rough = {text: approximate(text) for text in sets}
    least, greatest = (
        rough[min(amounts, key=amounts.__getitem__)],
        rough[max(amounts, key=amounts.__getitem__)],
    )
    outside = NO_CLUSTERS
    for text, value in rough.items():
        if value < least or value > greatest:
            outside = Mask(outside | sets[text])
    if least == greatest:
        return PropertyScale((), outside, sets.having)
    ratios = [((value - least) / (greatest - least), sets[text]) for text, value in rough.items()]
    return PropertyScale(tuple(ratios), outside, sets.having)


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
