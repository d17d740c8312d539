"""What views of the page cost: from the question to the last byte, by the processes that answer.

The first view of a commit is that which a person waits for: the files were read for the commit
before, as in a page that follows its branch.
"""

import gzip
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.own_process import peak_megabytes_of_children
from benchmarks.repositories import (
    Given,
    make_bare,
    manifests_of,
    passes_of,
    push,
    start_clock,
    workload,
)
from reconciler.cli.page.service import open_page
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.repository import Repository
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_endpoints import LEVEL
from reconciler.shell.http.page_process import PageProcesses, PageQuestion
from reconciler.shell.passes.one_pass import Passes

SIZES = {
    (500, 5_000): "500 clusters, 5,000 workloads",
    (5_000, 100_000): "5,000 clusters, 100,000 workloads",
}
OBJECT_SIZES = {
    (500, 5_000): "500 clusters, 10,500 manifests",
    (500, 49_750): "500 clusters, 100,000 manifests",
}
KEPT = Path("build/fleets")
CHANGED = 10
QUERY = tuple[tuple[str, str], ...]


def _workload(number: int) -> QUERY:
    """Return the address of a workload."""
    name = f"web-{number:05d}"
    return ("group", "apps"), ("kind", "Deployment"), ("name", name), ("namespace", "default")


def _in_full(number: int) -> QUERY:
    """Return the address of a workload, with why it is where it is."""
    return tuple(sorted((*_workload(number), ("full", "1"))))


MEANWHILE = ("a cluster", "objects", "an object", "matrix", "timeline", "search")
"""Views that are asked for while passes run."""
PASSES = 5
VIEWS: dict[str, tuple[str, QUERY]] = {
    "fleet again": ("fleet", ()),
    "next clusters": ("clusters", (("page", "2"),)),
    "clusters by use": ("clusters", (("sort", "-taken"),)),
    "a cluster": ("cluster", (("name", "member-00001"),)),
    "objects": ("objects", ()),
    "objects by replicas": ("objects", (("sort", "-replicas"),)),
    "an object": ("object", _workload(CHANGED + 3)),
    "its manifest": ("manifest", _workload(CHANGED + 3)),
    "search": ("search", (("q", "web-00001"),)),
    "matrix": ("matrix", ()),
    "matrix by policy": ("matrix", (("group", "policy"),)),
    "matrix by labels": ("matrix", (("selector", "app=web"),)),
    "timeline": ("timeline", ()),
    "rebalancers": ("rebalancers", ()),
    "faults": ("faults", ()),
}


OBJECT_VIEWS: dict[str, tuple[str, QUERY]] = {
    "list": ("matrix", ()),
    "one cluster": ("matrix", (("cluster", "member-00001"),)),
    "first object": ("object", _workload(1)),
    "second object": ("object", _workload(2)),
    "third object": ("object", _workload(3)),
    "an object at rest": ("object", _workload(CHANGED + 1)),
    "another object at rest": ("object", _workload(CHANGED + 2)),
    "first object, why and its history": ("object", _in_full(1)),
    "second object, why and its history": ("object", _in_full(2)),
    "third object, why and its history": ("object", _in_full(3)),
    "an object at rest, why and its history": ("object", _in_full(CHANGED + 1)),
    "another object at rest, why and its history": ("object", _in_full(CHANGED + 2)),
}


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as every group
    """Yield what each size costs."""
    for (clusters, workloads), size in SIZES.items():
        if large or workloads < 100_000:
            folder = KEPT / f"{clusters}-{workloads}.git"
            if not folder.exists():  # the large one takes 15 minutes and 15 GB of memory
                _make(folder, clusters, workloads)
            yield from _figures(folder, size)
            yield from _meanwhile(folder, size)


def object_figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as every group
    """Yield what the page of one object costs, beside the list of all and that of one cluster.

    Two passes wrote every binding; a third one wrote those that were scaled. Of each object its
    whole history is told. What comes of all is computed beside, by whole passes.
    """
    for (clusters, workloads), size in OBJECT_SIZES.items():
        if large or workloads < 10_000:
            folder = KEPT / f"{clusters}-{workloads}.git"
            if not folder.exists():  # the large one takes 10 minutes and 8 GB of memory
                _make(folder, clusters, workloads)
            yield from _object_figures(folder, size)


def _object_figures(folder: Path, size: str) -> Iterator[Figure]:
    """Yield what views of one repository cost."""
    head = _commit(folder, "main")
    with open_page(folder, "main", RepositoryLayout(), PageAccess()) as page:
        took, _ = _asked(page.processes, head, "fleet")
        yield Figure(f"page of objects, from nothing, {size}", took, Unit.SECONDS)
        for name, (view, query) in OBJECT_VIEWS.items():
            took, length = _asked(page.processes, head, view, query)
            note = f"{length / 1e3:.0f} KB compressed"
            yield Figure(f"page of objects, {name}, {size}", took, Unit.SECONDS, note)
        start = time.perf_counter()
        page.processes.ask_whole(PageQuestion("coming", (), head))
        took = time.perf_counter() - start
        yield Figure(f"page of objects, what comes of all, {size}", took, Unit.SECONDS, "read, too")


