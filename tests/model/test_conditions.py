"""Conditions: one of each type; the moment moves with the status only."""

import pytest

from reconciler.model.cluster import Condition, set_condition

OLD, NEW = "2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z"
READY = {
    "type": "Ready",
    "status": "True",
    "lastTransitionTime": OLD,
    "reason": "a",
    "message": "b",
}


@pytest.mark.parametrize(
    ("status", "moment"),
    [pytest.param("True", OLD, id="same-status"), pytest.param("False", NEW, id="other-status")],
)
def test_moment_moves_with_the_status(status: str, moment: str) -> None:
    """A new reason alone is no transition."""
    other = {"type": "Other", "status": "True"}
    expected = {**READY, "status": status, "lastTransitionTime": moment, "reason": "x"}

    assert [expected, other] == set_condition(
        [READY, other], Condition("Ready", status, "x", "b"), at=NEW
    )


def test_new_condition_comes_last() -> None:
    """With the present moment, and the generation if there is one."""
    expected = {
        "type": "Scheduled",
        "status": "True",
        "lastTransitionTime": NEW,
        "reason": "Success",
        "message": "",
        "observedGeneration": 3,
    }

    assert [READY, expected] == set_condition(
        [READY], Condition("Scheduled", "True", "Success", "", 3), at=NEW
    )
