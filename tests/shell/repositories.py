"""Real repositories for tests: fixed identity, fixed dates, nothing of the user's configuration."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_AUTHOR_DATE": "2026-11-20T10:00:00Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_COMMITTER_DATE": "2026-11-20T10:00:00Z",
}


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git as a person would, isolated from the machine's configuration; return its output."""
    finished = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert 0 == finished.returncode, finished.stderr.decode()
    return finished.stdout.decode(errors="surrogateescape").removesuffix("\n")


@dataclass(frozen=True)
class Checkout:
    """A repository with a work tree, used by a person."""

    folder: Path

    def git(self, *arguments: str) -> str:
        """Run git in the work tree."""
        return git(self.folder, *arguments)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files below the work tree."""
        for path, content in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)

    def commit(self, files: Mapping[str, str], message: str = "Change") -> str:
        """Write files, commit all of them, and return the commit's id."""
        self.write(files)
        self.git("add", "--all", "--force", "--", *files)
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head()

    def head(self) -> str:
        """Return the id of the commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    def status(self) -> str:
        """Return what git thinks of the work tree, ignored files included."""
        return self.git("status", "--porcelain", "--ignored", "--untracked-files=all")


def new_checkout(folder: Path, files: Mapping[str, str] | None = None) -> Checkout:
    """Make a repository with branch `main`, and one commit if `files` are given."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    checkout = Checkout(folder)
    if files is not None:
        checkout.commit(files, "Start")
    return checkout


def new_bare(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """Make a bare repository with branch `main`, and one commit if `files` are given."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
    if files is not None:
        seed = new_checkout(folder.parent / f"{folder.name}-seed", files)
        seed.git("push", "--quiet", str(folder), "main")
    return folder


@dataclass
class FixedClock:
    """A clock that stands where a test set it."""

    moment: datetime = NOW

    def now(self) -> datetime:
        """Return the moment that was set."""
        return self.moment
