"""Division of replicas by Webster's method, and Go's unstable sort."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule.apportion import allot, breaks_ties_descending
from reconciler.schedule.gosort import sort_descending

WEIGHTS = st.lists(st.integers(0, 60), min_size=1, max_size=12)


def one_by_one(replicas: int, weights: list[int], *, descending: bool) -> list[int]:
    """The rule as it is told: one replica after the other."""
    held = [0] * len(weights)
    sign = -1 if descending else 1
    queue = [(-float(weight), 0, sign * i, i) for i, weight in enumerate(weights) if weight > 0]
    heapq.heapify(queue)
    for _ in range(replicas if queue else 0):
        i = queue[0][-1]
        held[i] += 1
        heapq.heapreplace(queue, (-float(weights[i]) / (2 * held[i] + 1), held[i], sign * i, i))
    return held


@given(st.integers(0, 2000), WEIGHTS, st.booleans())
def test_fast_way_equals_one_by_one(replicas: int, weights: list[int], descending: bool) -> None:  # noqa: FBT001 - drawn
    """Handing out many replicas at once changes nothing."""
    assert one_by_one(replicas, weights, descending=descending) == allot(
        replicas, weights, descending=descending
    )


@given(st.integers(0, 10**9), WEIGHTS)
def test_all_replicas_are_handed_out(replicas: int, weights: list[int]) -> None:
    """The shares add up, unless nobody has any weight."""
    assert (replicas if any(weights) else 0) == sum(allot(replicas, weights))


@given(st.integers(0, 500), WEIGHTS)
def test_one_more_replica_takes_from_nobody(replicas: int, weights: list[int]) -> None:
    """Webster's method is house-monotone."""
    fewer, more = allot(replicas, weights), allot(replicas + 1, weights)

    assert all(one <= other for one, other in zip(fewer, more, strict=True))


@given(WEIGHTS)
def test_all_room_taken_means_everyone_is_full(weights: list[int]) -> None:
    """At as many replicas as there is room each cluster gets exactly its room."""
    assert weights == allot(sum(weights), weights)


@pytest.mark.parametrize(
    ("replicas", "weights", "descending", "expected"),
    [
        pytest.param(4, [1, 1, 1], False, [2, 1, 1], id="tie-to-the-lesser-name"),
        pytest.param(4, [1, 1, 1], True, [1, 1, 2], id="tie-to-the-greater-name"),
        pytest.param(3, [0, 0], False, [0, 0], id="no-weight-no-share"),
        pytest.param(2, [-5, 3], False, [0, 2], id="negative-weight-gets-nothing"),
        pytest.param(1, [2**53, 2**53 + 1], False, [1, 0], id="weights-compare-as-float64"),
        pytest.param(0, [1], False, [0], id="nothing-to-hand-out"),
    ],
)
def test_shares(replicas: int, weights: list[int], descending: bool, expected: list[int]) -> None:  # noqa: FBT001 - a column of the table
    """Named cases of the rule."""
    assert expected == allot(replicas, weights, descending=descending)


@pytest.mark.parametrize(
    ("uid", "expected"),
    [
        pytest.param("", False, id="none"),
        pytest.param("a", False, id="even"),
        pytest.param("b", True, id="odd"),
    ],
)
def test_uid_decides_ties(uid: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """The hash is odd when an even number of bytes have their lowest bit set."""
    odd_bytes = sum(byte & 1 for byte in uid.encode())

    assert expected == breaks_ties_descending(uid)
    assert not uid or expected == (odd_bytes % 2 == 0)


def test_negative_replicas_are_a_mistake() -> None:
    """There is no such division."""
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        allot(-1, [1])


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
