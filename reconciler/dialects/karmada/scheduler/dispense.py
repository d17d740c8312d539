"""Replicas handed out by weight, among those clusters only that can get any."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import repeat
from operator import neg

from reconciler.schedule.apportion import allot, breaks_ties_descending, least_weight

Shares = list[tuple[int, int]]
"""Position and replicas, in upstream's order."""


def dispense(
    replicas: int,
    parties: Sequence[int],
    weights: Sequence[int],
    uid: str,
    *,
    ordered: bool = False,
) -> Shares:
    """Hand out replicas by weight; the clusters that may get some, by name.

    Where the weights are `ordered`, the greatest first, those that come too late are not looked at.

    Source: karmada@f8fdd02 pkg/util/helper/webstermethod.go `AllocateWebsterSeats`: of fewer than
    none, none are handed out.
    """
    replicas = max(0, replicas)
    least = least_weight(replicas, weights)
    descending = breaks_ties_descending(uid)
    if ordered:
        found = _in_time(replicas, parties, weights, least, descending=descending)
    else:
        found = [party for party in zip(parties, weights, strict=True) if party[1] >= least]
    found.sort()
    seats = allot(replicas, [weight for _, weight in found], descending=descending)
    return [(position, seat) for (position, _), seat in zip(found, seats, strict=True)]


def _in_time(
    replicas: int,
    parties: Sequence[int],
    weights: Sequence[int],
    least: int,
    *,
    descending: bool,
) -> Shares:
    """Return the clusters that can get a replica before none is left, each with its weight.

    Whoever weighs more than the least gets one first; of those with the least weight only as many
    can as replicas are left then, and ties say which.
    """
    greater = bisect_right(weights, -least - 1, key=neg)
    equal = sorted(parties[greater : bisect_right(weights, -least, key=neg)])
    left = max(0, replicas - greater)
    first = equal[max(0, len(equal) - left) :] if descending else equal[:left]
    return [*zip(parties[:greater], weights[:greater], strict=True), *zip(first, repeat(least))]
