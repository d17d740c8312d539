"""Roots of one repository, twenty or a large one: by daemons alone, and by Dask workers.

From the start of the daemon until each root was placed and pushed, then one change of one root,
then the death of the worker that has a root that changes. What a root holds is in no other one, and
all processes have the cache of parsed documents that operators have.
"""

import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import make_bare, push, team_workload, teams_of
from reconciler.shell.git.repository import Repository
from tests.shell.dask_processes import Cluster, cluster_in
from tests.shell.fleet import process_environment, running

ROOTS = 20
CLUSTERS = 100
WORKLOADS, MANY = 500, 5_000
WORKERS = ((1, 1), (1, 2), (2, 1), (2, 2))  # how many, and threads of each
DAEMONS = (1, 2)  # without any worker, each with its part of the roots
BESIDE_ROOTS, BESIDE_WORKLOADS = 12, 1_000
FORGES = (0, 1)  # seconds that a push takes beyond what git takes on this machine
ONE_WORKLOADS = 10_000
ONE_WORKERS = ((1, 1), (1, 2), (2, 1))
CHANGES = 5
DEATHS = 3
TICKS = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 1
LOOKED_SECONDS = 20.0  # how long daemons are watched that only look
LOOK_SECONDS = 0.2
QUIET_SECONDS = 4.0  # more than a look at the branch, and than any pass of these sizes
LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What processes took: seconds of the processor, and megabytes at the peak."""

    seconds: float
    megabytes: float


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as groups are called
    """Measure roots of 500 workloads; `large` measures roots of 5,000, too."""
    for workloads in (WORKLOADS, MANY) if large else (WORKLOADS,):
        for count in DAEMONS:
            yield from measured(ROOTS, workloads, daemons=count)
        for count, threads in WORKERS:
            yield from measured(ROOTS, workloads, workers=count, threads=threads)
    for seconds in FORGES:
        yield from measured(BESIDE_ROOTS, BESIDE_WORKLOADS, push_seconds=seconds)
    for count, threads in ONE_WORKERS:
        yield from measured(1, ONE_WORKLOADS, workers=count, threads=threads)


def measured(
    number: int,
    workloads: int,
    *,
    daemons: int = 1,
    workers: int = 0,
    threads: int = 1,
    push_seconds: int = 0,
) -> Iterator[Figure]:
    """Measure roots of so many workloads; without workers the daemons compute.

    A push takes so many seconds more, as with a forge that is slow.

    Yields:
        Seconds by the clock, processor time and memory of each process, the next change, and
        where there are two workers, how long a root waits whose worker dies.
    """
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        roots = [f"teams/t{one:02d}" for one in range(number)]
        repository = make_bare(folder / "remote.git", files_of(roots, workloads))
        what = f"{number} {'roots' if number > 1 else 'root'} of {workloads:,} workloads"
        if push_seconds:
            what = f"{what}, {push_seconds} s a push"
            hook = repository.git_dir / "hooks/pre-receive"
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\nsleep {push_seconds}\n")
            hook.chmod(0o755)
        with cluster_in(folder, workers=0) as cluster:
            site = _Site(folder, repository, roots, cluster, threads)
            for _ in range(workers):
                site.start_worker()
            yield from _served(site, f"{what}, {_called(daemons, workers, threads)}", daemons)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def files_of(roots: Sequence[str], workloads: int) -> dict[str, str]:
    """Return the files of all roots."""
    fleet = teams_of(CLUSTERS, workloads)
    mark = "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
    fleet["reconciler.yaml"] = (
        f"{mark}metadata: {{name: fleet}}\nspec: {{feedback: {{assumeAfterSeconds: 86400}}}}\n"
    )
    return {path: text for root in roots for path, text in _of_root(root, fleet).items()}


def _of_root(root: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return files of a root as no other root has them."""
    mark = f"metadata:\n  annotations: {{root: {root}}}\n"
    return {f"{root}/{path}": text.replace("metadata:\n", mark, 1) for path, text in files.items()}


