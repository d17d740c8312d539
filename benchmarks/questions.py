"""What questions cost: processor time, children included.

About the example repository, compared with the check of one file by the same command, so that
machines can be compared; and about a large fleet.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.commands import command
from benchmarks.figure import Figure, Unit
from benchmarks.long_history import add_commits
from benchmarks.repositories import change, git, team_workload, teams_of, write_checkout
from reconciler.shell.resources import write_example

REPEAT = 7
CHECK_ONE = ("validate", "policies/shop.yaml")
QUESTIONS = (
    ("get", "clusters"),
    ("tree", "pp/shop"),
    ("top", "clusters"),
    ("plan", "--base", "HEAD~2", "--head", "HEAD~1"),
    ("why", "deployment/shop"),
    ("verify",),
)

CLUSTERS, WORKLOADS = 500, 10_000
CHANGED = 7  # the workload that is scaled before each question
ONE, HISTORY = "get of one object", "history of one object"
SIZED_QUESTIONS: Mapping[str, tuple[str, ...]] = {
    ONE: ("get", "resourcebinding", "web-00004-deployment"),
    "get by label": ("get", "-A", "deployments", "-l", "team=t3"),
    "get of all objects": ("get", "-A", "deployments,resourcebindings"),
    "status": ("status",),
    "why of one object": ("why", "deployment/web-00004"),
    "plan of one file": ("plan", "--base", "HEAD~1", "--head", "HEAD"),
    HISTORY: ("history", "deployment/web-00004"),
    "validate of one file": ("validate", "workloads/00007.yaml"),
}
COMMITS = 1_000
READ_AND_PARSE = (sys.executable, str(Path(__file__).with_name("read_and_parse.py")))

COMPLETED = ("reconciler", "get", "deployments", "web-0000")
COMPLETION = {
    "_RECONCILER_COMPLETE": "bash_complete",
    "COMP_WORDS": " ".join(COMPLETED),
    "COMP_CWORD": str(len(COMPLETED) - 1),
}


def cpu_seconds(folder: Path, *arguments: str) -> float:
    """Return the median processor time of a command."""
    asked = partial(command, *arguments, folder=folder)
    return statistics.median(spent(asked) for _ in range(REPEAT))


def spent(act: Callable[[], object]) -> float:
    """Return the processor time of the processes that something starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    act()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def figures() -> Iterator[Figure]:
    """Yield the seconds of each question."""
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        folder = Path(name)
        write_example(folder)
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "start")
        command("reconcile", folder=folder)
        git(folder, "commit", "-q", "--allow-empty", "-m", "look")
        unit = cpu_seconds(folder, *CHECK_ONE)
        yield Figure(f"example: {' '.join(CHECK_ONE)}", unit, Unit.SECONDS, "processor time")
        for arguments in QUESTIONS:
            took = cpu_seconds(folder, *arguments)
            note = f"{took / unit:.1f} times the check of one file"
            yield Figure(f"example: {' '.join(arguments)}", took, Unit.SECONDS, note)


def sized_figures(clusters: int = CLUSTERS, workloads: int = WORKLOADS) -> Iterator[Figure]:
    """Yield the seconds of each question about a large fleet: the second call, after a change.

    With the cache of parsed documents. A policy by label places ten workloads on 5 to 25 clusters.
    """
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as place:
        folder, cache = Path(place) / "fleet", Path(place) / "cache"
        write_checkout(folder, teams_of(clusters, workloads))
        command("reconcile", folder=folder, cache=cache)
        yield from _cold_figures(folder, Path(place) / "cold", workloads)
        for number, (name, arguments) in enumerate(SIZED_QUESTIONS.items()):
            ask = partial(command, *arguments, folder=folder, cache=cache)
            ask()
            change(folder, team_workload(CHANGED, 3 + number))
            took = spent(ask)
            yield Figure(f"{name}, second call, {workloads:,} workloads", took, Unit.SECONDS)
        complete = partial(command, folder=folder, cache=cache, variables=COMPLETION)
        change(folder, team_workload(CHANGED, 1))
        for which in ("first Tab at a commit", "next Tab"):
            title = f"completion of a name, {which}, {workloads:,} workloads"
            yield Figure(title, spent(complete), Unit.SECONDS)
        yield _over_a_history(folder, cache, workloads)


def _cold_figures(folder: Path, cache: Path, workloads: int) -> Iterator[Figure]:
    """Yield what the first call takes that finds no index, and of what cannot be left out of it."""
    took = spent(partial(command, *SIZED_QUESTIONS[ONE], folder=folder, cache=cache))
    yield Figure(f"{ONE}, first call, {workloads:,} workloads", took, Unit.SECONDS)
    least = spent(partial(subprocess.run, READ_AND_PARSE, cwd=folder, check=True))
    note = f"{took:.2f} of {least:.2f} s"
    title = f"{ONE}, first call, of git and our parse, {workloads:,} workloads"
    yield Figure(title, 100 * took / least, Unit.PERCENT, note)


def _over_a_history(folder: Path, cache: Path, workloads: int) -> Figure:
    """Return what the history of one object takes after a thousand commits about others."""
    add_commits(folder, COMMITS, datetime(2027, 1, 1, tzinfo=UTC))
    ask = partial(command, *SIZED_QUESTIONS[HISTORY], folder=folder, cache=cache)
    ask()
    change(folder, team_workload(CHANGED, 2))
    return Figure(
        f"{HISTORY}, {COMMITS:,} commits, {workloads:,} workloads", spent(ask), Unit.SECONDS
    )
