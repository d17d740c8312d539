"""What the daemon needs, tried one by one before it is started."""

import os
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from reconciler.core.record import last_pass
from reconciler.errors import ReconcilerError, ShellError
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass
from reconciler.model.text import short_id
from reconciler.shell.git.command import NOT_THERE, Git, GitError
from reconciler.shell.git.history import read_commit
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.trust import Trust
from reconciler.shell.processes.limits import refusal_of
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.resources import Clock

OLDEST_GIT = (2, 34)
MOST_AHEAD = timedelta(minutes=5)  # ours: a commit that is newer than this says of a wrong clock
OTHERS = 0o077


class CheckState(StrEnum):
    """How a check went."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, how it went, what was found, and what to do (`""` if nothing)."""

    name: str
    state: CheckState
    found: str
    remedy: str = ""


def attempt(name: str, trying: Callable[[], str], remedy: str) -> Check:
    """Return how something went that says what it found, or raises."""
    try:
        return Check(name, CheckState.OK, trying())
    except ReconcilerError as error:
        return Check(name, CheckState.FAILED, str(error), remedy)
    except OSError as error:
        return Check(name, CheckState.FAILED, refusal_of(error), remedy)


def check_git() -> Check:
    """Look at git's version."""
    try:
        said = Git(folder=Path("/")).line("version")
    except GitError as error:
        return Check("git", CheckState.FAILED, str(error), NOT_THERE)
    numbers = re.search(r"(\d+)\.(\d+)", said)
    version = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    if version < OLDEST_GIT:
        return Check("git", CheckState.FAILED, said, "install git 2.34 or later")
    return Check("git", CheckState.OK, said)


def check_branches(
    served: ServedBranches, loader: Loader, clock: Clock, trust: Trust | None
) -> Iterator[Check]:
    """Try to read and to write the branches, and hold keys and the clock against them."""
    read = attempt("read", lambda: _read(served), "give a readable branch and remote")
    yield read
    if read.state is CheckState.FAILED:
        return
    yield attempt(
        "write", lambda: _write(served), "grant write access to this user or its credentials"
    )
    if trust is not None:
        yield from _check_trust(served, trust)
    yield attempt(
        "state", lambda: _state(served, loader), "fix the named file, or upgrade reconciler"
    )
    yield _check_clock(served, clock)


def check_private(name: str, file: Path) -> Check:
    """Look at who may read a file with a secret."""
    try:
        mode = file.stat().st_mode & 0o777
    except OSError as error:
        problem = f"{file}: {error.strerror}"
        return Check(name, CheckState.FAILED, problem, "give a file that this user can read")
    if mode & OTHERS:
        remedy = f"chmod 600 {file}, or make it readable only by this user"
        return Check(name, CheckState.WARNING, f"{file} is readable by others ({mode:o})", remedy)
    return Check(name, CheckState.OK, f"{file} is private")


def _read(served: ServedBranches) -> str:
    heads = served.heads()
    inputs = f"{served.inputs.name} is at {short_id(heads.inputs)}"
    if not served.layout.apart:
        return inputs
    outputs = "not there yet" if heads.outputs is None else f"at {short_id(heads.outputs)}"
    return f"{inputs}, {served.moved} is {outputs}"


def _check_trust(served: ServedBranches, trust: Trust) -> Iterator[Check]:
    """Look how far each branch would be accepted, and accept nothing."""
    heads = served.heads()
    branches = {served.inputs.name: heads.inputs}
    if served.layout.apart and heads.outputs is not None:
        branches[served.moved] = heads.outputs
    for branch, head in branches.items():
        try:
            line = trust.follow(branch, head, served.accepted_of(trust, branch, head))
        except ShellError as error:
            yield Check("trust", CheckState.FAILED, str(error), "see docs/security.md")
            continue
        if line.refused is not None:
            remedy = line.refused.expected
            yield Check("trust", CheckState.WARNING, str(line.refused), remedy)
        else:
            yield Check(
                "trust", CheckState.OK, f"{branch} is accepted up to {short_id(line.commit)}"
            )


def _write(served: ServedBranches) -> str:
    if isinstance(served.inputs, RemoteBranch):
        served.inputs.mirror.try_push()
        return f"{served.inputs.mirror.remote.url} accepts a push"
    folder = served.repository.common_dir
    for place in (folder, folder / "objects", folder / "refs" / "heads"):
        if not os.access(place, os.W_OK | os.X_OK):
            raise ShellError(f"{place} is not writable by this user")
    return f"{folder} is writable"


def _state(served: ServedBranches, loader: Loader) -> str:
    world = served.load(loader, served.heads())
    last = last_pass(world.outputs)
    return "no pass yet" if last is None else f"the last pass was at {format_moment(last.at)}"


def _check_clock(served: ServedBranches, clock: Clock) -> Check:
    """Hold the clock against the newest commit."""
    now = clock.now()
    committed = read_commit(served.repository, served.heads().inputs).committed_at
    if committed - now > MOST_AHEAD:
        newest = format_moment(committed)
        difference = (
            f"the local time is {format_moment(now)}, and the newest commit is from {newest}"
        )
        return Check(
            "clock", CheckState.WARNING, difference, "synchronize the clock, for instance with NTP"
        )
    return Check("clock", CheckState.OK, f"the time is {format_moment(now)}")
