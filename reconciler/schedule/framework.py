"""The contract of filters and scores: sets of clusters as bit masks, rejections with reasons."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import compress, islice
from operator import gt
from typing import Generic, NewType, Protocol, TypeVar, runtime_checkable

from reconciler.model.records import dataclass

Mask = NewType("Mask", int)
"""A set of clusters: bit i stands for the i-th cluster of the fleet, in order of name."""

Column = Sequence[int]
"""One number for each cluster of a set, ascending by name."""

Levels = Sequence[tuple[int, Mask]]
"""Scores with the clusters that have them: no two sets overlap, and who is in none has 0."""

NO_CLUSTERS = Mask(0)
_ONE = ord("1")
_BITS_OF_TEXT = bytes.maketrans(b"01", b"\x00\x01")
_TEXT_OF_BITS = bytes.maketrans(b"\x00\x01", b"01")
_FEW = 8  # ours: so many bits are set one by one in the time that a text takes


def mask_of(positions: Iterable[int]) -> Mask:
    """Return the set of the clusters at these positions.

    >>> mask_of([0, 2])
    5
    """
    listed = list(positions)
    if not listed:
        return NO_CLUSTERS
    if len(listed) <= _FEW:
        few = 0
        for position in listed:
            few |= 1 << position
        return Mask(few)
    size = max(listed) + 1
    text = bytearray(b"0") * size
    for position in listed:
        text[size - 1 - position] = _ONE
    return Mask(int(text, 2))


def mask_where(flags: Iterable[int]) -> Mask:
    """Return the set of the clusters whose flag is 1; there is one for each, 0 or 1.

    >>> mask_where([1, 0, True])
    5
    """
    return Mask(int(bytes(flags)[::-1].translate(_TEXT_OF_BITS) or b"0", 2))


def bits_of(mask: Mask, size: int) -> bytes:
    """Return one byte a cluster, 1 where the set has it; the cheapest form to walk through.

    >>> list(bits_of(Mask(5), 4))
    [1, 0, 1, 0]
    """
    return f"{mask:0{size}b}"[::-1].encode().translate(_BITS_OF_TEXT) if size else b""


def positions_of(mask: Mask) -> list[int]:
    """Return the positions of the clusters in a set, ascending.

    >>> positions_of(Mask(5))
    [0, 2]
    """
    size = mask.bit_length()
    return list(compress(range(size), bits_of(mask, size)))


def first_positions(mask: Mask, count: int) -> list[int]:
    """Return the positions of the first clusters in a set, ascending, as many as are asked for.

    >>> first_positions(Mask(0b1101), 2)
    [0, 2]
    """
    size = mask.bit_length()
    return list(islice(compress(range(size), bits_of(mask, size)), count))


class Reason(Protocol):
    """Why a cluster is turned away, or what would help: read by the user, formatted late."""

    def __str__(self) -> str: ...


@runtime_checkable
class ClusterRemedy(Protocol):
    """What would help, said of each cluster by itself, and of all of them together."""

    def __str__(self) -> str: ...

    def of(self, position: int) -> str:
        """Return it for the cluster at a position."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Clusters that one filter turns away for one reason; of one filter, no two overlap.

    `remedy` says what would have to change, as a clause that follows "to qualify"; `""` where
    nothing would help; `remedy_of` says it of one cluster. `plugin` is the name under which the
    filter is registered, set by `run_filters`.
    """

    clusters: Mask
    reason: Reason
    remedy: Reason
    plugin: str = ""


def remedy_of(rejection: Rejection, position: int) -> str:
    """Return what would have to change for one of the clusters that were turned away."""
    remedy = rejection.remedy
    return remedy.of(position) if isinstance(remedy, ClusterRemedy) else str(remedy)


R = TypeVar("R")
F = TypeVar("F")
R_contra = TypeVar("R_contra", contravariant=True)
F_contra = TypeVar("F_contra", contravariant=True)
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class Filter(Protocol[R_contra, F_contra]):
    """Answers for the whole fleet at once: who is rejected, and why.

    `R` is the request of a dialect, `F` its fleet: `Fleet`, or a view of its own around one.
    """

    def __call__(self, request: R_contra, fleet: F_contra, now: datetime, /) -> Iterable[Rejection]:
        """Yield the rejections."""


class Score(Protocol[R_contra, F_contra, S_co]):
    """Ranks the feasible clusters in one call, since most scores are relative to the others.

    `S` is how a dialect's scores answer: Karmada and KubeFleet by `Levels`, since most clusters
    score alike, OCM by a number for each feasible cluster. What is said of others does not count.
    The range is the dialect's: OCM [-100, 100], Karmada [0, 100], KubeFleet unbounded.
    """

    def __call__(
        self, request: R_contra, fleet: F_contra, feasible: Mask, now: datetime, /
    ) -> S_co:
        """Return the scores."""


@dataclass(frozen=True, slots=True)
class Profile(Generic[R, F, S]):
    """The plugins of one dialect by their upstream names, run in the order written.

    How scores combine is the dialect's affair: OCM sums them by weight, Karmada sums them,
    KubeFleet compares them one by one in the order written.
    """

    filters: Mapping[str, Filter[R, F]]
    scores: Mapping[str, Score[R, F, S]]


def graded(levels: Levels, clusters: Mask) -> list[tuple[int, Mask]]:
    """Return these clusters by their score, the greatest first; every cluster is in one set.

    >>> graded([(5, Mask(0b001)), (-1, Mask(0b010))], Mask(0b111))
    [(5, 1), (0, 4), (-1, 2)]
    """
    return [*grades(levels, clusters)]


def grades(levels: Levels, clusters: Mask) -> Iterator[tuple[int, Mask]]:
    """Yield what `graded` returns, as far as it is asked for."""
    scores = [score for score, _ in levels]
    if 0 in scores or not all(map(gt, scores, scores[1:])):
        levels = _merged(levels)
    behind = next((place for place, (score, _) in enumerate(levels) if score < 0), len(levels))
    yield from _among(levels[:behind], clusters)
    unscored: int = clusters
    for _, having in levels:
        unscored &= ~having
    yield from _among([(0, Mask(unscored))], clusters)
    yield from _among(levels[behind:], clusters)


def _merged(levels: Levels) -> list[tuple[int, Mask]]:
    """Return one set for each score but 0, the greatest first."""
    by_score: dict[int, int] = {}
    for score, having in levels:
        if score:
            by_score[score] = by_score.get(score, NO_CLUSTERS) | having
    return [(score, Mask(by_score[score])) for score in sorted(by_score, reverse=True)]


def _among(levels: Levels, clusters: Mask) -> Iterator[tuple[int, Mask]]:
    for score, having in levels:
        among = Mask(having & clusters)
        if among:
            yield score, among


def score_at(levels: Levels, position: int) -> int:
    """Return what a cluster scores.

    >>> score_at([(100, Mask(0b10))], 1), score_at([(100, Mask(0b10))], 0)
    (100, 0)
    """
    return next((score for score, having in levels if having >> position & 1), 0)


def added(answers: Iterable[Levels], clusters: Mask) -> list[tuple[int, Mask]]:
    """Return these clusters by the sum of their scores, the greatest first.

    >>> added([[(5, Mask(0b011))], [(1, Mask(0b110))]], Mask(0b111))
    [(6, 2), (5, 1), (1, 4)]
    """
    total: list[tuple[int, Mask]] = [(0, clusters)] if clusters else []
    for levels in answers:
        if levels:
            parts = [
                (score + more, among)
                for score, having in total
                for more, among in graded(levels, having)
            ]
            total = graded(parts, clusters)
    return total


def run_filters(
    filters: Mapping[str, Filter[R, F]], request: R, fleet: F, candidates: Mask, now: datetime
) -> tuple[Mask, tuple[Rejection, ...]]:
    """Return the feasible clusters among the candidates, and the rejections of the others.

    The filters run in the order written, and not at all once no cluster is left.

    A cluster that several filters would turn away is counted for the first of them only, so no two
    rejections overlap and together with the feasible clusters they make up the candidates.
    """
    rejections = tuple(_reject(filters, request, fleet, candidates, now))
    for rejection in rejections:
        candidates = Mask(candidates & ~rejection.clusters)
    return candidates, rejections


def run_every_filter(
    filters: Mapping[str, Filter[R, F]], request: R, fleet: F, candidates: Mask, now: datetime
) -> tuple[Rejection, ...]:
    """Return what each filter says of all candidates, also of those that another turns away.

    It is for explanations: who is feasible is what `run_filters` says. A cluster is in as many
    rejections as there are filters against it, in the order written.
    """
    return tuple(
        rejection
        for name, reject in filters.items()
        for rejection in _reject({name: reject}, request, fleet, candidates, now)
    )


def _reject(
    filters: Mapping[str, Filter[R, F]], request: R, fleet: F, candidates: Mask, now: datetime
) -> Iterator[Rejection]:
    for name, reject in filters.items():
        if not candidates:
            return
        for rejection in reject(request, fleet, now):
            clusters = Mask(rejection.clusters & candidates)
            if clusters:
                candidates = Mask(candidates & ~clusters)
                yield Rejection(clusters, rejection.reason, rejection.remedy, name)
