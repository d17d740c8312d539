"""What CI takes a share of: every test keeps a case, every run takes the same ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import bounded
from tests.left_out import PLACES
from tests.shell.fleet import ROOT

CASES = 9
TEST = f"""
import pytest
from hypothesis import given, settings, strategies as st
from tests.bounded import examples

@pytest.mark.parametrize("n", range({CASES}))
def test_one(n): pass

def test_another(): pass

DRAWN = []

@settings(max_examples=examples(40))
@given(st.integers())
def test_law(n): DRAWN.append(n)

def test_drawn():
    print("drawn", DRAWN)
    assert len(DRAWN) == examples(40)
"""


@pytest.mark.parametrize("test", bounded.CASES)
def test_what_is_bounded_is_there(test: str) -> None:
    """A test that has cases."""
    path, _, name = test.partition("::")
    before, found, _ = (ROOT / path).read_text(encoding="utf-8").partition(f"\ndef {name}(")

    assert found
    assert "@pytest.mark.parametrize(" in before.rpartition("\n\n\n")[2]
    assert bounded.ONE_IN == bounded.one_in(f"{min(PLACES)}::test_it")
    assert bounded.CASES[test] == bounded.one_in(test)


def run(folder: Path, *arguments: str, **environment: str) -> str:
    """What pytest says of a file whose test is bounded, or of one that is not."""
    room = folder / "tests" / "crash"
    room.mkdir(parents=True, exist_ok=True)
    (room / "test_it.py").write_text(TEST, encoding="utf-8")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p")
    return subprocess.run(
        [*command, "no:cacheprovider", "--rootdir", str(folder), *arguments, "tests/crash"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**bounded.environment_of_all(), "PYTHONPATH": str(ROOT), **environment},
    ).stdout


def test_a_bounded_run_takes_a_share_and_says_so(tmp_path: Path) -> None:
    """The first case of six, so at least one; of a law a sixth of its worlds."""
    said = run(tmp_path, BOUNDED="1")

    assert f"{3 + 2} passed, {CASES - 2} deselected" in said
    assert bounded.summary() in said


def test_any_other_run_takes_all(tmp_path: Path) -> None:
    """And has nothing to say of it."""
    said = run(tmp_path)

    assert f"{3 + CASES} passed" in said
    assert "left to" not in said


def test_laws_by_hand_have_other_examples(tmp_path: Path) -> None:
    """Those of each seed; any other run has the same ones."""
    alike = [run(tmp_path, "-s") for _ in range(2)]
    others = [
        run(tmp_path, "-s", f"--hypothesis-seed={seed}", **{bounded.OTHER_EXAMPLES: seed})
        for seed in ("1", "2")
    ]
    drawn = [said.partition("drawn [")[2].partition("]")[0] for said in (*alike, *others)]

    assert drawn[0]
    assert 3 == len(set(drawn))
