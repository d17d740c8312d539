"""What is counted in calls is held against a record, sentence by sentence."""

import json
import sys

import pytest

from benchmarks.calls.__main__ import FIRST, QUESTIONS, RECORD, judged
from benchmarks.calls.counted_command import calls_of
from reconciler.model.text import printable

RECORDED = {"status": 1000, "why": 200}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"status": 1000, "why": 200}, []),
        ({"status": 1100, "why": 180}, []),
        ({"status": 1101, "why": 200}, ["status: 1,101 calls, 10 % more than the 1,000 recorded"]),
        ({"status": 10, "why": 400}, ["why: 400 calls, 100 % more than the 200 recorded"]),
        ({"status": 1000}, ["why: it is not counted any more; take it out with make bench-record"]),
        (
            {"status": 1000, "why": 200, "plan": 1},
            ["plan: it was never recorded; make bench-record does"],
        ),
    ],
)
def test_what_takes_a_tenth_more_is_told(found: dict[str, int], said: list[str]) -> None:
    """A tenth itself is let through, and so is what takes less."""
    assert judged(found, RECORDED) == said


def test_every_question_is_recorded() -> None:
    """And every pass."""
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))

    assert {f"{name}, second call" for name in QUESTIONS} < recorded.keys()
    assert FIRST in recorded


def test_only_our_functions_are_counted_and_each_call_of_them() -> None:
    """Comprehensions are none of their own in later versions of Python, so they never are."""
    assert calls_of(lambda: [printable(text) for text in ("a", "b", "c")]) == 3
    assert calls_of(lambda: sorted(json.loads("[2, 1]"))) == 0


def test_counting_leaves_no_profile_behind() -> None:
    """What comes after it is as quick as before."""
    calls_of(lambda: printable("a"))

    assert sys.getprofile() is None
