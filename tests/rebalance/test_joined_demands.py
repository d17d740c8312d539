"""What counts of several demands on one target, who brings it about, and whose limit gives way."""

from collections.abc import Mapping

import pytest

from reconciler.rebalance.rebalancer_files import (
    OverriddenLimit,
    TargetDemand,
    join_demands,
    overridden_limits,
)
from tests.builders import NOW, after

ALL, TWO, FIVE = TargetDemand(NOW), TargetDemand(NOW, budget=2), TargetDemand(NOW, budget=5)
ON = TargetDemand(after(-60), budget=5, fresh=False)


@pytest.mark.parametrize(
    ("demands", "expected", "by"),
    [
        pytest.param({"a": TWO}, TWO, ("a",), id="one"),
        pytest.param({"a": TWO, "b": ALL}, ALL, ("b",), id="no-limit-wins"),
        pytest.param({"b": ALL, "a": ALL}, ALL, ("a", "b"), id="each-suffices"),
        pytest.param({"a": TWO, "b": FIVE}, FIVE, ("b",), id="the-largest-limit-wins"),
        pytest.param({"a": ON, "b": ALL}, ALL, ("b",), id="afresh-wins"),
        pytest.param({"a": ON, "b": TWO}, FIVE, ("a", "b"), id="needed-together"),
        pytest.param(
            {"a": TargetDemand(after(9), budget=2), "b": ALL},
            TargetDemand(after(9)),
            ("b",),
            id="the-latest-moment",
        ),
    ],
)
def test_demands_are_joined(
    demands: Mapping[str, TargetDemand], expected: TargetDemand, by: tuple[str, ...]
) -> None:
    """Whoever asks for less than the others together is not named."""
    joined = join_demands(demands)

    assert (expected, by) == (joined.demand, joined.by)


@pytest.mark.parametrize(
    ("demands", "allowed", "expected"),
    [
        pytest.param({"a": TWO, "b": ALL}, {"a": 2}, [("a", 2)], id="no-limit"),
        pytest.param({"b": ALL}, {"a": 0}, [("a", 0)], id="one-that-waits"),
        pytest.param({"a": TWO, "b": FIVE}, {"a": 2, "b": 5}, [("a", 2)], id="a-larger-one"),
        pytest.param({"a": TWO, "b": TWO}, {"a": 2, "b": 2}, [], id="equal-ones"),
        pytest.param({"a": TWO}, {"a": 2}, [], id="alone"),
    ],
)
def test_limits_that_do_not_hold(
    demands: Mapping[str, TargetDemand],
    allowed: Mapping[str, int],
    expected: list[tuple[str, int]],
) -> None:
    """Each with what it would have let go, and with those who demand more."""
    found = list(overridden_limits(join_demands(demands), allowed))

    assert [OverriddenLimit(who, count, ("b",)) for who, count in expected] == found
