"""Collectors of garbage beside the daemons, and mirrors that are lost."""

import random
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.shell.fleet import PATIENCE_SECONDS
from tests.shell.repositories import ENVIRONMENT, git

COLLECT = ("git", "gc", "--prune=now", "--quiet")
BETWEEN = (0.5, 3.0)


@dataclass(kw_only=True)
class Collectors:
    """Runs `git gc --prune=now` in the remote and in mirrors, and removes a mirror now and then.

    Attributes:
        remote: Its folder.
        mirrors: Folders of mirrors.
        choice: Where chance comes from.
        counts: How often there was each of them.
    """

    remote: Path
    mirrors: tuple[Path, ...]
    choice: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _running: "list[subprocess.Popen[bytes]]" = field(default_factory=list)
    _due_at: float = 0.0

    def __post_init__(self) -> None:
        """Let pushes stay packs: git itself protects those only from a collector at work."""
        git(self.remote, "config", "receive.unpackLimit", "1")

    def go_on(self) -> float:
        """Do something if its time has come, and return when to come again."""
        now = time.monotonic()
        if now >= self._due_at:
            self._running = [one for one in self._running if one.poll() is None]
            self._act(self.choice.choice(("remote", "remote", "remote", "mirror", "lost")))
            self._due_at = now + self.choice.uniform(*BETWEEN)
        return self._due_at

    def end(self) -> None:
        """Wait for what is at work."""
        for one in self._running:
            one.wait(PATIENCE_SECONDS)

    def _act(self, kind: str) -> None:
        place = self.choice.choice(self.mirrors) / "repository.git"
        if kind == "lost":
            shutil.rmtree(place, ignore_errors=True)
            self.counts["lost mirrors"] += 1
            return
        folder = self.remote if kind == "remote" else place
        if (folder / "HEAD").exists():  # a remote may be away just now
            self._collect(folder)
            self.counts[f"collections of a {kind}"] += 1

    def _collect(self, folder: Path) -> None:
        git_dir = {"GIT_DIR": str(folder)}
        self._running.append(
            subprocess.Popen(
                COLLECT,
                cwd=folder,
                env={**ENVIRONMENT, **git_dir},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
