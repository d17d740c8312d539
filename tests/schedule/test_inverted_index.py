"""Sets of clusters by value, made as they are asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule.fleet import MOST_CODES, InvertedIndex, SetsByValue
from reconciler.schedule.framework import mask_of, mask_where, positions_of

VALUES = st.none() | st.sampled_from(["a", "b", ""])


@given(st.lists(VALUES, max_size=9))
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
