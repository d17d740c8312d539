"""TaintToleration: who is kept out, and until when someone is put up with."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.ocm.scheduler.plugins import refuse_tolerations, tolerance
from reconciler.errors import Misconfigured
from reconciler.model.cluster import Taint, TaintEffect, Toleration
from reconciler.model.moments import parse_moment

NOW = parse_moment("2026-11-20T12:00:00Z")
FOR_EVER = Toleration("k", "Exists")


def taint(effect: str = "NoSelect", age_seconds: float = 0, value: str = "") -> Taint:
    """A taint of the key `k`."""
    return Taint("k", value, TaintEffect(effect), NOW - timedelta(seconds=age_seconds))


def for_seconds(seconds: int) -> Toleration:
    """A toleration of the key `k` for a while."""
    return Toleration("k", "Exists", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("effect", "decided", "tolerated"),
    [
        pytest.param("NoSelect", False, False, id="no-select-rejects"),
        pytest.param("NoSelect", True, False, id="no-select-rejects-what-is-decided"),
        pytest.param("NoSelectIfNew", False, False, id="if-new-rejects-a-newcomer"),
        pytest.param("NoSelectIfNew", True, True, id="if-new-spares-what-is-decided"),
        pytest.param("PreferNoSelect", False, True, id="prefer-never-rejects"),
    ],
)
def test_effects_without_tolerations(effect: str, decided: bool, tolerated: bool) -> None:  # noqa: FBT001
    """The effect and the decision so far decide alone."""
    found = tolerance((taint(effect),), (), decided=decided, now=NOW)

    assert tolerated == (found.untolerated is None)


@pytest.mark.parametrize(
    ("tolerations", "tolerated", "until"),
    [
        pytest.param((for_seconds(10),), True, 1, id="one-second-left"),
        pytest.param((for_seconds(9),), False, None, id="just-run-out"),
        pytest.param((for_seconds(-1),), False, None, id="negative"),
        pytest.param((for_seconds(9), FOR_EVER), True, None, id="next-one-takes-over"),
        pytest.param((for_seconds(20), FOR_EVER), True, 11, id="first-that-holds-counts"),
        pytest.param((FOR_EVER, for_seconds(20)), True, None, id="for-ever-comes-first"),
        pytest.param((for_seconds(2**63 // 10**9),), True, 9223372027, id="most-that-fits"),
        pytest.param((for_seconds(2**63 // 10**9 + 1),), False, None, id="wraps-around"),
        pytest.param((Toleration("", "Exists"),), True, None, id="every-key"),
        pytest.param((Toleration("k", "Equal", "x"),), False, None, id="other-value"),
        pytest.param((Toleration("k", ""),), True, None, id="empty-operator-compares"),
        pytest.param((Toleration("k", "Near"),), False, None, id="unknown-operator"),
        pytest.param((Toleration("k", "Exists", "", "NoSelectIfNew"),), False, None, id="effect"),
    ],
)
def test_first_toleration_that_holds_decides(
    tolerations: tuple[Toleration, ...],
    tolerated: bool,  # noqa: FBT001
    until: int | None,
) -> None:
    """The taint is nine seconds old."""
    found = tolerance((taint(age_seconds=9),), tolerations, decided=False, now=NOW)

    assert tolerated == (found.untolerated is None)
    assert found.until == (None if until is None else NOW + timedelta(seconds=until))


def test_seconds_limit_the_spared_effect_only_while_new() -> None:
    """NoSelectIfNew is spared where decided, so no time limits it there."""
    found = [
        tolerance((taint("NoSelectIfNew"),), (for_seconds(5),), decided=decided, now=NOW).until
        for decided in (False, True)
    ]

    assert [NOW + timedelta(seconds=5), None] == found


def test_taint_without_a_moment_was_added_long_ago() -> None:
    """No toleration with seconds holds for it."""
    undated = Taint("k", "", TaintEffect.NO_SELECT)

    assert (
        undated == tolerance((undated,), (for_seconds(10**9),), decided=True, now=NOW).untolerated
    )


@given(
    ages=st.lists(st.integers(0, 100), min_size=1, max_size=4),
    seconds=st.lists(st.none() | st.integers(-5, 100), max_size=4),
    decided=st.booleans(),
)
def test_nothing_changes_before_the_moment_foreseen(
    ages: list[int], seconds: list[int | None], *, decided: bool
) -> None:
    """Up to `until` a cluster stays tolerated, and it has no moment if it stays so for ever."""
    taints = tuple(taint(age_seconds=age) for age in ages)
    tolerations = tuple(Toleration("k", "Exists", toleration_seconds=item) for item in seconds)

    def tolerated(now: datetime) -> bool:
        return tolerance(taints, tolerations, decided=decided, now=now).untolerated is None

    found = tolerance(taints, tolerations, decided=decided, now=NOW)
    last = (found.until or NOW + timedelta(seconds=1000)) - timedelta(seconds=1)
    if found.untolerated is None:
        assert tolerated(last)


@pytest.mark.parametrize(
    ("toleration", "message"),
    [
        pytest.param(Toleration("", "Equal"), "If the key is empty", id="empty-key"),
        pytest.param(Toleration("", ""), "If the key is empty", id="empty-key-and-operator"),
        pytest.param(Toleration("k", "Exists", "v"), "If the operator is Exists", id="value"),
    ],
)
def test_contradiction_is_misconfigured(toleration: Toleration, message: str) -> None:
    """Upstream's sentences."""
    with pytest.raises(Misconfigured, match=message):
        refuse_tolerations((FOR_EVER, toleration))
