"""Which tests run when, and with which share of their cases; quick ones start no process."""

import ast
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests import bounded, left_out, mutations, quick
from tests.left_out import PLACES
from tests.shell.fleet import ROOT

WATCH = quick.Watch()
NAMED = (*quick.ROOMS, *quick.PROCESSES, *quick.LONG, *sorted(left_out.PLACES))
ONE = next(entry for entry in quick.PROCESSES if "::" in entry)


@pytest.mark.parametrize(
    "entry", [*quick.ROOMS, *quick.PROCESSES, *quick.LONG, *sorted(left_out.PLACES)]
)
def test_what_the_list_names_is_there(entry: str) -> None:
    """A room, a file, or a test of a file."""
    path, _, name = entry.partition("::")

    assert (ROOT / path).exists()
    assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_nothing_is_listed_twice() -> None:
    """Nor what is in no room of the fast loop anyway."""
    entries = (*quick.PROCESSES, *quick.LONG)
    parts = (*left_out.LEFT_OUT.values(), *left_out.EVERY_CASE.values())
    left = [place for places in parts for place in places]

    assert len(set(left)) == len(left)
    assert [] == [one for one in entries if left_out.is_left_out(one)]
    assert len(set(entries)) == len(entries)
    assert [] == [one for one in entries if not one.startswith(quick.ROOMS)]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        pytest.param("tests/core/test_safety.py::test_it", True, id="in-a-room"),
        pytest.param("tests/cli/test_reference.py::test_it", False, id="in-another"),
        pytest.param("tests/core/test_laws.py::test_settled", False, id="long"),
        pytest.param(f"{ONE}[a::b]", False, id="one-of-a-file"),
        pytest.param(quick.PROCESSES[0], False, id="all-of-a-file"),
        pytest.param("tests/core/test_message.py", True, id="some-of-a-file"),
    ],
)
def test_who_is_quick(test: str, expected: bool) -> None:  # noqa: FBT001  # a column
    """By room, file and name, whatever the parameters."""
    assert expected == quick.is_quick(test)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        pytest.param("tests/core/test_laws.py::test_settled", True, id="of-a-file"),
        pytest.param("tests/crash/test_sample.py::test_it[a]", True, id="of-a-folder"),
        pytest.param("tests/core", False, id="above-a-file"),
        pytest.param("tests/core/test_safety.py::test_it", False, id="of-another-file"),
    ],
)
def test_what_is_left_to_all(test: str, expected: bool) -> None:  # noqa: FBT001  # a column
    """By folder and file."""
    assert expected == left_out.is_left_out(test)


def test_a_run_says_what_it_skips_and_leaves_out(tmp_path: Path) -> None:
    """A line for each reason, and one for what was not asked for; all of it in `make test-all`."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.parametrize('n', range(2))\n"
        "def test_one(n): pytest.skip('not run: no moon')\n"
    )
    asked = (sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider")
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True, check=False)
    env = {**bounded.environment_of_all(), "PYTHONPATH": str(ROOT)}
    some = run([*asked, "-m", "not whole", "."], env=env).stdout
    every = run([*asked, "."], env=env).stdout

    assert "skipped 2: not run: no moon" in some
    assert left_out.summary() in some
    assert "skipped 2: not run: no moon" in every
    assert "left to" not in every


def listen() -> None:
    """Bind a socket."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))


def spawn() -> None:
    """Start a process as those of the product are that validate."""
    process = get_context("spawn").Process(target=print)
    process.start()
    process.join()


@pytest.mark.parametrize(
    ("start", "event"),
    [
        pytest.param(lambda: subprocess.run(["true"], check=True), "subprocess.Popen", id="run"),
        pytest.param(lambda: os.system("true"), "os.system", id="shell"),  # noqa: S605
        pytest.param(spawn, quick.SPAWN, id="spawn"),
        pytest.param(listen, "socket.bind", id="listen"),
    ],
)
def test_a_process_fails_a_quick_test(start: Callable[[], object], event: str) -> None:
    """At once, and at the end once more, since whoever started it may catch everything."""
    WATCH.begin(is_quick=True)
    try:
        with pytest.raises(pytest.fail.Exception, match=re.escape(event)):
            start()
        with pytest.raises(pytest.fail.Exception, match=r"tests/quick\.py"):
            WATCH.check()
    finally:
        WATCH.begin(is_quick=False)


def test_other_tests_may_start_processes() -> None:
    """Nothing is watched then, and nothing is left of what was watched before."""
    WATCH.begin(is_quick=False)
    subprocess.run(["true"], check=True)
    WATCH.check()


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
    assert bounded.ONE_IN == bounded.one_in(f"{min(left_out.SHARED)}::test_it")
    assert bounded.one_in(f"{min(PLACES - left_out.SHARED)}::test_it") == 1
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


@pytest.mark.parametrize("room", mutations.ROOMS)
def test_mutations_are_drawn_by_a_seed(room: str) -> None:
    """The same for the same one; each leaves a file that Python can read, and has tests."""
    drawn = mutations.draw(room, mutations.COUNT, 0)

    assert mutations.COUNT == len(set(drawn))
    assert drawn == mutations.draw(room, mutations.COUNT, 0)
    assert drawn != mutations.draw(room, mutations.COUNT, 1)
    for mutation in drawn:
        data = (ROOT / mutation.path).read_bytes()
        ast.parse(mutation.changed(data))
        assert mutation.before.encode() in data
    assert mutations.tests_of(drawn[0].path)
