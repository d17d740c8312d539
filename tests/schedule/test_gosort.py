"""Go's unstable sort: sorted it is, and stable where Go's happens to be."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule.gosort import sort_descending

KEYS = st.lists(st.integers(0, 9), max_size=300)


@given(KEYS)
def test_result_is_sorted_and_complete(keys: list[int]) -> None:
    """Whatever the way of equal ones, the keys descend and nobody is lost."""
    found = sort_descending(range(len(keys)), keys)

    assert sorted(keys, reverse=True) == [keys[i] for i in found]
    assert list(range(len(keys))) == sorted(found)


@given(st.lists(st.integers(0, 9), max_size=12))
def test_short_lists_are_stable(keys: list[int]) -> None:
    """Up to twelve elements Go uses insertion sort."""
    expected = sorted(range(len(keys)), key=lambda i: -keys[i])

    assert expected == sort_descending(range(len(keys)), keys)


@given(KEYS)
def test_ordered_lists_stay(keys: list[int]) -> None:
    """A list that descends already is left as it is."""
    keys.sort(reverse=True)

    assert list(range(len(keys))) == sort_descending(range(len(keys)), keys)
