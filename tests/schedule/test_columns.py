"""Columns answer alike, whether numpy computes them or Python does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    weighted_sum,
)
from reconciler.schedule.framework import mask_of

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
