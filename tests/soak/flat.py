"""`python -m tests.soak.flat`: what a daemon holds after thousands of events, it held before them.

Each kind of event is made again and again. A tenth of them warms up; the rest must leave memory,
tracked objects, descriptors, threads and temporary files where they were, and a repository must
hold what was committed or fetched, packed, and nothing else.
"""

import argparse
import asyncio
import contextlib
import gc
import os
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from typing import NamedTuple, cast

import structlog

from reconciler.core.changes import WriteFile
from reconciler.errors import UsageError
from reconciler.shell.daemon.events import DaemonEvent, DaemonHealth, PassFailed
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.daemon.watch import SettingsWatch
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.publish import publish
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.remotes.mirror_folder import Upkeep
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import Branch, LocalBranch, RemoteBranch
from reconciler.shell.processes.limits import give_back
from reconciler.shell.reports.metrics import Metrics
from reconciler.shell.work.dask import open_cluster
from reconciler.shell.work.executors import Workers, results_of, start_pool
from tests.builders import cluster
from tests.kube.loop import opened
from tests.kube.members import node, running
from tests.page.served import served_page
from tests.shell.dask_processes import cluster_in
from tests.shell.fleet import DAEMON, EXAMPLE, PATIENCE_SECONDS, Clock, eventually, passes_of
from tests.shell.repositories import NOW, git, new_bare, new_checkout
from tests.shell.servers import new_certificate, served, signed

MOST_BYTES = 2_000_000
MOST_OBJECTS = 200  # of libraries, at odd moments
MOST_REMEMBERED = 20_000  # objects, however many events there are
MOST_PACKS = 100  # after upkeep: passes join 32 of one size, of which there are three sizes
OFTEN = 50  # events
SHOP = "workloads/shop.yaml"

Once = Callable[[], object]
"""Makes an event once, and returns when all that follows from it is over."""

Push = Callable[[str, str, datetime], object]
"""Commits a file as a person does, and pushes that."""


class Opened(NamedTuple):
    """What a kind of event is made in: how it is made, and the repositories that it writes to."""

    once: Once
    repositories: Sequence[Path] = ()
    rest: Once = lambda: None


class Kind(NamedTuple):
    """A kind of event.

    `open` makes what it needs in an empty folder. `divisor` is how many cheap events take as long
    as one of these. `objects` are the tracked objects that each may leave until what is remembered
    is full, `connections` how many descriptors a library opens and closes by itself, each of which
    may have a thread of a server in this process. `alone` says that processes which were started
    for it do not count: they are not ours.
    """

    open: Callable[[Path], AbstractContextManager[Opened]]
    divisor: int = 1
    objects: float = 0.0
    connections: int = 0
    alone: bool = False


class Held(NamedTuple):
    """What this process and those that it started hold.

    `bytes_` are those of Python's objects in a traced run, else of the memory of all processes.
    """

    bytes_: int
    objects: int
    descriptors: int
    threads: int
    files: int


ENDING_SECONDS = 2  # for a thread that is about to end; one that stays costs the test as much


def held(
    folder: Path, *, traced: bool, alone: bool = False, known: Collection[threading.Thread] = ()
) -> Held:
    """Return what is held now; temporary files are those in a folder.

    Threads that are not among the known ones may be about to end, and are waited for.
    """
    for thread in threading.enumerate() if known else ():
        if thread not in known:
            thread.join(ENDING_SECONDS)
    _forget()
    give_back()
    processes = [os.getpid(), *([] if alone else _children(os.getpid()))]
    return Held(
        tracemalloc.get_traced_memory()[0] if traced else sum(map(_own_bytes, processes)),
        len(gc.get_objects()),
        sum(_count(Path(f"/proc/{pid}/fd")) for pid in processes),
        threading.active_count(),
        sum(1 for _ in folder.rglob("*")),
    )


