"""How much a pass does after one change, in calls of functions, at several sizes of a repository.

Times depend on the machine, calls do not: what follows the change alone stays the same, whatever
else is in the repository.
"""

import cProfile
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import CodeType

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import change, make_repository, passes_of, start_clock, workload
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.karmada.decide import decide
from reconciler.dialects.karmada.detector.binding_draft import draft_binding
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.emitter import encode
from reconciler.shell.git.repository import Repository

SIZES = (1000, 10_000)
CLUSTERS = 100
COUNTED: Mapping[str, Callable[..., object]] = {
    "drafted": draft_binding,
    "decided": decide,
    "encoded": encode,
    "hashed": blob_id,
}


@contextmanager
def counted() -> Iterator[Counter[CodeType]]:
    """Count the calls of Python functions, by their code; they are there once it is over."""
    calls: Counter[CodeType] = Counter()
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        yield calls
    finally:
        profile.disable()
        for one in profile.getstats():
            if isinstance(one.code, CodeType):
                calls[one.code] += one.callcount


def work_after_one_change(folder: Path, manifests: int, clusters: int) -> Mapping[str, int]:
    """Return what one changed workload costs, by what is counted; `calls` are those of anything."""
    make_repository(folder, manifests, clusters=clusters)
    repository = Repository.open(folder)
    clock = start_clock()
    runner = passes_of(repository, clock)
    loader = runner.loader
    memo = Memo()

    def settle() -> None:
        for _ in range(3):
            runner.run()
            world = loader.load(repository.resolve("main"))
            reconcile(world, clock.moment, memo=memo)
            clock.moment += timedelta(seconds=100)

    settle()
    change(folder, workload(1, 3))
    with counted() as calls:
        world = loader.load(repository.resolve("main"))
        outcome = reconcile(world, clock.moment, memo=memo)
    assert len(outcome.decisions) == 1  # noqa: S101  # what is measured must be what was meant
    return {
        **{name: calls[function.__code__] for name, function in COUNTED.items()},
        "calls": calls.total(),
    }


def figures() -> Iterator[Figure]:
    """Yield what is counted at each size, and by how much all calls grow."""
    calls = []
    for size in SIZES:
        folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        try:
            work = work_after_one_change(folder, size, CLUSTERS)
        finally:
            shutil.rmtree(folder)
        for name, count in work.items():
            title = "calls of any function" if name == "calls" else name
            yield Figure(f"{title} in a warm pass, {size:,} manifests", count, Unit.COUNT)
        calls.append(work["calls"])
    more = 100 * (calls[1] / calls[0] - 1)
    yield Figure("calls of a warm pass, more at 10,000 than at 1,000", more, Unit.PERCENT)
