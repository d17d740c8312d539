"""A real Dask cluster on loopback, of processes that the tests start."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.shell.fleet import ROOT, eventually

LISTENS = re.compile(r"Scheduler at: +(\S+)")
REGISTERED = re.compile(r"Registered to:")
NO_GIT = {"PATH": "/nonexistent"}
OTHER_BUILD = """
from reconciler.shell import resources
resources.package_digest = lambda: "0123456789abcdef" * 4
"""
"""Has a worker run another build of the same version, as far as it can tell."""

MAIN = "import sys; from distributed.cli.dask_{role} import main; sys.exit(main())"


@dataclass
class Cluster:
    """A scheduler, and the workers that were started; `address` is the scheduler's."""

    folder: Path
    address: str
    options: Sequence[str] = ()
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def dask(self) -> str:
        """The address as people name it."""
        return self.address.replace("tcp://", "dask://")

    def start_scheduler(self, port: str = "0") -> None:
        """Start the scheduler on a port; 0 is any that is free."""
        where = ("--host", self.address.removesuffix(f":{port}"), "--port", port)
        quiet = ("--no-dashboard", "--no-show")
        scheduler, self.address = _start(
            "scheduler", *where, *quiet, *self.options, folder=self.folder, until=LISTENS
        )
        self.processes.append(scheduler)

    def start_worker(
        self, *more: str, before: str = "", environment: Mapping[str, str] = NO_GIT
    ) -> "subprocess.Popen[bytes]":
        """Start a worker, and wait until it is registered.

        Args:
            more: Options of its own.
            before: What it runs first, Python.
            environment: What it finds beside ours; no git, if nothing else is said.
        """
        where = ("--host", self.address.rpartition(":")[0])
        options = (*where, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        arguments = (self.address, *options, *self.options, *more)
        worker, _ = _start(
            "worker",
            *arguments,
            before=before,
            folder=self.folder,
            more=environment,
            until=REGISTERED,
        )
        self.processes.append(worker)
        return worker


def new_tls_files(folder: Path) -> Path:
    """Make a certificate that vouches for itself; return the folder of ca.crt, tls.crt, tls.key."""
    tls = folder / "tls"
    tls.mkdir()
    key, certificate = str(tls / "tls.key"), str(tls / "tls.crt")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
         certificate, "-days", "2", "-subj", "/CN=reconciler"],
        check=True, capture_output=True,
    )  # fmt: skip
    (tls / "ca.crt").symlink_to("tls.crt")
    return tls


@contextmanager
def cluster_in(
    folder: Path, *, workers: int, options: Sequence[str] = (), scheme: str = "tcp"
) -> Iterator[Cluster]:
    """Start a scheduler and workers that know nothing of any repository, and end them."""
    cluster = Cluster(folder, f"{scheme}://127.0.0.1", options)
    try:
        cluster.start_scheduler()
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            process.kill()
            process.wait()


def _start(
    role: str,
    *arguments: str,
    folder: Path,
    until: re.Pattern[str],
    before: str = "",
    more: Mapping[str, str] | None = None,
) -> tuple["subprocess.Popen[bytes]", str]:
    """Start a process of Dask in a folder, and wait until it has written a line.

    Returns:
        The process, and what the line names.
    """
    log = folder / f"dask-{role}-{uuid.uuid4().hex}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", f"{before}\n{MAIN.format(role=role)}", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    eventually(lambda: bool(until.search(log.read_text()) or process.poll()), f"the {role}")
    found = until.search(log.read_text())
    assert found is not None, log.read_text()
    return process, found[found.lastindex or 0]
