"""A real Dask cluster on loopback, of processes that the tests start."""

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.shell.daemon.test_roots import ROOTS, WATCHED, ask, fleets, placed
from tests.shell.daemon.test_run import clone, push_patiently
from tests.shell.fleet import EXAMPLE, ROOT, eventually, process_environment, running
from tests.shell.repositories import git, new_bare

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


CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec: {}
"""
"""Nothing counts as running soon, so that each root has one pass."""

DIES_ONCE = """
import os, signal
from reconciler.shell.git.remotes.mirror import Mirror
push = Mirror.push
def dying(mirror, *given, **named):
    if {late}: push(mirror, *given, **named)
    try: open({marker!r}, "x").close()
    except FileExistsError: return None if {late} else push(mirror, *given, **named)
    os.kill(os.getpid(), signal.SIGKILL)
Mirror.push = dying
"""
"""Has the worker that is the first to push die just before, or just after it."""

STALLS = """\
#!/bin/sh
while test -e "$GIT_DIR/stall"; do sleep 0.05; done
"""


@dataclass
class Served:
    """A remote whose two roots are served by workers.

    Attributes:
        folder: Where everything is.
        cluster: Who computes.
        remote: The repository.
        log: What the daemon logs.
    """

    folder: Path
    cluster: Cluster
    remote: Path
    log: Path
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start_worker(self, before: str = "", **more: str) -> "subprocess.Popen[bytes]":
        """Start a worker that has git, settings of its own, and the cache that operators have."""
        cache = {
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "RECONCILER_CACHE_DIR": str(self.folder / "cache/reconciler"),
        }
        environment = {**process_environment(), **cache, **more}
        worker = self.cluster.start_worker(before=before, environment=environment)
        self.workers.append(worker)
        return worker

    @contextmanager
    def running(self, *more: str, address: str = "") -> Iterator["subprocess.Popen[bytes]"]:
        """Run the daemon while the block lasts; it must end with 0, and have logged JSON alone."""
        service = ("--remote", f"file://{self.remote}", "--mirror", str(self.folder / "mirror"))
        executor = ("--executor", address or self.cluster.dask)
        options = (*service, "--roots", "teams/*", *executor, *WATCHED, *more)
        with running(self.folder, *options, log=self.log) as daemon:
            yield daemon
        for line in self.log.read_text().splitlines():
            json.loads(line)

    def placed(self) -> list[int]:
        """Return how many bindings each root has."""
        return [placed(self.remote, root) for root in ROOTS]

    def ready(self) -> bool:
        """Return whether all roots are."""
        return self.answer("/readyz")[0] == 200

    def reason(self) -> str:
        """Return why not."""
        return self.answer("/readyz")[1]

    def answer(self, path: str) -> tuple[int, str]:
        """Return what the listener answers; nothing where it does not listen now."""
        with suppress(httpx.TransportError, IndexError):
            return ask(self.log, path)
        return 0, ""

    def wait_until_ready(self) -> None:
        """Wait until all roots are placed and ready."""
        eventually(lambda: self.ready() and self.placed() == [3, 3], "all roots")

    def push(self, name: str, *roots: str) -> None:
        """Have a person push one more workload to roots."""
        text = EXAMPLE["workloads/settings.yaml"].replace("name: settings", f"name: {name}")
        person = clone(self.remote, self.folder / f"person-{name}")
        person.commit({f"{root}/workloads/{name}.yaml": text for root in roots})
        push_patiently(person)

    def stall(self) -> Path:
        """Let no push end as long as a file is there; return that."""
        hook = self.remote / "hooks/pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(STALLS)
        hook.chmod(0o755)
        place = self.remote / "stall"
        place.touch()
        return place

    def passes_of(self, root: str) -> list[str]:
        """Return the subjects of the passes of a root, the newest first."""
        commits = ("log", "--format=%s", "--author=reconciler", "main", "--", root)
        return git(self.remote, *commits).splitlines()


def quiet_fleets(*roots: str) -> Mapping[str, str]:
    """Return the files of roots that a pattern finds."""
    return {**fleets(*roots), **{f"{root}/reconciler.yaml": CONFIGURATION for root in roots}}


@contextmanager
def served_in(folder: Path, files: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Make a remote with two roots and a cluster without any worker, while the block lasts."""
    remote = new_bare(folder / "remote.git", files or quiet_fleets(*ROOTS))
    with cluster_in(folder, workers=0) as cluster:
        yield Served(folder, cluster, remote, folder / "daemon.log")
