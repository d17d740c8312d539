"""ClusterAffinity, preferred terms: weights of the terms that a cluster fits."""

import math
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members, Unscorable
from reconciler.dialects.kubefleet.api.policy import Preference
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.scheduler.properties import (
    quantities_of,
    rough_amount,
    values_of,
)
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.model.selectors import refusal_of
from reconciler.schedule.fleet import group_by, remember
from reconciler.schedule.framework import NO_CLUSTERS, Levels, Mask, mask_of, positions_of

ASCENDING = "Ascending"
DESCENDING = "Descending"


def score_affinity(request: Request, members: Members, feasible: Mask, _now: datetime, /) -> Levels:
    """Score by what the preferred terms give to each cluster of the fleet.

    A term of weight 0 gives nothing, but its sorter's property is read all the same. The property
    selector of a preferred term is not looked at.

    Raises:
        UnexpectedBehavior: A property cannot be read on some cluster, feasible or not; or a
            feasible cluster meets a term that cannot be judged.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/scoring.go
    `PreScore`, `Score`.
    """
    preferred = request.policy.preferred
    levels, unscorable = remember(
        members.affinities, preferred, lambda: _score_all(preferred, members)
    )
    for item in unscorable:
        if item.clusters & feasible:
            raise UnexpectedBehavior(f"failed to calculate score: {item.message}")
    return levels


def _score_all(
    preferred: tuple[Preference, ...], members: Members
) -> tuple[Levels, tuple[Unscorable, ...]]:
    total = [0] * len(members.views)
    unscorable = []
    for preference in preferred:
        sorter = preference.term.sorter
        if sorter is not None:
            quantities_of(members.views, sorter.name)
    for preference in preferred:
        if not preference.weight:
            continue
        gained = _score_term(preference, members)
        if isinstance(gained, Unscorable):
            unscorable.append(gained)
            continue
        total = [one + other for one, other in zip(total, gained, strict=True)]
    return tuple(group_by(total, skip=0).items()), tuple(unscorable)


def _score_term(preference: Preference, members: Members) -> list[int] | Unscorable:
    """Return what one term gives to each cluster, or the clusters that it cannot judge."""
    labels, sorter = preference.term.labels, preference.term.sorter
    matched = members.fleet.all
    if labels is not None:
        refusal = refusal_of(labels)
        if refusal:
            return Unscorable(matched, f"failed to parse label selector: {refusal}")
        matched = members.fleet.select(labels)
    scores = [0] * len(members.views)
    if sorter is None:
        for position in positions_of(matched):
            scores[position] = preference.weight
        return scores
    ratios, outside = _interpolate(sorter.name, members)
    if matched & outside:
        return Unscorable(Mask(matched & outside), f"cannot interpolate weight by {sorter.name}")
    if sorter.sort_order not in (ASCENDING, DESCENDING):
        meeting = Mask(matched & mask_of(ratios))
        return Unscorable(
            meeting, f"cannot interpolate weight as sort order {sorter.sort_order} is invalid"
        )
    for position in positions_of(matched):
        ratio = ratios.get(position)
        if ratio is not None:
            share = ratio if sorter.sort_order == DESCENDING else 1 - ratio
            scores[position] = round_half_away(share * preference.weight)
    return scores


def _interpolate(name: str, members: Members) -> tuple[dict[int, float], Mask]:
    """Return where each cluster's value stands between the least (0.0) and the greatest (1.0).

    The extremes are those of the whole fleet, found by exact comparison, the first by name of equal
    ones; the rest is float64. Clusters without the property are left out; so is everyone if all
    values are equal. The mask holds clusters whose float64 falls outside of the extremes: equal
    quantities written in two ways may differ in their last digit, and upstream refuses them.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/types.go
    `interpolateWeightFor`.
    """
    texts = values_of(members.views, name)
    found = [
        (amount, position, rough_amount(texts[position] or ""))
        for position, amount in enumerate(quantities_of(members.views, name))
        if amount is not None
    ]
    if not found:
        return {}, NO_CLUSTERS
    least = min(found, key=lambda entry: entry[0])[2]
    greatest = max(found, key=lambda entry: entry[0])[2]
    outside = mask_of(i for _, i, value in found if value < least or value > greatest)
    if least == greatest:
        return {}, outside
    return {i: (value - least) / (greatest - least) for _, i, value in found}, outside


def round_half_away(value: float) -> int:
    """Return the nearest integer, halves away from zero.

    Source: Go src/math/floor.go `Round`.

    >>> round_half_away(2.5), round_half_away(-2.5), round_half_away(0.49999999999999994)
    (3, -3, 0)
    """
    whole = math.trunc(value)
    return whole + int(math.copysign(1, value)) if abs(value - whole) >= 0.5 else whole
