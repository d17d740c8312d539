"""Verbs under limits of the machine, as another user than root, whom such limits do not bind."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True)
class Limited:
    """How a verb ended; `code` is `None` for a daemon that would go on."""

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
    """Run a verb to its end with a limit as prlimit has it, `""` for none."""
    done = subprocess.run(
        _command(limit, arguments),
        cwd=folder,
        env={**process_environment(), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Limited(done.returncode, done.stderr)


def limited_daemon(folder: Path, limit: str, *arguments: str, until: str) -> Limited:
    """Run a verb with a limit until it ends, or its log has what a pattern is of."""
    with daemon(folder, limit, *arguments) as (process, said):
        told = ""
        for line in said:
            told += line
            if line.startswith("{") and re.search(until, line):  # else it is about to end
                return Limited(None, told)
        return Limited(process.wait(SECONDS), told)


@contextmanager
def daemon(
    folder: Path, limit: str, *arguments: str
) -> Iterator[tuple["subprocess.Popen[str]", Iterator[str]]]:
    """Run a verb while the block lasts; yield its process, and each line that it says."""
    with subprocess.Popen(
        _command(limit, arguments),
        cwd=folder,
        env={**process_environment(), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        ending = threading.Timer(SECONDS, process.kill)
        ending.start()
        try:
            yield process, iter(cast("IO[str]", process.stderr))
        finally:
            ending.cancel()
            process.terminate()


def _command(limit: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs a verb with a limit, as another user than root."""
    bounds = ["prlimit", *limit.split()] if limit else []
    user: Sequence[str] = AS_USER if is_root() else ()
    return [*user, *bounds, sys.executable, "-m", "reconciler", *arguments]


def own(folder: Path) -> None:
    """Give files to the user that verbs run as."""
    if is_root():
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
