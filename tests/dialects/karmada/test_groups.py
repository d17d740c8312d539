"""The best set of regions is the one that upstream's walk finds, without listing the sets."""

from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.dialects.karmada.scheduler.select import Region, choose_regions
from tests.dialects.karmada.region_walk import RegionOf, walked

REGIONS = st.lists(st.tuples(st.integers(1, 4), st.integers(-1, 3)), max_size=8).map(
    lambda pairs: [
        Region(f"r{i}", tuple(range(value)), 1000 * weight)
        for i, (value, weight) in enumerate(pairs)
    ]
)


@given(REGIONS, st.integers(0, 4), st.integers(0, 5), st.integers(0, 9))
@example([Region("r0", (0,), 0)], 1, 0, 0)
def test_choice_is_that_of_the_walk(
    regions: list[Region], fewest: int, most: int, need: int
) -> None:
    """Same regions, same order; `most` bounds the set of all regions, too."""
    offers = [RegionOf(region.name, region.value, region.weight) for region in regions]
    chosen = choose_regions(regions, fewest=fewest, most=most, min_clusters=need)

    assert [region.name for region in walked(offers, fewest, most, need)] == [
        region.name for region in chosen
    ]


def test_many_regions_take_no_time() -> None:
    """The walk would find more than a billion sets here."""
    regions = [Region(f"r{i:02d}", tuple(range(i % 5 + 1)), i * 7 % 13) for i in range(60)]

    assert 10 == len(choose_regions(regions, fewest=3, most=10, min_clusters=40))
