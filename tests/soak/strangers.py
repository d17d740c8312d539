"""Branches and tags of others in the remote: of the names of ours, moved, merged and deleted."""

import contextlib
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.shell.repositories import git

OURS = ("main", "fleet")  # what is served, and what is delivered to
TAGS = tuple(f"refs/tags/{name}" for name in (*OURS, "v1"))
BRANCHES = tuple(f"refs/heads/{name}" for name in ("stranger", "tags/main", "origin/main", "mine"))
BETWEEN = (0.2, 1.5)


@dataclass(kw_only=True)
class Strangers:
    """Moves references that are nobody's business of ours.

    Attributes:
        remote: Its folder.
        choice: Where chance comes from.
        counts: How often there was each move.
    """

    remote: Path
    choice: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _due_at: float = 0.0

    def go_on(self) -> float:
        """Move something if its time has come, and return when to come again."""
        now = time.monotonic()
        if now >= self._due_at:
            if (self.remote / "HEAD").exists():  # a remote may be away just now
                with contextlib.suppress(AssertionError):  # a collector takes what nothing names
                    self._move()
            self._due_at = now + self.choice.uniform(*BETWEEN)
        return self._due_at

    def _move(self) -> None:
        kind, names = self.choice.choice((("tag", TAGS), ("branch", BRANCHES)))
        name = self.choice.choice(names)
        known = git(self.remote, "for-each-ref", "--format=%(refname)", *TAGS, *BRANCHES).split()
        if name in known and self.choice.random() < 1 / 3:
            git(self.remote, "update-ref", "-d", name)
            self.counts[f"{kind} deleted"] += 1
            return
        git(self.remote, "update-ref", name, self._commit())
        self.counts[f"{kind} moved"] += 1

    def _commit(self) -> str:
        """Return a commit of one of our branches, an old one, or one on top that deletes all."""
        branch = f"refs/heads/{self.choice.choice(OURS)}"
        found = git(self.remote, "for-each-ref", "--format=%(objectname)", branch)
        head = found or git(self.remote, "rev-parse", "refs/heads/main")
        if self.choice.random() < 1 / 2:
            lines = git(self.remote, "rev-list", "--first-parent", "--max-count=50", head)
            return self.choice.choice(lines.split())
        empty = git(self.remote, "hash-object", "-t", "tree", "-w", "--stdin")
        return git(self.remote, "commit-tree", empty, "-p", head, "-m", "Delete everything")
