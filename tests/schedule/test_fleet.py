"""The fleet: masks, indexes and columns, and filters that share the work."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.cluster import Cluster
from reconciler.model.identity import ClusterName
from reconciler.model.labels import LabelSelector, Requirement, matches
from reconciler.schedule import columns
from reconciler.schedule.columns import (
    Order,
    best_first,
    coded,
    column_of,
    distinct,
    flagged,
    greatest,
    less_one_each,
    lesser,
    listed,
    of_clusters,
    places_of,
    quotients,
    replaced,
    weighted_sum,
    with_number,
)
from reconciler.schedule.fleet import MOST_CODES, Fleet, InvertedIndex, SetsByValue, fleet_of
from reconciler.schedule.framework import (
    NO_CLUSTERS,
    Filter,
    Levels,
    Mask,
    Profile,
    Rejection,
    bits_of,
    mask_of,
    mask_where,
    positions_of,
    run_every_filter,
    run_filters,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
KEYS = st.sampled_from(["env", "tier", "n"])
VALUES = st.sampled_from(["a", "b", "1", "20", ""])
LABELS = st.dictionaries(KEYS, VALUES)
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Odd"])
REQUIREMENTS = st.builds(
    Requirement, KEYS, OPERATORS, st.none() | st.lists(VALUES, max_size=2).map(tuple)
)


def fleet(labels: list[dict[str, str]]) -> Fleet:
    """A fleet of clusters with these labels, handed over in reverse."""
    return fleet_of(
        Cluster(name=ClusterName(f"c{i:03d}"), labels=pairs)
        for i, pairs in reversed(list(enumerate(labels)))
    )


@given(st.lists(LABELS, max_size=9), st.lists(REQUIREMENTS, max_size=3))
def test_index_answers_like_the_plain_rule(
    labels: list[dict[str, str]], requirements: list[Requirement]
) -> None:
    """The inverted index and `matches` agree, well-formed or not."""
    selector = LabelSelector(match_expressions=tuple(requirements))
    expected = [i for i, pairs in enumerate(labels) if matches(selector, pairs)]

    assert expected == positions_of(fleet(labels).select(selector))


@given(st.sets(st.integers(0, 200)))
def test_positions_and_masks_are_inverse(positions: set[int]) -> None:
    """A mask is the set of its positions."""
    mask = mask_of(positions)

    assert sorted(positions) == positions_of(mask)
    assert [int(i in positions) for i in range(201)] == list(bits_of(mask, 201))


def test_fleet_is_ascending_by_name() -> None:
    """The order of the manifests does not matter."""
    assert ["c000", "c001"] == [cluster.name for cluster in fleet([{}, {}]).clusters]


def test_first_filter_gives_the_reason() -> None:
    """A cluster that two filters turn away is counted once, for the first."""

    def first(_request: None, _fleet: Fleet, _now: datetime, /) -> Iterator[Rejection]:
        yield Rejection(Mask(0b011), "no API", "serve it")

    def second(_request: None, _fleet: Fleet, _now: datetime, /) -> Iterator[Rejection]:
        yield Rejection(Mask(0b110), "tainted", "lose it")

    profile: Profile[None, Fleet, Levels] = Profile(filters={"A": first, "B": second}, scores={})
    found = run_filters(profile.filters, None, fleet([{}, {}, {}, {}]), Mask(0b1111), NOW)

    assert found == (
        0b1000,
        (
            Rejection(Mask(0b011), "no API", "serve it", "A"),
            Rejection(Mask(0b100), "tainted", "lose it", "B"),
        ),
    )


NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
ALL = Mask(0b111)


def turning_away(clusters: int, reason: str) -> Filter[None, None]:
    """A filter that turns these clusters away."""

    def reject(_request: None, _fleet: None, _now: datetime, /) -> Iterable[Rejection]:
        return [Rejection(Mask(clusters), reason, "")]

    return reject


FILTERS: Mapping[str, Filter[None, None]] = {
    "First": turning_away(0b011, "one"),
    "Second": turning_away(0b110, "two"),
}


def test_run_filters_counts_a_cluster_for_the_first_filter_only() -> None:
    """Rejections do not overlap, and nobody is left here."""
    feasible, rejections = run_filters(FILTERS, None, None, ALL, NEW_YEAR)

    assert NO_CLUSTERS == feasible
    assert [("First", 0b011), ("Second", 0b100)] == [(r.plugin, r.clusters) for r in rejections]


def test_every_filter_speaks_for_every_candidate() -> None:
    """A cluster that two filters turn away is named by both; others than candidates by none."""
    found = run_every_filter(FILTERS, None, None, Mask(0b010), NEW_YEAR)

    assert [("First", 0b010), ("Second", 0b010)] == [(r.plugin, r.clusters) for r in found]


OPTIONAL_VALUES = st.none() | st.sampled_from(["a", "b", ""])


@given(st.lists(OPTIONAL_VALUES, max_size=9))
def test_sets_are_those_of_the_column(column: list[str | None]) -> None:
    """In the order of first appearance; `None` is no value."""
    sets = SetsByValue(column)
    values = [value for value in dict.fromkeys(column) if value is not None]

    assert values == list(sets)
    assert [[i for i, one in enumerate(column) if one == value] for value in values] == [
        positions_of(mask) for mask in sets.values()
    ]
    assert mask_where([one is not None for one in column]) == sets.having


@pytest.mark.parametrize("count", [MOST_CODES, MOST_CODES + 1])
def test_as_many_values_as_clusters_are_told_apart(count: int) -> None:
    """Where a byte does not tell them apart, too."""
    column = [None, *map(str, range(count)), "0"]
    sets = SetsByValue(column)

    assert ([1, count + 1], [count]) == (
        positions_of(sets["0"]),
        positions_of(sets[str(count - 1)]),
    )
    assert list(range(1, count + 2)) == positions_of(sets.having)


def test_a_key_of_no_cluster_is_not_there() -> None:
    """As in a mapping."""
    index = InvertedIndex([{"env": "prod"}, {"tier": "t1", "env": "dev"}])

    assert (["env", "tier"], 2, None) == (list(index), len(index), index.get("zone"))


@given(st.sets(st.integers(0, 70)))
def test_flags_and_positions_give_the_same_set(positions: set[int]) -> None:
    """Few or many."""
    assert mask_of(positions) == mask_where([int(i in positions) for i in range(71)])


numbers = st.lists(st.integers(-(2**64), 2**64) | st.integers(-5, 5), min_size=1, max_size=20)


def answers(one: list[int], divisor: int) -> object:
    """Everything that a column of these numbers is asked."""
    column = column_of(one)
    order = Order(lesser(column, quotients(column, divisor)))
    return (
        listed(quotients(column, divisor)),
        order.positions,
        order.among(mask_of(range(0, len(one), 3))),
    )


def test_many_clusters_are_a_numpy_column() -> None:
    """Or else the next test would compare lists with lists."""
    assert [True, False] == [
        isinstance(column_of(range(size)), list) for size in (columns.MANY - 1, columns.MANY)
    ]


@given(numbers, st.integers(1, 2**65))
def test_both_forms_answer_alike(one: list[int], divisor: int) -> None:
    """Also where a number or a divisor has more than 64 bits."""
    many = [*one, *[0] * columns.MANY]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MANY", 10**6)
        expected = answers(many, divisor)

    assert expected == answers(many, divisor)


def totals(one: list[int], other: list[int], weight: int) -> object:
    """Everything that scores of some clusters are asked for."""
    everyone = mask_of(range(len(one)))
    some = mask_of(range(0, len(one), 2))
    summed = weighted_sum([(weight, column_of(one)), (1, column_of(other))], len(one))
    chosen = of_clusters(summed, some)
    steadied = of_clusters(flagged(some, len(one), 7), everyone)
    return (
        listed(summed),
        listed(best_first(summed, everyone)),
        listed(best_first(chosen, some)),
        greatest(summed),
        listed(steadied),
        places_of(some),
    )


@given(numbers, st.integers(-(2**40), 2**65))
def test_sums_and_their_order_are_alike(one: list[int], weight: int) -> None:
    """Also where a sum has more than 64 bits, and where all numbers are near each other."""
    many = [*one, *[0] * columns.MANY]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MANY", 10**6)
        expected = totals(many, many[::-1], weight)

    assert expected == totals(many, many[::-1], weight)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 8), max_size=5))
def test_tables_and_counts_are_alike(codes: list[int], places: list[int]) -> None:
    """What is looked up by a code, and what is counted less."""
    many = [*codes, *[9] * columns.MANY]
    table = [*range(100, 110)]

    def found() -> object:
        column = column_of(many)
        return (
            listed(coded(column, table)),
            sorted(distinct(column)),
            listed(less_one_each(column, places)),
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MANY", 10**6)
        expected = found()

    assert expected == found()


@given(numbers, st.integers(0, 2**65))
def test_numbers_are_put_in_alike(one: list[int], number: int) -> None:
    """Wherever a number stands, and for some of the clusters."""
    many = [*one, *[0] * columns.MANY]
    some = mask_of(range(0, len(many), 3))

    def found() -> object:
        column = column_of(many)
        return (
            listed(replaced(column, 0, number)),
            listed(with_number(column, some, 2**31 - 1)),
            listed(column) == many,
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MANY", 10**6)
        expected = found()

    assert expected == found()
