"""Verbs under limits of the machine, as another user than root, whom such limits do not bind."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from tests.shell.fleet import ROOT, process_environment

USER = 61_000 + os.getpid() % 4000  # of nobody else, so no other process counts against its limits
CAPABILITIES = "-all,+dac_override"  # it reads what root installed; limits bind it all the same
AS_USER = (
    "setpriv",
    f"--reuid={USER}",
    f"--regid={USER}",
    "--clear-groups",
    f"--inh-caps={CAPABILITIES}",
    f"--ambient-caps={CAPABILITIES}",
)
SECONDS = 60
DAEMON_SECONDS = 4


@dataclass(frozen=True)
class Limited:
    """How a verb ended; `code` is `None` for a daemon that goes on."""

    code: int | None
    stderr: str


def is_root() -> bool:
    """Whether limits of processes need another user."""
    return os.geteuid() == 0


def not_settable() -> str:
    """Return why limits cannot be set here, `""` if they can."""
    if shutil.which("prlimit") is None:
        return "there is no prlimit"
    if not is_root():
        return ""
    if shutil.which("setpriv") is None:
        return "root is bound by no limit of processes, and there is no setpriv"
    tried = subprocess.run([*AS_USER, "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"no other user than root: {tried.stderr.strip()}"


def limited(folder: Path, limit: str, *arguments: str) -> Limited:
    """Run a verb with a limit as prlimit has it, `""` for none."""
    command = [sys.executable, "-m", "reconciler", *arguments]
    bounds = ["prlimit", *limit.split()] if limit else []
    user: Sequence[str] = AS_USER if is_root() else ()
    is_daemon = arguments[0] == "run"
    try:
        done = subprocess.run(
            [*user, *bounds, *command],
            cwd=folder,
            env={**process_environment(), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DAEMON_SECONDS if is_daemon else SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as running:
        return Limited(None, (running.stderr or b"").decode())
    return Limited(done.returncode, done.stderr)


@contextmanager
def daemon(folder: Path) -> Iterator[Callable[[str], str]]:
    """Run the daemon while the block lasts; yield what waits until it logs something.

    That takes a pattern, and returns the line that has it, `""` if the daemon ends before.
    """
    user: Sequence[str] = AS_USER if is_root() else ()
    with subprocess.Popen(
        [*user, sys.executable, "-m", "reconciler", "run", "--poll-seconds", "0.2"],
        cwd=folder,
        env={**process_environment(), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        ending = threading.Timer(SECONDS, process.kill)
        ending.start()
        said = cast("IO[str]", process.stderr)
        try:
            yield lambda pattern: next((line for line in said if re.search(pattern, line)), "")
        finally:
            ending.cancel()
            process.terminate()


def own(folder: Path) -> None:
    """Give files to the user that verbs run as."""
    if is_root():
        top = Path(tempfile.gettempdir())
        for parent in folder.parents:  # access(2) knows no capabilities
            if parent.is_relative_to(top) and parent != top:
                parent.chmod(0o711)
        subprocess.run(["chown", "-R", f"{USER}:{USER}", str(folder)], check=True)


def git(folder: Path, *arguments: str) -> str:
    """Ask git about a folder of another user."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[str]:
    """Mount a disk of some size while the block lasts; yield why not, `""` if it is there."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        yield tried.stderr.strip()
        return
    try:
        yield ""
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
