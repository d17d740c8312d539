"""Cold load, first pass, idle pass and passes after changes; each repository in its own process."""

import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit, median_ms, seconds
from benchmarks.own_process import figures_of, hand_over, resident_megabytes
from benchmarks.repositories import (
    CLUSTERS,
    Given,
    change,
    git,
    make_bare,
    make_repository,
    manifests_of,
    passes_of,
    push,
    start_clock,
    workload,
)
from reconciler.core.reconcile import reconcile
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.processes.limits import collect_seldom

SIZES = (1000, 10_000)
LARGE = 100_000
ROUNDS = 3
BARE, CHECKOUT = "bare", "checkout"


@dataclass(slots=True)
class Served:
    """A repository that is served, and what a person does there."""

    folder: Path
    repository: Repository
    clock: Given
    runner: Passes
    changes: int = field(default=0)

    def wait(self, seconds: int) -> None:
        """Let time go by."""
        self.clock.moment += timedelta(seconds=seconds)

    def change(self, count: int) -> None:
        """Scale so many workloads in one commit."""
        self.changes += 1
        replicas = 3 + self.changes % 90
        files = {path: text for i in range(count) for path, text in workload(i, replicas).items()}
        if self.repository.work_tree is None:
            push(self.repository, files, at=self.clock.moment)
            return
        change(self.folder, files)


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as groups are called
    """Yield the figures of each size, in a bare repository and in a checkout."""
    for size in (*SIZES, *((LARGE,) if large else ())):
        for where in (BARE, CHECKOUT):
            yield from figures_of("passes", str(size), where)


def _serve(folder: Path, manifests: int, where: str) -> Served:
    clusters = min(manifests // 10, CLUSTERS)
    if where == BARE:
        repository = make_bare(folder, manifests_of(manifests, clusters))
    else:
        make_repository(folder, manifests, clusters=clusters)
        repository = Repository.open(folder)
    clock = start_clock()
    return Served(folder, repository, clock, passes_of(repository, clock))


def _measure(folder: Path, manifests: int, where: str) -> Iterator[Figure]:
    served = _serve(folder, manifests, where)
    yield from (_in_bare(served) if where == BARE else _in_checkout(served))


def _in_bare(served: Served) -> Iterator[Figure]:
    runner, head = served.runner, served.runner.branch.head()
    yield Figure("cold load", seconds(lambda: runner.loader.load(head)), Unit.SECONDS)
    yield Figure("memory, loaded", resident_megabytes(), Unit.MEGABYTES)
    world = runner.loader.load(head)
    first = seconds(lambda: reconcile(world, served.clock.moment))
    yield Figure("first pass, in memory", first, Unit.SECONDS)
    yield Figure("first pass", seconds(runner.run), Unit.SECONDS)
    yield from _a_minute_later(served)
    _settle(served)
    yield Figure("idle pass", median_ms(9, runner.decide), Unit.MILLISECONDS)
    for count in (1, 10):
        title = f"warm pass, {count} changed"
        yield Figure(f"{title}, in memory", _after(served, count, runner.decide), Unit.MILLISECONDS)
        yield Figure(title, _after(served, count, runner.run), Unit.MILLISECONDS)
    served.change(10)
    served.wait(300)
    started = _processes(runner.run)
    note = ", ".join(sorted(started.elements()))
    yield Figure("git processes of a warm pass", started.total(), Unit.COUNT, note)


def _in_checkout(served: Served) -> Iterator[Figure]:
    served.runner.run()
    _settle(served)
    took = _after(served, 10, served.runner.run)
    yield Figure("warm pass in a checkout, 10 changed", took, Unit.MILLISECONDS)
    refresh = median_ms(9, lambda: git(served.folder, "update-index", "-q", "--refresh"))
    yield Figure("git's refresh of the index", refresh, Unit.MILLISECONDS)
    ratio = 100 * took / refresh
    yield Figure("warm pass in a checkout, of git's refresh", ratio, Unit.PERCENT)


def _a_minute_later(served: Served) -> Iterator[Figure]:
    """Yield what it costs that everything nobody reported on is assumed to be there by then."""
    runner = served.runner
    served.wait(1)
    runner.run()
    head = runner.branch.head()
    served.wait(60)
    took = seconds(runner.run)
    yield Figure("a minute after the first pass", took, Unit.SECONDS)
    commits = int(head != runner.branch.head())
    yield Figure("commits a minute after the first pass", commits, Unit.COUNT)


def _settle(served: Served) -> None:
    """Go on until nothing changes."""
    served.wait(1)
    served.runner.run()
    served.wait(1)
    served.runner.decide()


def _after(served: Served, count: int, act: Callable[[], object]) -> float:
    """Return the median time of a call after each of some changes."""
    times = []
    for _ in range(ROUNDS):
        served.change(count)
        served.wait(300)
        times.append(median_ms(1, act))
        served.wait(1)
        served.runner.run()  # commits what was only decided, and reads what was committed
        served.wait(1)
        served.runner.decide()
    return statistics.median(times)


def _processes(act: Callable[[], object]) -> Counter[str]:
    """Return the commands that git is started with."""
    started: Counter[str] = Counter()
    active = True

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if active and event == "subprocess.Popen":
            words = arguments[1]
            assert isinstance(words, list)  # noqa: S101  # what git is started with
            after = words[words.index("git") + 1 :]
            started[next(word for word in after if not word.startswith("-"))] += 1

    sys.addaudithook(note)
    act()
    active = False
    return started


def main() -> None:
    """Print the figures of one repository."""
    manifests, where = int(sys.argv[1]), sys.argv[2]
    collect_seldom()  # as the command does
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        hand_over(
            Figure(f"{item.name}, {manifests:,} manifests", item.value, item.unit, item.note)
            for item in _measure(folder / "repository", manifests, where)
        )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
