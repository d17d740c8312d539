"""Upstream's walk through the sets of regions, as it is told: an oracle."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegionOf:
    """A region: how many clusters it offers, and what it is worth."""

    name: str
    value: int
    weight: int


Path = tuple[RegionOf, ...]


def walk(
    regions: list[RegionOf], fewest: int, most: int, need: int, path: Path = (), begin: int = 0
) -> Iterator[Path]:
    """Yield the sets that will do, depth first; none of them is extended."""
    if fewest <= len(path) <= most and sum(region.value for region in path) >= need:
        yield path
        return
    if len(path) >= most:
        return
    for place in range(begin, len(regions)):
        longer = (*path, regions[place])
        yield from walk(regions, fewest, most, need, longer, place + 1)


def walked(regions: list[RegionOf], fewest: int, most: int, need: int) -> Path:
    """Return the choice among all the sets that the walk finds, `()` if it finds none."""
    ordered = sorted(regions, key=lambda region: (region.value, -region.weight, region.name))
    paths = walk(ordered, fewest, most, need)
    ranked = sorted(
        (tuple(sorted(path, key=lambda region: (-region.weight, region.name))) for path in paths),
        key=lambda path: (-sum(item.weight for item in path), -sum(item.value for item in path)),
    )
    best = ranked[0] if ranked else ()
    for path in ranked:
        if len(path) < len(best) and best[: len(path)] == path:
            best = path
    return best
