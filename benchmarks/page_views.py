"""What views of the page cost: from the question to the last byte, by the processes that answer.

The first view of a commit is that which a person waits for: the files were read for the commit
before, as in a page that follows its branch.
"""

import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import make_bare, manifests_of, passes_of, push, start_clock, workload
from reconciler.cli.page_service import open_page
from reconciler.shell.git.repository import Repository
from reconciler.shell.page_process import PageProcesses, PageQuestion

SIZES = {
    (500, 5_000): "500 clusters, 5,000 workloads",
    (5_000, 100_000): "5,000 clusters, 100,000 workloads",
}
CHANGED = 10
VIEWS = ("matrix", "timeline", "faults")


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as every group
    """Yield what each size costs."""
    for (clusters, workloads), size in SIZES.items():
        if large or workloads < 100_000:
            with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
                yield from _figures(Path(name) / "fleet.git", clusters, workloads, size)


def _figures(folder: Path, clusters: int, workloads: int, size: str) -> Iterator[Figure]:
    """Yield what views of one repository cost."""
    repository = make_bare(folder, manifests_of(clusters + 2 * workloads, clusters))
    clock = start_clock()
    passes = passes_of(repository, clock)
    for _ in range(2):  # the second one assumes what nobody reported
        passes.run()
        clock.moment += timedelta(seconds=120)
    with open_page(folder, "main", "status", token="") as page:
        took, _ = _asked(page.processes, repository, "fleet")
        yield Figure(f"page, from nothing, {size}", took, Unit.SECONDS)
        clock.moment += timedelta(seconds=60)
        files = {path: text for i in range(CHANGED) for path, text in workload(i, 33).items()}
        push(repository, files, at=clock.moment)
        passes.run()
        took, length = _asked(page.processes, repository, "fleet")
        yield Figure(f"page, first view, {size}", took, Unit.SECONDS)
        yield Figure(f"page, size of the first view, {size}", length / 1e6, Unit.MEGABYTES)
        for view in VIEWS:
            took, length = _asked(page.processes, repository, view)
            note = f"{length / 1e6:.2f} MB"
            yield Figure(f"page, {view}, {size}", took, Unit.SECONDS, note)


def _asked(processes: PageProcesses, repository: Repository, view: str) -> tuple[float, int]:
    """Return how many seconds a view takes at the head of the branch, and how many bytes it has."""
    start = time.perf_counter()
    reply = processes.ask(PageQuestion(view, (), repository.resolve("main")))
    if reply.status != 200:
        raise RuntimeError(f"{view}: {reply.html[-200:]}")
    return time.perf_counter() - start, len(reply.html.encode())
