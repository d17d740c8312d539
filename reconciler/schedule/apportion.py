"""Division of replicas by the Webster (Sainte-Laguë) method."""

import heapq
from collections.abc import Mapping, Sequence

from reconciler.model.identity import ClusterName

EXACT = 2**53  # integers below it are float64 without loss
FNV_OFFSET = 0x811C9DC5
FNV_PRIME = 0x01000193


def apportion(
    replicas: int, weights: Mapping[ClusterName, int], *, descending: bool = False
) -> dict[ClusterName, int]:
    """Split `replicas` among clusters by the Webster (Sainte-Laguë) method.

    Each replica in turn goes to the cluster with the greatest `weight / (2 * held + 1)`. On a
    tie the cluster holding fewer wins; then the name decides.

    Args:
        replicas: How many to hand out, zero or more.
        weights: Cluster to weight. The scale is free, only ratios count. One without a positive
            weight gets nothing.
        descending: Break the last tie by the greater name instead of the lesser. Karmada sets
            it when the FNV-1a 32-bit hash of the workload's uid is odd.

    Returns:
        Cluster to replicas, every key of `weights` present, in ascending order of name. The
        values sum to `replicas`, unless no weight is positive: then all are zero.

    Raises:
        ValueError: If `replicas` is negative.

    Source: karmada@f8fdd02 pkg/util/helper/webstermethod.go `AllocateWebsterSeats`, and
    binding.go `tieBreakerByUID`. The quotients are float64 there and here.

    >>> apportion(9, {"a": 1, "b": 3})
    {'a': 2, 'b': 7}
    >>> apportion(1, {"a": 1, "b": 1}, descending=True)
    {'a': 0, 'b': 1}
    """
    names = sorted(weights)
    seats = allot(replicas, [weights[name] for name in names], descending=descending)
    return dict(zip(names, seats, strict=True))


def allot(replicas: int, weights: Sequence[int], *, descending: bool = False) -> list[int]:
    """Split `replicas` among clusters given by their weights, ascending by name.

    The rule is that of `apportion`. Only the `replicas` greatest weights can get any, since each
    cluster starts with its whole weight; and quotients far above the last one handed out are
    handed out at once. So the work is that of the clusters that count, not of the replicas.

    >>> allot(3, [1, 0, 1])
    [2, 0, 1]
    """
    if replicas < 0:
        raise ValueError("replicas must be greater than or equal to 0")
    held = [0] * len(weights)
    votes = [float(weight) for weight in weights]
    sign = -1 if descending else 1
    least = least_weight(replicas, weights)
    parties = [position for position, weight in enumerate(weights) if weight >= least]
    if not parties:
        return held
    left = replicas - _hand_out_at_once(replicas, votes, parties, held)
    minus = [-vote for vote in votes]
    queue = [(minus[i] / (2 * held[i] + 1), held[i], sign * i, i) for i in parties]
    heapq.heapify(queue)
    for _ in range(left):
        _, seats, tie, i = queue[0]
        seats += 1
        heapq.heapreplace(queue, (minus[i] / (2 * seats + 1), seats, tie, i))
    for _, seats, _, i in queue:
        held[i] = seats
    return held


def least_weight(replicas: int, weights: Sequence[int]) -> int:
    """Return the least weight that can get any of the replicas; it is positive.

    Each cluster starts with its whole weight, so one that is not among the `replicas` greatest, or
    equal to the last of these, comes too late. Weights beyond 2**53 may be equal as float64 while
    they are not as integers; then none is ruled out.

    >>> least_weight(2, [5, 1, 4, 4])
    4
    """
    if not 0 < replicas < len(weights):
        return 1
    last = sorted(weights, reverse=True)[replicas - 1]
    return max(1, last) if last < EXACT else 1


def _hand_out_at_once(
    replicas: int, votes: Sequence[float], parties: Sequence[int], held: list[int]
) -> int:
    """Hand out every quotient above a bound that cannot be reached too early; return how many.

    All quotients above a bound go before all others, in whatever order, so this leads to a state
    on the way of the sequential rule. The bound leaves at least one replica a cluster to it.
    """
    spare = replicas - 2 * len(parties)
    if spare <= len(parties):
        return 0
    bound = sum(votes[i] for i in parties) / (2 * spare)
    taken = 0
    for i in parties:
        seats = max(0, int((votes[i] / bound - 1) / 2))
        while seats and votes[i] / (2 * seats - 1) <= bound:
            seats -= 1
        while votes[i] / (2 * seats + 1) > bound:
            seats += 1
        held[i] = seats
        taken += seats
    return taken


def fnv1a_32(text: str) -> int:
    """Return the FNV-1a hash, 32 bits, of the text's UTF-8 bytes.

    >>> hex(fnv1a_32("a"))
    '0xe40c292c'
    """
    value = FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * FNV_PRIME & 0xFFFFFFFF
    return value


def breaks_ties_descending(uid: str) -> bool:
    """Return whether ties go to the greater name: when the hash of the uid is odd.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `tieBreakerByUID`; an empty uid is ascending.

    >>> breaks_ties_descending("")
    False
    """
    return bool(uid) and fnv1a_32(uid) % 2 == 1
