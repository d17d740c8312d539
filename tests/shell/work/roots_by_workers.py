"""Roots of a remote that the workers of a real Dask cluster on loopback compute for a daemon."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.shell.daemon.test_roots import ROOTS, WATCHED, ask, fleets, placed
from tests.shell.daemon.test_run_remote import clone, push_patiently
from tests.shell.dask_processes import Cluster, cluster_in
from tests.shell.fleet import EXAMPLE, eventually, process_environment, running
from tests.shell.repositories import git, new_bare

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
