"""The runner itself: figures, differences, exit code."""

import json
from pathlib import Path

import pytest

from tests.conformance.compare import first_difference
from tests.conformance.run import run_files


def test_unknown_family_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A family that nobody answers counts as failed, and the exit code says so."""
    case = {"name": "x", "family": "nothing", "input": {}, "expected": {}}
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(case) + "\n")

    assert 1 == run_files([path])
    assert "karmada/nothing:x: family is not built" in capsys.readouterr().out


def test_last_line_is_the_total(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, no failure."""
    assert 0 == run_files([])
    assert "0 passed, 0 failed" == capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("expected", "actual", "difference"),
    [
        pytest.param({"a": [1, 2]}, {"a": [1, 2]}, None, id="equal"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3]}, ".a[1]: expected 2, got 3", id="in-a-list"),
        pytest.param({"a": 1}, {}, ".a: missing", id="missing-key"),
        pytest.param({}, {"a": 1}, ".a: not expected", id="key-too-much"),
        pytest.param([1], [1, 2], ": expected [1], got [1, 2]", id="length"),
    ],
)
def test_first_difference_names_the_place(
    expected: object, actual: object, difference: str | None
) -> None:
    """The place is a path into the expected value."""
    assert difference == first_difference(expected, actual)
