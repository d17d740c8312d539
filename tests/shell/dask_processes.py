"""A real Dask cluster on loopback, of processes that the tests start."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.shell.fleet import ROOT

LISTENS = re.compile(r"Scheduler at: +(\S+)")
REGISTERED = re.compile(r"Registered to:")
NO_GIT = {"PATH": "/nonexistent"}
MAIN = "import sys; from distributed.cli.dask_{role} import main; sys.exit(main())"


@dataclass
class Cluster:
    """A scheduler, and the workers that were started; `address` is the scheduler's."""

    folder: Path
    address: str
    options: Sequence[str] = ()
    processes: list["subprocess.Popen[str]"] = field(default_factory=list)

    @property
    def dask(self) -> str:
        """The address as people name it."""
        return self.address.replace("tcp://", "dask://")

    def start_worker(self, *more: str, before: str = "") -> None:
        """Start a worker without git, and wait until it is registered.

        Args:
            more: Options of its own.
            before: What it runs first, Python.
        """
        where = ("--host", self.address.rpartition(":")[0])
        options = (*where, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        arguments = (self.address, *options, *self.options, *more)
        worker = _start("worker", *arguments, before=before, folder=self.folder, more=NO_GIT)
        self.processes.append(worker)
        _wait_for(worker, REGISTERED)


@contextmanager
def cluster_in(
    folder: Path, *, workers: int, options: Sequence[str] = (), scheme: str = "tcp"
) -> Iterator[Cluster]:
    """Start a scheduler and workers that know nothing of any repository, and end them."""
    where = ("--host", f"{scheme}://127.0.0.1", "--port", "0")
    quiet = ("--no-dashboard", "--no-show")
    scheduler = _start("scheduler", *where, *quiet, *options, folder=folder)
    processes = [scheduler]
    try:
        cluster = Cluster(folder, _wait_for(scheduler, LISTENS), options, processes)
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        for process in reversed(processes):
            process.kill()
            process.communicate()


def _start(
    role: str,
    *arguments: str,
    folder: Path,
    before: str = "",
    more: Mapping[str, str] | None = None,
) -> "subprocess.Popen[str]":
    """Start a process of Dask in a folder; it writes what it does to standard error."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{before}\n{MAIN.format(role=role)}", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **(more or {})},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for(process: "subprocess.Popen[str]", pattern: re.Pattern[str]) -> str:
    """Read what a process writes up to a line; return what the line names."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        found = pattern.search(line)
        if found:
            return found[found.lastindex or 0]
    raise AssertionError("".join(said))
