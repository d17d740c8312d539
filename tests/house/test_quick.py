"""The fast loop starts no process: what does in one of its tests fails it, whoever catches that."""

import os
import re
import socket
import subprocess
from collections.abc import Callable
from multiprocessing import get_context

import pytest

from tests import quick
from tests.shell.fleet import ROOT

WATCH = quick.Watch()
ONE = next(entry for entry in quick.PROCESSES if "::" in entry)


@pytest.mark.parametrize("entry", [*quick.ROOMS, *quick.PROCESSES, *quick.LONG])
def test_what_the_list_names_is_there(entry: str) -> None:
    """A room, a file, or a test of a file."""
    path, _, name = entry.partition("::")

    assert (ROOT / path).exists()
    assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_nothing_is_listed_twice() -> None:
    """Nor what is in no room of the fast loop anyway."""
    entries = (*quick.PROCESSES, *quick.LONG)

    assert len(set(entries)) == len(entries)
    assert [] == [one for one in entries if not one.startswith(quick.ROOMS)]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        pytest.param("tests/core/test_brake.py::test_it", True, id="in-a-room"),
        pytest.param("tests/cli/test_help.py::test_it", False, id="in-another"),
        pytest.param("tests/core/test_laws.py::test_settled", False, id="long"),
        pytest.param(f"{ONE}[a::b]", False, id="one-of-a-file"),
        pytest.param(quick.PROCESSES[0], False, id="all-of-a-file"),
        pytest.param("tests/core/test_message.py", True, id="some-of-a-file"),
    ],
)
def test_who_is_quick(test: str, expected: bool) -> None:  # noqa: FBT001  # a column
    """By room, file and name, whatever the parameters."""
    assert expected == quick.is_quick(test)


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
