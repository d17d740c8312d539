"""Which worker has which root: it stays where its memory is, and nobody has too many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.shell.work.root_workers import RootShares

ROOTS = tuple(f"r{number}" for number in range(20))
WORKERS = ("a", "b", "c", "d")


def shared(workers: list[str], present: dict[str, str] | None = None) -> dict[str, str]:
    """Return who has each root after all of them had a pass."""
    shares = RootShares(ROOTS, present or {})
    return {root: shares.take(root, workers) for root in ROOTS}


def test_roots_stay_where_they_are() -> None:
    """Also where a new daemon finds them."""
    before = shared([*WORKERS])

    assert before == shared([*WORKERS], before)


def test_a_worker_that_is_gone_loses_its_roots_only() -> None:
    """The others have theirs still."""
    before = shared([*WORKERS])
    after = shared(["a", "b", "c"], before)

    assert [] == [root for root in ROOTS if before[root] != "d" and after[root] != before[root]]


@given(st.lists(st.sets(st.sampled_from(WORKERS), min_size=1), min_size=1, max_size=6))
def test_nobody_has_more_than_a_share(steps: list[set[str]]) -> None:
    """Whoever came and went before; and a second round moves nothing."""
    shares = RootShares(ROOTS, {})
    for workers in steps:
        found = {root: shares.take(root, sorted(workers)) for root in ROOTS}
        again = {root: shares.take(root, sorted(workers)) for root in ROOTS}

        assert found == again
        most = -(-len(ROOTS) // len(workers))
        assert [] == [one for one in workers if len(shares.roots_of(one)) > most]


@pytest.mark.parametrize("root", ["r0", "r19"])
def test_a_root_that_nobody_has_is_told(root: str) -> None:
    """By an empty name."""
    assert "" == RootShares(ROOTS, {"r1": "a"}).worker_of(root)
