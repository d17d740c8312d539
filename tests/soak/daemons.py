"""Daemons of one branch, each in a process group of its own that is killed as a whole."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.shell.fleet import PATIENCE_SECONDS, ROOT, eventually, process_environment

POLL = ("--poll-seconds", "0.2")
START_SECONDS = 1.0
AWAY = ("is not in a git repository", "not a git repository")


@dataclass(kw_only=True)
class Daemon:
    """One daemon that is started again whenever it was killed.

    Attributes:
        name: For its log.
        arguments: Of the command, from the global options on.
        log: Where all its processes write, one after the other.
        program: What Python runs before the arguments.
        environment: What it finds beside what daemons of tests find.
        kills: How often it was killed.
    """

    name: str
    arguments: Sequence[str]
    log: Path
    program: Sequence[str] = ("-m", "reconciler")
    environment: Mapping[str, str] = field(default_factory=dict)
    kills: int = 0
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def start(self) -> None:
        """Start it; whether it comes to serve is seen in its commits."""
        with self.log.open("ab") as stream:
            self._process = subprocess.Popen(
                [sys.executable, *self.program, *self.arguments],
                cwd=ROOT,
                env={**process_environment(), **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    @property
    def running(self) -> "subprocess.Popen[bytes]":
        """Its process; it must be alive, for nothing but us ends it.

        One that found no repository when it began is started again, as a service manager does.
        """
        assert self._process is not None
        if self._process.poll() is not None and self._found_nothing():
            self.start()
            time.sleep(START_SECONDS)
        assert self._process.poll() is None, f"{self.name} ended: {self.log.read_text()[-2000:]}"
        return self._process

    def _found_nothing(self) -> bool:
        """Return whether it ended since the remote was away just when it began."""
        return any(said in self.log.read_text()[-300:] for said in AWAY)

    def kill(self) -> None:
        """Kill its whole process group, git and all."""
        process = self.running
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)
        eventually(lambda: not _has_members(process.pid), f"the end of the group of {self.name}")
        self.kills += 1

    def wait(self) -> int:
        """Wait for its end, and return how it ended."""
        assert self._process is not None
        return self._process.wait(PATIENCE_SECONDS)

    def end(self) -> None:
        """End it for good if it is still there."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_SECONDS)

    def crashed(self) -> bool:
        """Return whether it ever met what nobody foresaw."""
        return "Traceback" in self.log.read_text()

    def stop(self) -> None:
        """Ask it to end, as a service manager does."""
        process = self.running
        process.terminate()
        assert 0 == process.wait(PATIENCE_SECONDS), self.log.read_text()[-2000:]


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def four_daemons(remote: Path, folder: Path) -> tuple[Daemon, ...]:
    """Return three daemons with a mirror each, and one in the remote repository itself."""
    near = Daemon(name="near", arguments=("-C", str(remote), "run", *POLL), log=folder / "near.log")
    far = (
        Daemon(
            name=f"far-{number}",
            arguments=(
                *("run", "--remote", f"file://{remote}"),
                *("--mirror", str(folder / f"mirror-{number}"), *POLL),
            ),
            log=folder / f"far-{number}.log",
        )
        for number in range(3)
    )
    return (near, *far)
