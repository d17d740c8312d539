"""What README.md and docs/rebalancing.md show is true on any day: it is written and run."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.model.moments import format_moment
from reconciler.shell.resources import write_example
from tests.cli.history import answer
from tests.cli.test_rebalance import recovered_fleet
from tests.pages.run import Command, Reader, new_reader, steps_of, told
from tests.pages.run import missing_piece as missing
from tests.shell.fleet import PATIENCE_SECONDS, ROOT, eventually
from tests.shell.repositories import Checkout

TOLD = told("docs/rebalancing.md")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The shop left a cluster that failed, and is back."""
    return recovered_fleet(tmp_path_factory.mktemp("document") / "fleet")


@pytest.mark.parametrize(("command", "pieces"), TOLD, ids=[command for command, _ in TOLD])
def test_the_document_shows_what_is_advised(
    recovered: Checkout,
    capsys: pytest.CaptureFixture[str],
    command: str,
    pieces: list[list[str]],
) -> None:
    """But for ids of commits and moments."""
    code, out, _ = answer(recovered, capsys, *shlex.split(command))
    shown = [[MOMENT.sub("~", line) for line in piece] for piece in pieces]

    assert (0, "") == (code, missing(shown, MOMENT.sub("~", out)))


RECONCILER = """#!/bin/sh
exec "{python}" -P -m reconciler "$@"
"""
QUIET = timedelta(seconds=5)
IDLE = b"nothing to do\n"


@dataclass
class ServedReader(Reader):
    """Somebody at two terminals: one has the daemon."""

    daemon: "subprocess.Popen[bytes] | None" = None

    def come_to_rest(self) -> None:
        """Wait until the daemon has done what there is to do, also in the next seconds."""
        if self.daemon is None:
            with (self.tools / "log").open("wb") as log:
                self.daemon = subprocess.Popen(
                    [str(self.tools / "reconciler"), "run"],
                    cwd=self.folder,
                    env=self.environment(),
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                )
        eventually(self._rests, "the daemon")

    def start(self, command: str) -> "subprocess.CompletedProcess[bytes]":
        """Run a command in a process, as a person does; time goes by."""
        return self.start_process(command)

    def let_time_pass(self, seconds: int = 2) -> None:
        """Do nothing: it goes by."""

    def _rests(self) -> bool:
        """Return whether nothing is to be done now, nor a little later."""
        assert self.daemon is not None
        assert self.daemon.poll() is None, (self.tools / "log").read_text(encoding="utf-8")
        later = format_moment((datetime.now(UTC) + QUIET).replace(microsecond=0))
        asked = ["reconcile", "--branch", "main", "--dry-run"]
        questions = (asked, [*asked, "--now", later])  # the second only where the first is idle
        return all(self.ask(question).stdout.startswith(IDLE) for question in questions)


@contextmanager
def served_reader(folder: Path) -> Iterator[ServedReader]:
    """Return a reader in an empty folder; the daemon that it started must end with 0."""
    home, tools = folder / "home", folder / "tools"
    home.mkdir(parents=True)
    tools.mkdir()
    tool = tools / "reconciler"
    tool.write_text(RECONCILER.format(python=sys.executable), encoding="utf-8")
    tool.chmod(0o755)
    reader = ServedReader(home, tools)
    try:
        yield reader
    finally:
        if reader.daemon is not None:
            reader.daemon.send_signal(signal.SIGTERM)
            assert 0 == reader.daemon.wait(PATIENCE_SECONDS)


@contextmanager
def busy_processors() -> Iterator[None]:
    """Have as many processes as there are processors do nothing but work."""
    count = os.cpu_count() or 1
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


DAYS = [
    pytest.param(datetime.now(UTC).replace(microsecond=0), id="today"),
    pytest.param(datetime(2031, 2, 28, 23, 59, 30, tzinfo=UTC), id="years-later-over-midnight"),
]
PAGES = ["README.md", "example-repo/README.md", "docs/tour.md", "docs/editors.md"]
EXAMPLE, NIGHT = "example-repo/README.md", "tests/stories/night.md"  # those that start the daemon
SERVED = [(EXAMPLE, nullcontext), (EXAMPLE, busy_processors), (NIGHT, nullcontext)]


@pytest.mark.cpu_seconds(300)
@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_commands_print(page: str, day: datetime, tmp_path: Path) -> None:
    """From its first line to its last."""
    text = (ROOT / page).read_text(encoding="utf-8")
    reader = new_reader(tmp_path, day)
    prepare(page, reader.folder)

    assert "" == "\n".join(reader.follow(text))


def prepare(page: str, folder: Path) -> None:
    """Write what is there before a page begins: that of the example is in it."""
    if page.startswith("example-repo/"):
        write_example(folder)


@pytest.mark.cpu_seconds(600)
@pytest.mark.parametrize(("page", "load"), SERVED)
def test_a_page_is_true_beside_its_daemon(
    page: str, load: Callable[[], AbstractContextManager[None]], tmp_path: Path
) -> None:
    """On any machine: once alone, once beside others that take all processors."""
    text = (ROOT / page).read_text(encoding="utf-8")
    with load(), served_reader(tmp_path) as reader:
        prepare(page, reader.folder)

        assert "" == "\n".join(reader.follow(text))
        assert reader.daemon is not None


@pytest.mark.parametrize(("page", "commands"), [*zip(PAGES, (10, 20, 25, 3), strict=True)])
def test_something_is_run(page: str, commands: int) -> None:
    """The patterns find the consoles."""
    steps = steps_of((ROOT / page).read_text(encoding="utf-8"))

    assert commands <= sum(isinstance(step, Command) for step in steps)
