"""What previews and foresights say is true to the letter."""

from dataclasses import replace
from datetime import timedelta

import pytest

from reconciler.audit.previews.foresight import moved_words, step_words, waited_step
from reconciler.audit.previews.preview import Counts, Preview
from reconciler.audit.previews.wording import footer
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.identity import ClusterName, ObjectKey
from tests.builders import NOW

KEY = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
PREVIEW = Preview(
    now=NOW,
    entries=(),
    anyway=(),
    counts=Counts(),
    warnings=(),
    faults=(),
    mended=(),
    removes=(),
    recheck_at=None,
)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(None, "no further changes pending", id="never"),
        pytest.param(1, "another pass at 2026-11-20T12:00:01Z would continue", id="at-once"),
        pytest.param(60, "no further changes before 2026-11-20T12:01:00Z", id="later"),
    ],
)
def test_a_moment_a_second_away_is_no_rest(seconds: int | None, expected: str) -> None:
    """A daemon is there before anybody has read that nothing changes until then."""
    until = None if seconds is None else NOW + timedelta(seconds=seconds)

    assert f"evaluated at 2026-11-20T12:00:00Z; {expected}" == footer(
        replace(PREVIEW, recheck_at=until)
    )


def decided(before: dict[str, int], after: dict[str, int]) -> Decision:
    """A decision that moves web."""
    return Decision(KEY, "default/web", Cause(CauseKind.EVICTED, ""), _on(before), _on(after))


def _on(counts: dict[str, int]) -> Placed:
    return tuple((ClusterName(name), count) for name, count in counts.items())


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {"a": 1}, "it is placed, as of now to a(1)", id="placed"),
        pytest.param({"a": 2}, {"b": 2}, "it moves, as of now to b(2)", id="moved"),
        pytest.param({"a": 2}, {}, "it moves, as of now to nowhere", id="nowhere"),
        pytest.param({"a": 0, "b": 0}, {"b": 0}, "it leaves a, and it stays on b", id="left"),
        pytest.param({"a": 1, "b": 1}, {"b": 2}, "it moves, as of now to b(2)", id="taken-over"),
        pytest.param({"a": 3}, {"a": 2}, "it has fewer replicas, and it stays on a(2)", id="fewer"),
    ],
)
def test_an_object_moves_only_to_where_it_was_not(
    before: dict[str, int], after: dict[str, int], expected: str
) -> None:
    """What leaves a cluster and runs on the others already goes nowhere."""
    decision = decided(before, after)

    assert expected == moved_words(step_words(decision), decision)


def test_what_waits_for_a_moment_may_move_or_leave() -> None:
    """As far as is known where that leads."""
    assert "it may move" == waited_step(None)
    assert "it may move" == waited_step(decided({"a": 0}, {"b": 0}))
    assert "it leaves a" == waited_step(decided({"a": 0, "b": 0}, {"b": 0}))
