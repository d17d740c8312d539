"""Which of many rebalances are advised."""

from collections.abc import Iterable

import pytest

from reconciler.audit.gains import Candidate, Change, Gain, Goal, WhyNot, beyond, choose
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.rebalance.target import Reference

A, B = ClusterName("a"), ClusterName("b")


def candidate(name: str, points: int, moves: int) -> Candidate:
    """Something that gains so many points for so many moves."""
    before = ((A, moves),) if moves else ()
    return Candidate(
        reference=Reference("apps/v1", "Deployment", "default", name),
        key=ObjectKey("work.karmada.io", "ResourceBinding", "default", name),
        subject=name,
        change=Change(before=before, after=((B, moves or 1),)),
        moves=moves,
        gains=(Gain(Goal.ROOM, points, "more"),),
        points=points,
    )


def names(candidates: Iterable[Candidate]) -> str:
    """Their names, one letter each."""
    return "".join(one.subject for one in candidates)


MANY = [candidate("w", 100, 5), candidate("x", 300, 2), candidate("y", 90, 1), candidate("z", 0, 1)]


@pytest.mark.parametrize(
    ("min_points", "max_moves", "expected", "why"),
    [
        pytest.param(1, None, "xyw", {"z": WhyNot.NO_GAIN}, id="best-rate-first"),
        pytest.param(
            50, None, "xy", {"w": WhyNot.BELOW, "z": WhyNot.NO_GAIN}, id="threshold-by-move"
        ),
        pytest.param(
            1, 3, "xy", {"w": WhyNot.BEYOND, "z": WhyNot.NO_GAIN}, id="as-many-as-are-allowed"
        ),
        pytest.param(
            1,
            1,
            "y",
            {"x": WhyNot.BEYOND, "w": WhyNot.BEYOND, "z": WhyNot.NO_GAIN},
            id="lesser-ones-that-fit",
        ),
        pytest.param(
            1000, None, "", {**dict.fromkeys("wxy", WhyNot.BELOW), "z": WhyNot.NO_GAIN}, id="none"
        ),
    ],
)
def test_most_gain_for_fewest_moves_comes_first(
    min_points: int, max_moves: int | None, expected: str, why: dict[str, WhyNot]
) -> None:
    """Within a threshold by move, and a limit of all moves."""
    chosen, others = choose(MANY, min_points=min_points, max_moves=max_moves)

    assert (expected, why) == (names(chosen), {one.subject: one.why for one in others})


def test_what_moves_nothing_and_gains_counts_as_one_move() -> None:
    """Replicas that were nowhere need no move of another one."""
    chosen, _ = choose([candidate("x", 100, 0), candidate("y", 150, 1)], min_points=1, max_moves=0)

    assert "x" == names(chosen)


@pytest.mark.parametrize(
    ("excess", "expected"),
    [
        pytest.param(0, "", id="none"),
        pytest.param(1, "y", id="the-last"),
        pytest.param(2, "yx", id="as-many-as-it-takes"),
    ],
)
def test_what_is_too_much_leaves_the_last_out(excess: int, expected: str) -> None:
    """The least gain goes first."""
    assert expected == names(beyond(MANY[:3], excess))
