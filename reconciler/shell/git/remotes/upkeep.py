"""Upkeep of a mirror beside its passes: packs that grow few, and an index of what commits changed.

It runs as a process of its own, one command after the other, and is looked at now and then. Neither
command takes a reference's lock or drops an object, so passes go on meanwhile; a kill leaves what
the next start removes, and nothing is lost.
"""

import contextlib
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from typing import BinaryIO, cast

from reconciler.shell.git.command import Git, stop

COMMANDS = (
    ("repack", "-d", "-l", "--quiet", "--geometric=2"),
    ("commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress"),
)
EVERY_SECONDS = 3600.0  # ours: each takes a second where little came; at first it reads all history
MANY = 100  # packs that came since: each process of git opens all of them
SETTINGS = {"pack.threads": "1"}  # the other processors are for passes


class Upkeep:
    """Runs the commands from time to time."""

    def __init__(self, git: Git, *, moment: Callable[[], float] = time.monotonic) -> None:
        """Remember where to run, and what says how many seconds have gone by."""
        # Whoever opens the mirror after a kill need not wait for a command that was left behind.
        self._git = replace(git.having(settings=SETTINGS), inherited=())
        self._moment = moment
        self._next_at = moment()
        self._came = 0
        self._left: tuple[tuple[str, ...], ...] = ()
        self._process: subprocess.Popen[bytes] | None = None

    def is_running(self) -> bool:
        """Return whether a command is at work."""
        return self._process is not None and self._process.poll() is None

    def note_pack(self) -> None:
        """Take note of a pack that came."""
        self._came += 1

    def go_on(self) -> bool:
        """Start the next command if the one before is over, or if it is time to begin again.

        Returns:
            Whether a command is at work now.
        """
        if self.is_running():
            return True
        self._put_away()
        if not self._left:
            if self._moment() < self._next_at and self._came < MANY:
                return False
            self._came = 0
            self._left, self._next_at = COMMANDS, self._moment() + EVERY_SECONDS
        command, *rest = self._left
        self._left = tuple(rest)
        self._process = self._git.start(command)
        cast("BinaryIO", self._process.stdin).close()
        return True

    def end(self) -> None:
        """End what is at work; the next time begins with the first command."""
        self._left = ()
        if self._process is not None:
            stop(self._process)
            self._put_away()

    def _put_away(self) -> None:
        """Close the outputs of a command that is over; whether it succeeded matters to nothing."""
        if self._process is not None:
            for pipe in (self._process.stdout, self._process.stderr):
                with contextlib.suppress(OSError):
                    cast("BinaryIO", pipe).close()
            self._process = None