def grown(kind: Kind, folder: Path, *, before: int, after: int, traced: bool) -> "Growth":
    """Make events of a kind, and return what the later ones left.

    Args:
        kind: Which.
        folder: An empty one.
        before: How many are made first.
        after: How many are made in all.
        traced: Whether Python's own count of memory is taken, which is exact, and slow.
    """
    temporary, work = folder / "tmp", folder / "work"
    for place in (temporary, work):
        place.mkdir()
    with ExitStack() as stack:
        stack.enter_context(_temporary_files_in(temporary))
        gc.collect()
        gc.freeze()  # what others made: to walk it at each collection takes most of the time
        opened = stack.enter_context(kind.open(work))
        if traced:
            tracemalloc.start()
            stack.callback(tracemalloc.stop)
        _repeat(opened, before)
        first = held(temporary, traced=traced, alone=kind.alone)
        known = threading.enumerate()
        half = (after - before) // 2
        _repeat(opened, half)
        middle = held(temporary, traced=traced, alone=kind.alone, known=known)
        _repeat(opened, after - before - half)
        last = held(temporary, traced=traced, alone=kind.alone, known=known)
        last = last._replace(bytes_=first.bytes_ + _steady(first, middle, last))
        kept = tuple(kept_in(one) for one in opened.repositories)
    return Growth(kind, after - before, first, last, kept)


@dataclass(frozen=True)
class Growth:
    """What so many events left: what was held before and after, and what is in the repositories."""

    kind: Kind
    events: int
    before: Held
    after: Held
    repositories: tuple["Kept", ...]

    def faults(self, most_bytes: int = MOST_BYTES) -> list[str]:
        """Return what is not as it was, a sentence each."""
        objects = MOST_OBJECTS + min(round(self.kind.objects * self.events), MOST_REMEMBERED)
        connections = self.kind.connections
        limits = Held(most_bytes, objects, connections, connections, 0)
        pairs = zip(Held._fields, self.before, self.after, limits, strict=True)
        found = [
            f"{name.rstrip('_')}: {then} became {now}"
            for name, then, now, more in pairs
            if now - then > more
        ]
        return [*found, *(fault for one in self.repositories for fault in one.faults())]

    def __str__(self) -> str:
        pairs = zip(Held._fields, self.before, self.after, strict=True)
        told = [f"{name.rstrip('_')} {now - then:+d}" for name, then, now in pairs]
        return ", ".join([f"{self.events} more", *told, *map(str, self.repositories)])


class Kept(NamedTuple):
    """What a repository holds: objects, those that references lead to, packs, and what is neither.

    `loose` are objects that are in no pack, `packed_bytes` is the size of the packs.
    """

    objects: int
    reachable: int
    loose: int
    packs: int
    packed_bytes: int
    strange: tuple[str, ...]

    def faults(self) -> list[str]:
        """Return what is there beside what was committed or fetched, and what is not packed."""
        found = []
        if self.objects != self.reachable:
            found.append(f"{self.objects - self.reachable} objects that nothing leads to")
        if self.loose or self.packs > MOST_PACKS:
            found.append(f"{self.loose} loose objects, {self.packs} packs")
        return found + [f"left behind: {name}" for name in self.strange]

    def __str__(self) -> str:
        return f"{self.objects} objects in {self.packs} packs of {self.packed_bytes} bytes"


LEFTOVERS = ("*.lock", "tmp_*", "*.keep", "*.import", "core", "core.*", "*.new-*")


def kept_in(folder: Path) -> Kept:
    """Return what a repository holds."""
    every = git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    named = git(folder, "rev-list", "--objects", "--all", "--no-object-names").split()
    counted = git(folder, "count-objects", "-v").split()
    facts = dict(zip(counted[::2], counted[1::2], strict=True))
    place = Path(git(folder, "rev-parse", "--absolute-git-dir"))
    strange = (str(one.relative_to(place)) for glob in LEFTOVERS for one in place.rglob(glob))
    return Kept(
        len(set(every)),
        len(set(named)),
        int(facts["count:"]),
        int(facts["packs:"]),
        int(facts["size-pack:"]) * 1024,
        tuple(strange),
    )