def _called(daemons: int, workers: int, threads: int) -> str:
    """Return who computes, in words."""
    if not workers:
        return "the daemon alone" if daemons == 1 else f"{daemons} daemons"
    who = f"{workers} worker{'s' if workers > 1 else ''}"
    return who if threads == 1 else f"{who} of {threads} threads"


@dataclass(slots=True, eq=False)
class _Site:
    """Where roots are served.

    Attributes:
        folder: Where everything is.
        repository: The remote.
        roots: Their names.
        cluster: Who computes, if it has workers.
        threads: Of each worker.
        workers: Those that were started, by address.
    """

    folder: Path
    repository: Repository
    roots: Sequence[str]
    cluster: Cluster
    threads: int
    workers: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    @property
    def logs(self) -> Sequence[Path]:
        """What the daemons log."""
        return sorted(self.folder.glob("daemon-*.log"))

    def start_worker(self) -> None:
        """Start one more worker, on a port by which it is known."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        settings = {**process_environment(), **self._cache()}
        options = ("--worker-port", str(port), "--nthreads", str(self.threads))
        worker = self.cluster.start_worker(*options, environment=settings)
        self.workers[f"tcp://127.0.0.1:{port}"] = worker

    def serve(self, count: int, stack: ExitStack) -> "Sequence[subprocess.Popen[bytes]]":
        """Start so many daemons, each with its part of the roots."""
        executor = ("--executor", self.cluster.dask) if self.workers else ()
        remote = ("--remote", f"file://{self.repository.git_dir}")
        daemons = []
        for number in range(count):
            named = [word for root in self.roots[number::count] for word in ("--root", root)]
            mirror = ("--mirror", str(self.folder / f"mirror-{number}"))
            every = ("--poll-seconds", str(POLL_SECONDS), "--log-format", "json")
            daemon = running(
                self.folder,
                *(*remote, *mirror, *named, *executor, *every),
                log=self.folder / f"daemon-{number}.log",
                environment=self._cache(),
            )
            daemons.append(stack.enter_context(daemon))
        return daemons

    def worker_of(self, root: str) -> str:
        """Return who computed the newest pass of a root that committed."""
        lines = (json.loads(line) for log in self.logs for line in log.read_text().splitlines())
        return str([one["worker"] for one in lines if _is_pass(one, root)][-1])

    def change(self, number: int, root: str) -> float:
        """Scale one workload of one root, and return the seconds until it was decided."""
        before = len(self.passes())
        began = time.monotonic()
        changed = _of_root(root, team_workload(7, 99 + number))
        push(self.repository, changed, at=datetime.now(UTC).replace(microsecond=0))
        _wait(lambda: len(self.passes()) > before)
        return time.monotonic() - began

    def passes(self) -> Sequence[str]:
        """Return the commits of passes on the branch."""
        listed = self.repository.git.line("log", "--format=%H", "--author=reconciler", "main")
        return listed.split()

    def placed(self) -> int:
        """Return how many roots have outputs."""
        places = [f"{root}/status" for root in self.roots]
        return len(
            self.repository.git.line("ls-tree", "-d", "--name-only", "main", *places).split()
        )

    def _cache(self) -> Mapping[str, str]:
        """Return the settings of the cache, which is on."""
        home = self.folder / "cache"
        return {"XDG_CACHE_HOME": str(home), "RECONCILER_CACHE_DIR": str(home / "reconciler")}


def _served(site: _Site, what: str, daemons: int) -> Iterator[Figure]:
    """Serve the roots until all are placed, some changes longer, and some deaths."""
    with ExitStack() as stack:
        began = time.monotonic()
        serving = site.serve(daemons, stack)
        _wait(lambda: site.placed() == len(site.roots))
        took = time.monotonic() - began
        each = [*serving, *site.workers.values()]
        spent = [_spent(process.pid) for process in each]
        logged = "".join(log.read_text() for log in site.logs)
        races = sum(map(int, re.findall(r'"lost_races": (\d+)', logged)))
        lost = f"by the clock; {races} races lost"
        yield Figure(f"first passes, {what}", took, Unit.SECONDS, lost)
        total = sum(one.seconds for one in spent)
        yield Figure(f"processor time of them, {what}", total, Unit.SECONDS, _note(spent, daemons))
        _come_to_rest(site.logs)
        yield from _changes(site, what, each, daemons)
        if len(site.workers) > 1:
            waits = [_death(site, number) for number in range(DEATHS)]
            note = f"median of {DEATHS}, from the kill of its worker to the commit"
            yield Figure(f"one change, its worker dead, {what}", _median(waits), Unit.SECONDS, note)


def _changes(
    site: _Site, what: str, each: "Sequence[subprocess.Popen[bytes]]", daemons: int
) -> Iterator[Figure]:
    """Change roots in turn; what that costs all processes is told with it."""
    asked = islice(cycle(site.roots), 1 + CHANGES)
    site.change(0, next(asked))
    _come_to_rest(site.logs)
    before = [_spent(process.pid) for process in each]
    waits = [site.change(number, root) for number, root in enumerate(asked, 1)]
    _come_to_rest(site.logs)
    after = [_spent(process.pid) for process in each]
    note = f"median of {CHANGES}, from push to commit, looked for each second"
    yield Figure(f"one change, {what}", _median(waits), Unit.SECONDS, note)
    each_ms = [
        (late.seconds - early.seconds) / CHANGES * 1000
        for early, late in zip(before, after, strict=True)
    ]
    note = f"of it the daemons {sum(each_ms[:daemons]):.0f} ms, with the looks meanwhile"
    yield Figure(f"processor time of a change, {what}", sum(each_ms), Unit.MILLISECONDS, note)
    looked, began = [_spent(process.pid) for process in each], time.monotonic()
    time.sleep(LOOKED_SECONDS)
    looks = len(site.roots) * (time.monotonic() - began) / POLL_SECONDS
    own = sum(
        _spent(process.pid).seconds - early.seconds
        for process, early in zip(each[:daemons], looked[:daemons], strict=True)
    )
    note = "of the daemons, a root; nothing has changed"
    yield Figure(f"processor time of a look, {what}", own / looks * 1000, Unit.MILLISECONDS, note)
    note = "of all processes together, at the end"
    yield Figure(f"memory, {what}", sum(one.megabytes for one in after), Unit.MEGABYTES, note)


def _death(site: _Site, number: int) -> float:
    """Kill the worker that has a root, change that, and return the seconds until it was decided."""
    root = site.roots[0]
    address = site.worker_of(root)
    began = time.monotonic()
    site.workers.pop(address).kill()
    site.change(CHANGES + 1 + number, root)
    took = time.monotonic() - began
    site.start_worker()
    _come_to_rest(site.logs)
    return took


def _is_pass(line: Mapping[str, object], root: str) -> bool:
    """Return whether a line of the log is of a pass of a root that committed."""
    return line["msg"] == "pass committed" and line.get("root", root) == root


def _note(spent: Sequence[Spent], daemons: int) -> str:
    """Return what each process took."""
    each = [f"{one.seconds:.0f} s and {one.megabytes:.0f} MB" for one in spent]
    own, others = ", ".join(each[:daemons]), ", ".join(each[daemons:])
    return f"daemon {own}; workers {others}" if others else f"daemon {own}"


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _come_to_rest(logs: Sequence[Path]) -> None:
    """Wait until the daemons have had nothing to say for a while."""
    size, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        found = sum(log.stat().st_size for log in logs)
        if found != size:
            size, since = found, time.monotonic()
        time.sleep(LOOK_SECONDS)


def _wait(is_over: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + LONGEST_SECONDS
    while not is_over():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came of it within {LONGEST_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


def _spent(process: int) -> Spent:
    """Return what a process took until now, its git commands included."""
    place = Path(f"/proc/{process}")
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))  # of itself and of its children, as proc(5) has them
    peak = re.search(r"VmHWM:\s+(\d+) kB", (place / "status").read_text())
    return Spent(ticks / TICKS, int(peak[1]) / 1000 if peak else 0.0)
