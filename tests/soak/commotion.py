"""What goes on while a soak lasts: people edit, processes are killed, the remote is bad."""

import argparse
import contextlib
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.shell.fleet import PATIENCE_SECONDS
from tests.shell.repositories import ENVIRONMENT, git
from tests.soak.daemons import Daemon
from tests.soak.writers import Writer

HOOK = """\
#!/bin/sh
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  test -e "$GIT_DIR/stall" || break
  sleep 0.1
done
if test -e "$GIT_DIR/refuse"; then echo "the soak refuses this"; exit 1; fi
"""
KINDS = ("fails", "refuses", "stalls", "is rewritten")
LASTS = (0.1, 1.0)
BETWEEN_FAULTS = (0.5, 4.0)


@dataclass(kw_only=True)
class RemoteFaults:
    """The faults of one remote, one at a time.

    Attributes:
        remote: Its folder.
        choice: Where chance comes from.
        counts: How often there was each of them.
    """

    remote: Path
    choice: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _present: str = ""
    _due_at: float = 0.0

    def __post_init__(self) -> None:
        """Give the remote the hook that refuses and stalls."""
        place = self.remote / "hooks/pre-receive"
        place.parent.mkdir(exist_ok=True)
        place.write_text(HOOK)
        place.chmod(0o755)

    def go_on(self) -> float:
        """Begin or end a fault if its time has come, and return when to come again."""
        now = time.monotonic()
        if now < self._due_at:
            return self._due_at
        if self._present:
            self.mend()
            self._due_at = now + self.choice.uniform(*BETWEEN_FAULTS)
        else:
            self._begin(self.choice.choice(KINDS))
            self._due_at = now + self.choice.uniform(*LASTS)
        return self._due_at

    def mend(self) -> None:
        """Leave nothing wrong."""
        for name in ("stall", "refuse"):
            (self.remote / name).unlink(missing_ok=True)
        if (self.remote / "HEAD.away").exists():
            (self.remote / "HEAD.away").rename(self.remote / "HEAD")
        self._present = ""

    def _begin(self, kind: str) -> None:
        self._present = kind
        match kind:
            case "fails":
                (self.remote / "HEAD").rename(self.remote / "HEAD.away")
            case "refuses":
                (self.remote / "refuse").touch()
            case "stalls":
                (self.remote / "stall").touch()
            case _ if not self._rewrite():
                return
        self.counts[kind] += 1

    def _rewrite(self) -> bool:
        """Take the last decision away, as a person does who pushes with force."""
        head = git(self.remote, "rev-parse", "refs/heads/main")
        told = git(self.remote, "log", "-1", "--format=%(trailers:key=Reconciled-At)%P", head)
        if "Reconciled-At" not in told:
            return False
        moved = subprocess.run(
            ["git", "update-ref", "refs/heads/main", f"{head}~1", head],
            cwd=self.remote,
            env=ENVIRONMENT,
            capture_output=True,
            check=False,
        )
        return moved.returncode == 0


COLLECT = ("git", "gc", "--prune=now", "--quiet")
BETWEEN_COLLECTIONS = (0.5, 3.0)


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
            self._due_at = now + self.choice.uniform(*BETWEEN_COLLECTIONS)
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


OURS = ("main", "fleet")  # what is served, and what is delivered to
TAGS = tuple(f"refs/tags/{name}" for name in (*OURS, "v1"))
BRANCHES = tuple(f"refs/heads/{name}" for name in ("stranger", "tags/main", "origin/main", "mine"))
BETWEEN_STRANGERS = (0.2, 1.5)


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
            self._due_at = now + self.choice.uniform(*BETWEEN_STRANGERS)
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


BETWEEN_EDITS = (0.1, 1.2)


def read_options(program: str, description: str | None, *, seconds: float) -> argparse.Namespace:
    """Return what a soak is asked for: `seconds`, `seed`, and where it is kept if it fails."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, help="where the remote goes if anything is wrong")
    return parser.parse_args()


def stir(
    writers: Sequence[Writer],
    victim: Callable[[], Daemon],
    faults: RemoteFaults,
    *,
    between_kills: tuple[float, float],
    seconds: float,
    others: Sequence[Collectors | Strangers] = (),
) -> None:
    """Let people edit, processes die and the remote fail, then leave nothing broken.

    Args:
        writers: Who edits, now this one, now that.
        victim: Returns who is killed next, and started again.
        faults: Of the remote.
        between_kills: The least and the most seconds.
        seconds: How long.
        others: Who does something of their own now and then.
    """
    choice = faults.choice
    now = begin = time.monotonic()
    edit_at = kill_at = begin
    while now < begin + seconds:
        if now >= edit_at:
            choice.choice(writers).edit()
            edit_at = time.monotonic() + choice.uniform(*BETWEEN_EDITS)
        if now >= kill_at:
            faults.mend()  # a daemon that found no repository is started again
            killed = victim()
            killed.kill()
            killed.start()
            kill_at = time.monotonic() + choice.uniform(*between_kills)
        fault_at = min((faults.go_on(), *(one.go_on() for one in others)))
        time.sleep(max(0.0, min(edit_at, kill_at, fault_at) - time.monotonic()))
        now = time.monotonic()
    faults.mend()
    for writer in writers:
        writer.mend_all()
