"""A `git` on the PATH that writes down each command it is started with, and runs the real one."""

import shlex
import shutil
from pathlib import Path

import pytest

OPTIONS = ("--git-dir", "--work-tree")


class CommandLog:
    """Which git commands this process started, in order.

    Those of the person in the tests are none of them: they run the real git.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the stand-in on the PATH."""
        real = shutil.which("git")
        assert real is not None
        folder.mkdir()
        self._log = folder / "log"
        stand_in = folder / "git"
        stand_in.write_text(
            f'#!/bin/sh\necho "$*" >> {shlex.quote(str(self._log))}\n'
            f'exec {shlex.quote(real)} "$@"\n'
        )
        stand_in.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=":")

    def taken(self) -> list[str]:
        """Return the commands since the last call, each by its verb."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return [_verb(line) for line in lines]


def _verb(line: str) -> str:
    return next(word for word in line.split(" ") if not word.startswith(OPTIONS))
