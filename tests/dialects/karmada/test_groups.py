"""The best set of regions is the one that upstream's walk finds, without listing the sets."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.karmada.scheduler.region_sets import Region, choose_regions

Path = tuple[Region, ...]


def walk(
    regions: list[Region], fewest: int, most: int, need: int, path: Path = (), begin: int = 0
) -> Iterator[Path]:
    """Upstream's depth-first walk, as it is told."""
    if fewest <= len(path) <= most and sum(region.value for region in path) >= need:
        yield path
        return
    if len(path) >= most:
        return
    for place in range(begin, len(regions)):
        longer = (*path, regions[place])
        yield from walk(regions, fewest, most, need, longer, place + 1)


def walked(regions: list[Region], fewest: int, most: int, need: int) -> Path:
    """The choice among all the sets that the walk finds."""
    ordered = sorted(regions, key=lambda region: (region.value, -region.weight, region.name))
    if len(ordered) == fewest:
        paths = [tuple(ordered)] if sum(region.value for region in ordered) >= need else []
    else:
        paths = list(walk(ordered, fewest, most, need))
    ranked = sorted(
        (tuple(sorted(path, key=lambda region: (-region.weight, region.name))) for path in paths),
        key=lambda path: (-sum(item.weight for item in path), -sum(item.value for item in path)),
    )
    best = ranked[0] if ranked else ()
    for path in ranked:
        if len(path) < len(best) and best[: len(path)] == path:
            best = path
    return best


REGIONS = st.lists(st.tuples(st.integers(1, 4), st.integers(-1, 3)), max_size=8).map(
    lambda pairs: [
        Region(f"r{i}", tuple(range(value)), 1000 * weight)
        for i, (value, weight) in enumerate(pairs)
    ]
)


@given(REGIONS, st.integers(0, 4), st.integers(0, 5), st.integers(0, 9))
def test_choice_is_that_of_the_walk(
    regions: list[Region], fewest: int, most: int, need: int
) -> None:
    """Same regions, same order."""
    assert walked(regions, fewest, most, need) == choose_regions(
        regions, fewest=fewest, most=most, min_clusters=need
    )


def test_many_regions_take_no_time() -> None:
    """The walk would find more than a billion sets here."""
    regions = [Region(f"r{i:02d}", tuple(range(i % 5 + 1)), i * 7 % 13) for i in range(60)]

    assert 10 == len(choose_regions(regions, fewest=3, most=10, min_clusters=40))
