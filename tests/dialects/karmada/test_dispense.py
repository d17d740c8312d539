"""Replicas are handed out alike whether all clusters are looked at or those that count."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.karmada.scheduler.divide import dispense

WEIGHTS = st.lists(st.integers(0, 6) | st.integers(2**53 - 2, 2**53 + 2), max_size=12)


@given(WEIGHTS, st.integers(-1, 30), st.sampled_from(["", "a", "b"]), st.randoms())
def test_who_comes_too_late_gets_nothing(
    weights: list[int], replicas: int, uid: str, order: Random
) -> None:
    """Ties go by position, from the least or from the greatest, as the uid has it."""
    parties = list(range(len(weights)))
    order.shuffle(parties)
    ordered = sorted(weights, reverse=True)
    expected = dispense(replicas, parties, ordered, uid)
    found = dispense(replicas, parties, ordered, uid, ordered=True)

    assert [share for share in expected if share[1]] == [share for share in found if share[1]]
