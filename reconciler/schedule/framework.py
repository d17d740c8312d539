"""The contract of filters and scores: sets of clusters as bit masks, rejections with reasons."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import compress
from typing import Generic, NewType, Protocol, TypeVar

Mask = NewType("Mask", int)
"""A set of clusters: bit i stands for the i-th cluster of the fleet, in order of name."""

Column = Sequence[int]
"""One number for each cluster of a set, ascending by name."""

NOBODY = Mask(0)
_ONE = ord("1")
_BITS_OF_TEXT = bytes.maketrans(b"01", b"\x00\x01")


def mask_of(positions: Iterable[int]) -> Mask:
    """Return the set of the clusters at these positions.

    >>> mask_of([0, 2])
    5
    """
    found = list(positions)
    if not found:
        return NOBODY
    size = max(found) + 1
    text = bytearray(b"0") * size
    for position in found:
        text[size - 1 - position] = _ONE
    return Mask(int(text, 2))


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


class Reason(Protocol):
    """Why a cluster is turned away: read by the user, formatted late."""

    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Rejection:
    """Clusters that one filter turns away for one reason; of one filter, no two overlap.

    `plugin` is the name under which the filter is registered, set by `run_filters`.
    """

    clusters: Mask
    reason: Reason
    plugin: str = ""


R = TypeVar("R")
F = TypeVar("F")
R_contra = TypeVar("R_contra", contravariant=True)
F_contra = TypeVar("F_contra", contravariant=True)


class Filter(Protocol[R_contra, F_contra]):
    """Answers for the whole fleet at once: who is rejected, and why.

    `R` is the request of a dialect, `F` its fleet: `Fleet`, or a view of its own around one.
    """

    def __call__(self, request: R_contra, fleet: F_contra, now: datetime, /) -> Iterable[Rejection]:
        """Yield the rejections."""


class Score(Protocol[R_contra, F_contra]):
    """Ranks the feasible clusters in one call, since most scores are relative to the others.

    Returns one int64 for each bit of `feasible`, ascending by name, within the range of its
    dialect: OCM [-100, 100], Karmada [0, 100], KubeFleet unbounded.
    """

    def __call__(
        self, request: R_contra, fleet: F_contra, feasible: Mask, now: datetime, /
    ) -> Column:
        """Return the scores."""


@dataclass(frozen=True, slots=True)
class Profile(Generic[R, F]):
    """The plugins of one dialect by their upstream names, run in the order written.

    How scores combine is the dialect's affair: OCM sums them by weight, Karmada sums them,
    KubeFleet compares them one by one in the order written.
    """

    filters: Mapping[str, Filter[R, F]]
    scores: Mapping[str, Score[R, F]]


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
                yield replace(rejection, clusters=clusters, plugin=name)
