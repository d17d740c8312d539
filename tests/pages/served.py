"""Runs a page as its reader would: with the real daemon beside it, and the clock of the day."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reconciler.model.moments import format_moment
from tests.pages.run import Reader
from tests.shell.fleet import PATIENCE_SECONDS, eventually

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

    def let_time_pass(self, seconds: int = 2) -> None:
        """Do nothing: it goes by."""

    def _rests(self) -> bool:
        """Return whether nothing is to be done now, nor a little later."""
        assert self.daemon is not None
        assert self.daemon.poll() is None, (self.tools / "log").read_text(encoding="utf-8")
        later = format_moment((datetime.now(UTC) + QUIET).replace(microsecond=0))
        asked = "reconciler reconcile --branch main --dry-run"
        answers = (self.start(asked).stdout, self.start(f"{asked} --now {later}").stdout)
        return all(answer.startswith(IDLE) for answer in answers)


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
