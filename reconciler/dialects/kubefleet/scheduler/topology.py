"""TopologySpreadConstraints, and properties of clusters as exact quantities.

Clusters are picked evenly over the values of labels. That is computed once a cycle for each
combination of label values, since clusters with the same values get the same answer.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import eq, ge, gt, le, lt, ne

from reconciler.dialects.kubefleet.api.member import Member, Members, PropertyScale
from reconciler.dialects.kubefleet.api.names import RESOURCE_PROPERTY_PREFIX, UnexpectedBehavior
from reconciler.dialects.kubefleet.api.placement import (
    DEFAULT_MAX_SKEW,
    PropertyRequirement,
    SpreadConstraint,
    score_in,
)
from reconciler.dialects.scores import read_score
from reconciler.model.quantity import Quantity, approximate, parse_quantity
from reconciler.model.records import dataclass
from reconciler.model.remembered import Same
from reconciler.schedule.columns import listed
from reconciler.schedule.fleet import SetsByValue, remember
from reconciler.schedule.framework import (
    NO_CLUSTERS,
    Levels,
    Mask,
    Rejection,
    mask_of,
    positions_of,
)

VIOLATION_PENALTY = 1000  # topologyspreadconstraints/plugin.go defaultMaxSkewViolationPenality


@dataclass(frozen=True, slots=True)
class SkewViolation:
    """Picking the cluster would make the spread over `constraint` too uneven."""

    constraint: SpreadConstraint

    def __str__(self) -> str:
        key = json.dumps(self.constraint.topology_key, ensure_ascii=False)
        return (
            f"violated doNotSchedule topology spread constraint {key} "
            f"(max skew {self.constraint.max_skew})"
        )


@dataclass(frozen=True, slots=True)
class Topology:
    """What the constraints say: rejections, and a score for each set of other clusters."""

    rejections: tuple[Rejection, ...] = ()
    scores: Levels = ()


@dataclass(frozen=True, slots=True)
class _Spread:
    """Clusters picked so far by domain of one constraint; least, second least and most."""

    counts: Mapping[str, int]
    least: int
    second: int
    most: int


def assess_topology(
    constraints: tuple[SpreadConstraint, ...], members: Members, placed: Mask
) -> Topology:
    """Return how picking each cluster would change the spread.

    Domains are the values of the label over all clusters, ineligible ones too. A cluster without
    the label violates nothing and scores 0 for that constraint. Hard constraints are judged before
    soft ones, each in the order written, and the first violated one is the reason.

    Args:
        constraints: As written.
        members: Everyone.
        placed: Clusters with a scheduled or bound binding of the present policy.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/utils.go
    `evaluateAllConstraints`.
    """
    if not constraints:
        return Topology()
    ordered = (
        *(constraint for constraint in constraints if not constraint.is_soft),
        *(constraint for constraint in constraints if constraint.is_soft),
    )
    keys = tuple(constraint.topology_key for constraint in ordered)
    spreads = [_spread(members.fleet.labels.get(key), placed) for key in keys]
    rejected: dict[SpreadConstraint, Mask] = {}
    scored: dict[int, Mask] = {}
    for values, clusters in remember(members.domains, keys, lambda: _domains(keys, members)):
        answer = _judge(ordered, values, spreads)
        if isinstance(answer, SpreadConstraint):
            rejected[answer] = Mask(rejected.get(answer, NO_CLUSTERS) | clusters)
        else:
            scored[answer] = Mask(scored.get(answer, NO_CLUSTERS) | clusters)
    return Topology(
        tuple(
            Rejection(mask, SkewViolation(constraint), _remedy(constraint))
            for constraint, mask in rejected.items()
        ),
        tuple(scored.items()),
    )


def _remedy(constraint: SpreadConstraint) -> str:
    return f"be in another {constraint.topology_key}, or have a greater maxSkew allowed"


def _domains(
    keys: tuple[str, ...], members: Members
) -> tuple[tuple[tuple[str | None, ...], Mask], ...]:
    """Return the clusters by their values of the keys; `None` where the label is missing."""
    domains: dict[tuple[str | None, ...], list[int]] = {}
    for position, view in enumerate(members.views):
        values = tuple(view.cluster.labels.get(key) for key in keys)
        domains.setdefault(values, []).append(position)
    return tuple((values, mask_of(positions)) for values, positions in domains.items())


def _spread(sets: SetsByValue | None, placed: Mask) -> _Spread:
    listed = () if sets is None else sets.listed()
    counts = {value: (mask & placed).bit_count() for value, mask in listed}
    ordered = sorted(counts.values()) or [0]
    return _Spread(counts, ordered[0], ordered[min(1, len(ordered) - 1)], ordered[-1])


def _judge(
    constraints: Iterable[SpreadConstraint],
    values: Sequence[str | None],
    spreads: Sequence[_Spread],
) -> int | SpreadConstraint:
    """Return the score of one combination of values, or the hard constraint that it violates."""
    score = 0
    for constraint, value, spread in zip(constraints, values, spreads, strict=True):
        if value is None:
            continue
        skew, change = _skew_after(spread, spread.counts[value])
        limit = DEFAULT_MAX_SKEW if constraint.max_skew is None else constraint.max_skew
        if skew <= limit:
            score -= change
        elif constraint.is_soft:
            score -= VIOLATION_PENALTY
        else:
            return constraint
    return score


def _skew_after(spread: _Spread, count: int) -> tuple[int, int]:
    """Return the skew if one more cluster were picked in a domain, and how much it changes.

    With one domain only, or all equal, the change is +1, as upstream has it.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/utils.go
    `willViolate`.
    """
    skew = spread.most - spread.least
    if skew == 0:
        return 1, 1
    if count == spread.least and spread.least != spread.second:
        return skew - 1, -1
    if count == spread.most:
        return skew + 1, 1
    return skew, 0


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
        scores = read_score(score, members.fleet.names, reports, now)
        return [str(value) for value in listed(scores.values)]

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
    quantities = quantities_of(
        [members.views[position] for position in positions], requirement.name
    )
    listed = zip(positions, quantities, strict=True)
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
