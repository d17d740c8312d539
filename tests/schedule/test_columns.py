"""Columns answer alike, whether numpy computes them or Python does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule import columns
from reconciler.schedule.columns import Order, column_of, lesser, listed, quotients
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