@contextmanager
def listener(folder: Path, ask: str) -> Iterator[Opened]:
    """Ask the daemon's listener in one way."""
    del folder
    hook = f"X-Signature: sha256={signed()}" if ask == "signed" else ""
    with served() as running:
        if ask == "DELETE":
            yield Opened(lambda: running.send(b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n"))
        elif ask in ("signed", "refused"):
            yield Opened(lambda: running.hook(headers=hook))
        else:
            yield Opened(lambda: running.get(ask))


@contextmanager
def view(folder: Path) -> Iterator[Opened]:
    """Ask the page for views, which another process answers."""
    fleet = new_checkout(folder / "fleet", EXAMPLE)
    with served_page(fleet.folder) as page:
        page.get("/clusters")
        yield Opened(lambda: page.get("/clusters"))


class Turns:
    """Wakes a daemon in another thread, once each time that it is told to."""

    problem = ""

    def __init__(self) -> None:
        self._go = threading.Semaphore(0)
        self._over = threading.Semaphore(0)
        self._stopped = False

    def wait(self, timeout_seconds: float, /) -> bool:
        """Wait to be told; called by the daemon."""
        del timeout_seconds
        self._over.release()
        self._go.acquire()
        return not self._stopped

    def turn(self) -> None:
        """Let it turn once, and wait until it sleeps again."""
        self._go.release()
        assert self._over.acquire(timeout=PATIENCE_SECONDS), "the daemon does not turn"

    def stop(self) -> None:
        """Let it end."""
        self._stopped = True
        self._go.release()

    def begin(self) -> None:
        """Wait until it sleeps for the first time."""
        assert self._over.acquire(timeout=PATIENCE_SECONDS), "the daemon does not begin"


@dataclass
class Failures:
    """What went wrong in a daemon."""

    reasons: list[str] = field(default_factory=list)

    def __call__(self, event: DaemonEvent) -> None:
        """Take note of what a daemon says."""
        if isinstance(event, PassFailed):
            self.reasons.append(event.reason)


@contextmanager
def daemon(branch: Branch, clock: Clock) -> Iterator[Turns]:
    """Run a daemon of a branch with those who watch it, a turn at a time."""
    turns, failures = Turns(), Failures()
    serving = Daemon(
        passes=passes_of(branch, clock),
        wakeups=turns,
        poll_seconds=60,
        observers=(Metrics(lambda _: NOW), DaemonHealth(poll_seconds=60), failures),
    )
    thread = threading.Thread(target=serving.run, name="daemon", daemon=True)
    thread.start()
    turns.begin()
    try:
        yield turns
    finally:
        turns.stop()
        thread.join(ENDING_SECONDS)
    assert [] == failures.reasons


@contextmanager
def here(folder: Path) -> Iterator[tuple[Branch, Push, Once]]:
    """Serve a repository on this machine, to which nobody else writes."""
    repository = Repository.open(new_bare(folder / "fleet.git", EXAMPLE))
    git(repository.git_dir, "gc", "--quiet")
    people = Repository.open(repository.git_dir)
    yield LocalBranch(repository, "main"), partial(_push, people), lambda: None


@contextmanager
def checked_out(folder: Path) -> Iterator[tuple[Branch, Push, Once]]:
    """Serve a checkout in which a person commits, and collects at the end, as git does for them."""
    fleet = new_checkout(folder / "fleet", EXAMPLE)

    def rest() -> None:
        fleet.git("gc", "--quiet")
        assert "" == fleet.status()

    branch = LocalBranch(Repository.open(fleet.folder), "main")
    yield branch, lambda path, content, _: fleet.commit({path: content}), rest


@contextmanager
def mirrored(folder: Path) -> Iterator[tuple[Branch, Push, Once]]:
    """Serve a remote through a mirror; the upkeep of an hour is done at the end."""
    remote = new_bare(folder / "remote.git", EXAMPLE)
    with Mirror.open(f"file://{remote}", folder / "mirror") as mirror:

        def rest() -> None:
            mirror.upkeep.end()
            mirror.upkeep = Upkeep(mirror.repository.git)
            mirror.maintain()
            eventually(lambda: not mirror.upkeep.go_on(), "the upkeep")

        push = partial(_push, Repository.open(remote))
        yield RemoteBranch(mirror, mirror.repository, "main"), push, rest


Place = Callable[[Path], AbstractContextManager[tuple[Branch, Push, Once]]]


@contextmanager
def poll(folder: Path, place: Place) -> Iterator[Opened]:
    """Look at a branch that has not moved."""
    clock = Clock(NOW)
    with place(folder) as (branch, _, rest), daemon(branch, clock) as turns:
        _settle(turns, clock)
        yield Opened(turns.turn, [branch.repository.git_dir], rest)


@contextmanager
def decided(folder: Path, place: Place) -> Iterator[Opened]:
    """Scale a workload, and have it placed."""
    clock, numbers = Clock(NOW), iter(range(10**9))
    with place(folder) as (branch, push, rest), daemon(branch, clock) as turns:
        _settle(turns, clock)

        def once() -> None:
            replicas = f"replicas: {3 + next(numbers) % 29}"
            push(SHOP, EXAMPLE[SHOP].replace("replicas: 2", replicas), clock.now())
            _settle(turns, clock, times=3)

        yield Opened(once, [branch.repository.git_dir], rest)


class Settings:
    """Stands in for the path of a file that holds other settings whenever it is read."""

    def __init__(self) -> None:
        self.turns = Turns()
        self._read = 0

    def read_bytes(self) -> bytes:
        """Return what it holds, once it is somebody's turn to look; the first look is free."""
        self._read += 1
        if self._read > 1:
            self.turns.wait(0)
        return f"poll-seconds: {self._read}".encode()


@contextmanager
def look(folder: Path) -> Iterator[Opened]:
    """Look at a settings file that was edited, and is broken."""
    del folder
    file = Settings()

    def check() -> None:
        raise UsageError("these are no settings")

    watch = SettingsWatch(cast("Path", file), check=check, changed=lambda: None, look_seconds=0)
    with watch:
        file.turns.begin()
        try:
            yield Opened(file.turns.turn)
        finally:
            watch.reload = True
            file.turns.stop()


@contextmanager
def observed(folder: Path) -> Iterator[Opened]:
    """Look at a cluster that is well, and at the branch that it is declared on."""
    certificate = new_certificate(folder)
    with asyncio.Runner() as runner, ExitStack() as stack:
        member = stack.enter_context(running("member1", certificate))
        member.put(node("n1"))
        found = {"member1": member}
        declared = cluster("member1")
        fleet = opened(stack, folder, found, certificate, declared, names=("member1",))

        def once() -> None:
            runner.run(fleet.round(10))
            member.asked.clear()

        yield Opened(once, [fleet.observation.reporter.mirror.repository.git_dir])
        for one in fleet.observation.observers:
            runner.run(one.close())


@contextmanager
def by_pool(folder: Path) -> Iterator[Opened]:
    """Call a worker of this machine."""
    del folder
    with start_pool(1) as pool:
        yield Opened(partial(_call, Workers(pool, 1)))


@contextmanager
def by_dask(folder: Path) -> Iterator[Opened]:
    """Call a worker of a Dask cluster."""
    with cluster_in(folder, workers=1) as found, open_cluster(found.dask) as workers:
        yield Opened(partial(_call, workers))


KINDS: Mapping[str, Kind] = {
    "alive": Kind(partial(listener, ask="/livez")),
    "ready": Kind(partial(listener, ask="/readyz")),
    "metrics": Kind(partial(listener, ask="/metrics")),
    "missing": Kind(partial(listener, ask="/nothing/here")),
    "strange method": Kind(partial(listener, ask="DELETE")),
    "hook": Kind(partial(listener, ask="signed")),
    "refused hook": Kind(partial(listener, ask="refused")),
    "view": Kind(view, divisor=5),
    "settings look": Kind(look),
    "poll": Kind(partial(poll, place=here)),
    "poll of a remote": Kind(partial(poll, place=mirrored), divisor=4),
    "pass": Kind(partial(decided, place=here), divisor=10, objects=10),
    "pass in a checkout": Kind(partial(decided, place=checked_out), divisor=10, objects=10),
    "pass of a remote": Kind(partial(decided, place=mirrored), divisor=10, objects=10),
    "observed round": Kind(observed, divisor=10, connections=8),  # of both ends
    "worker call": Kind(by_pool, divisor=2),
    # Dask keeps the last 1,000 messages here, and of 100,000 changes in its own processes.
    "call of a cluster": Kind(by_dask, objects=20, connections=4, alone=True),
}
"""Every kind of event that a daemon meets."""


def main() -> int:
    """Make events of each kind, print what they left; exit 1 if that is anything."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.flat", description=__doc__)
    parser.add_argument("--times", type=int, default=10_000, help="how often cheap ones are made")
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all if none is named")
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    wrong = 0
    for name in asked.kinds or KINDS:
        kind = KINDS[name]
        times, began = asked.times // kind.divisor, time.monotonic()
        with tempfile.TemporaryDirectory(prefix="flat-", ignore_cleanup_errors=True) as folder:
            found = grown(kind, Path(folder), before=times // 10, after=times, traced=False)
        faults = found.faults()
        print(f"{name}: {found} ({time.monotonic() - began:.0f} s)", flush=True)
        for fault in faults:
            print(f"  {fault}", flush=True)
        wrong += bool(faults)
    return 1 if wrong else 0


def _repeat(opened: Opened, times: int) -> None:
    for number in range(times):
        opened.once()
        if number % OFTEN == 0:
            _forget()
    opened.rest()


def _steady(first: Held, middle: Held, last: Held) -> int:
    """Return the bytes by which both halves grow.

    What a library allocates once, at whatever moment, such as a buffer of 4 MB, is in one half
    only; what each event leaves is in both.
    """
    return 2 * min(middle.bytes_ - first.bytes_, last.bytes_ - middle.bytes_)


def _forget() -> None:
    """Drop what functions remember: it has a size, and thousands of events until it comes to it.

    That is done often, or else the memory that it took would stay with the process, in pieces.
    """
    for one in _caches():
        if (one.cache_parameters()["maxsize"] or 1) > 1:  # else it holds what a build has
            one.cache_clear()
    gc.collect()


def _caches() -> "Iterator[_lru_cache_wrapper[object]]":
    """Yield what functions and methods of the package remember by."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("reconciler."):
            values = [*vars(module).values()]
            classes = [value for value in values if isinstance(value, type)]
            values += [value for of in classes for value in vars(of).values()]
            yield from (value for value in values if isinstance(value, _lru_cache_wrapper))


def _settle(turns: Turns, clock: Clock, *, times: int = 4) -> None:
    """Let a daemon turn until nothing is left to do, as time goes by."""
    for _ in range(times):
        clock.pause(90)
        turns.turn()


def _push(people: Repository, path: str, content: str, at: datetime) -> None:
    """Commit as a person does whose push comes as a pack."""
    edits = [WriteFile(path, content)]
    head = people.resolve("main")
    new = write_commit(people, edits, parent=head, message="Scale", at=at, author=DAEMON)
    publish(people, "main", old=head, new=new)


def _call(workers: Workers) -> None:
    assert [(-3, 3)] == list(results_of(workers, abs, [-3]))


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Let this process and those that it starts put temporary files into a folder."""
    before, chosen = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = chosen
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before


def _children(pid: int) -> list[int]:
    """Return the processes that the threads of a process started, and theirs."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, thread.read_text().split())
    return [one for child in found for one in (child, *_children(child))]


def _own_bytes(pid: int) -> int:
    """Return the memory of a process that is no page of a file."""
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text().partition("Anonymous:")[2]
    except OSError:
        return 0
    return int(told.split()[0]) * 1024


def _count(folder: Path) -> int:
    try:
        return len(list(folder.iterdir()))
    except OSError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