def _make(folder: Path, clusters: int, workloads: int) -> None:
    """Make a repository: placed, then changed and placed again."""
    begun = folder.with_suffix(".begun")
    repository = make_bare(begun, manifests_of(clusters + 2 * workloads, clusters))
    clock = start_clock()
    passes = passes_of(repository, clock)
    passes.run()
    clock.moment += timedelta(seconds=120)
    files = {path: text for i in range(CHANGED) for path, text in workload(i, 33).items()}
    push(repository, files, at=clock.moment)
    passes.run()
    begun.rename(folder)


def _figures(folder: Path, size: str) -> Iterator[Figure]:
    """Yield what views of one repository cost."""
    before, head = _commit(folder, "main~2"), _commit(folder, "main")
    with open_page(folder, "main", RepositoryLayout(), PageAccess()) as page:
        took, _ = _asked(page.processes, before, "fleet")
        yield Figure(f"page, from nothing, {size}", took, Unit.SECONDS)
        took, length = _asked(page.processes, head, "fleet")
        note = "after a pass, which was not followed live"
        yield Figure(f"page, first view, {size}", took, Unit.SECONDS, note)
        name = f"page, size of the first view, {size}"
        yield Figure(name, length / 1e6, Unit.MEGABYTES, "compressed")
        for name, (view, query) in VIEWS.items():
            took, length = _asked(page.processes, head, view, query)
            note = f"{length / 1e3:.0f} KB compressed"
            yield Figure(f"page, {name}, {size}", took, Unit.SECONDS, note)
        peak = peak_megabytes_of_children()
        yield Figure(f"page, memory of its process, {size}", peak, Unit.MEGABYTES, "at most")


def _meanwhile(folder: Path, size: str) -> Iterator[Figure]:
    """Yield what views cost while passes run beside, as in a daemon: the longest of each.

    Each pass moves one workload, in a copy of the repository that shares its objects.
    """
    took: dict[str, float] = {}

    def ask(name: str, head: str, view: str, query: QUERY) -> None:
        took[name] = max(took.get(name, 0), _asked(page.processes, head, view, query)[0])

    with (
        tempfile.TemporaryDirectory(prefix="reconciler-page-") as name,
        ProcessPoolExecutor(1, get_context("spawn")) as beside,
    ):
        copy = Path(name) / "fleet.git"
        words = ["git", "clone", "--quiet", "--bare", "--shared", str(folder), str(copy)]
        subprocess.run(words, check=True)
        with open_page(copy, "main", RepositoryLayout(), PageAccess()) as page:
            _asked(page.processes, _commit(copy, "main"), "fleet")
            beside.submit(_pass_again, copy, 0).result()  # it has read all that there is
            for number in range(1, PASSES + 1):
                head = _commit(copy, "main")
                running = beside.submit(_pass_again, copy, number)
                ask("first view after a pass", head, "fleet", ())
                for view in MEANWHILE:
                    ask(view, head, *VIEWS[view])
                running.result()
    for view, seconds in took.items():
        yield Figure(f"page while passes run, {view}, {size}", seconds, Unit.SECONDS)


_RUNNING: dict[Path, tuple[Repository, Given, Passes]] = {}
"""In the process beside: what passes run with, by repository."""


def _pass_again(folder: Path, number: int) -> None:
    """Scale a workload, and run a pass."""
    if folder not in _RUNNING:
        repository, clock = Repository.open(folder), start_clock()
        clock.moment += timedelta(seconds=600)
        _RUNNING[folder] = repository, clock, passes_of(repository, clock)
    repository, clock, passes = _RUNNING[folder]
    clock.moment += timedelta(seconds=120)
    push(repository, workload(CHANGED + 20 + number, 40 + number), at=clock.moment)
    passes.run()


def _commit(folder: Path, name: str) -> str:
    """Return the full hex id of a commit."""
    words = ["git", "-C", str(folder), "rev-parse", name]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def _asked(processes: PageProcesses, head: str, view: str, query: QUERY = ()) -> tuple[float, int]:
    """Return how many seconds a view of a commit takes, and how many bytes it has compressed."""
    start = time.perf_counter()
    reply = processes.ask(PageQuestion(view, query, head))
    if reply.status != 200 or reply.lacks:
        raise RuntimeError(f"{view}: {reply.html[-200:]}")
    took = time.perf_counter() - start
    return took, len(gzip.compress(reply.html.encode(), compresslevel=LEVEL))
