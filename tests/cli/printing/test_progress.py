"""What is being done, and how far it is: on terminals, once it takes long, never in the data."""

import os
import pty
import subprocess
import sys

import pytest

from reconciler.cli import progress
from tests.cli.history import told_fleet
from tests.cli.printing.test_terminal import read_all
from tests.shell.fleet import process_environment, reconciler
from tests.shell.repositories import Checkout

AT_ONCE = (
    "import runpy\n"
    "from reconciler.cli import progress\n"
    "progress.AFTER_SECONDS = {after}\n"
    "runpy.run_module('reconciler', run_name='__main__')\n"
)
READING, PASSES, HISTORY = progress.READING, progress.PASSES, progress.HISTORY
QUESTIONS = [
    pytest.param("get rb -A -o wide", PASSES, id="get"),
    pytest.param("describe deployment/shop", HISTORY, id="describe"),
    pytest.param("status", PASSES, id="status"),
    pytest.param("top clusters", "Adding up", id="top"),
    pytest.param("tree pp/shop", PASSES, id="tree"),
    pytest.param("events", HISTORY, id="events"),
    pytest.param("why deployment/shop", PASSES, id="why"),
    pytest.param("history deployment/shop", HISTORY, id="history"),
    pytest.param("blame deployment/shop", HISTORY, id="blame"),
    pytest.param("verify", "Verifying commits", id="verify"),
    pytest.param("report -o fleet.html", "Writing the page", id="report"),
    pytest.param("validate --references", "Following references", id="validate"),
    pytest.param("plan --worktree", PASSES, id="plan"),
    pytest.param("simulate --fail member2", PASSES, id="simulate"),
    pytest.param("simulate --fail-each", "Failing clusters", id="simulate-each"),
    pytest.param("render deployment/shop", "Rendering", id="render"),
    pytest.param("rebalance deployment/shop --dry-run", PASSES, id="rebalance"),
    pytest.param("scale deployment/shop --replicas=3 --dry-run", PASSES, id="scale"),
    pytest.param("reconcile --dry-run", "Deciding", id="reconcile"),
    pytest.param("api-resources", READING, id="api-resources"),
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    return told_fleet(tmp_path_factory.mktemp("progress") / "fleet")


def on_terminal(fleet: Checkout, words: str, *, after: float) -> tuple[str, str]:
    """Run a verb that tells of its work after so many seconds; return the answer, and the rest."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", AT_ONCE.format(after=after), "--cache-dir", "off", *words.split()],
        cwd=fleet.folder,
        env={**process_environment(), "TERM": "xterm-256color", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        said = read_all(ours)
        assert process.stdout is not None
        answer = process.stdout.read().decode()
    assert 0 == process.returncode, said
    return answer, said


@pytest.mark.parametrize(("words", "what"), QUESTIONS)
def test_each_question_says_what_it_does(fleet: Checkout, words: str, what: str) -> None:
    """On standard error, and nowhere in the answer."""
    answer, said = on_terminal(fleet, words, after=0)

    assert what in said
    assert what not in answer


def test_what_is_counted_is_told_as_a_count(fleet: Checkout) -> None:
    """So many of so many."""
    _, said = on_terminal(fleet, "verify", after=0)

    assert "of 6" in said


def test_what_takes_no_time_is_not_told(fleet: Checkout) -> None:
    """Before half a second is over nobody has to be told to wait."""
    assert "" == on_terminal(fleet, "get rb", after=60)[1]


def test_a_pipe_gets_nothing_of_it(fleet: Checkout) -> None:
    """Neither beside the data nor in it."""
    finished = reconciler(fleet.folder, "verify")

    assert 0 == finished.code
    assert "Verifying" not in finished.stdout + finished.stderr


class TestTelling:
    """The parts of it, without a terminal."""

    def test_nobody_watches_unless_a_verb_says_so(self) -> None:
        """Servers work silently, and so does whoever uses the library."""
        with progress.doing("Something", 3) as done:
            done()
        assert [1, 2] == [*progress.tracked([1, 2], 2)]

    def test_half_a_second_counts_from_the_beginning_of_the_verb(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Many short pieces of work are long together."""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        started: list[float] = []

        class Timer:
            def __init__(self, seconds: float, _: object) -> None:
                started.append(seconds)

            def start(self) -> None: ...

            def cancel(self) -> None: ...

        monkeypatch.setattr("threading.Timer", Timer)
        with progress.telling():
            for _ in range(2):
                with progress.doing("Something"):
                    pass
        first, second = started

        assert second < first <= progress.AFTER_SECONDS
