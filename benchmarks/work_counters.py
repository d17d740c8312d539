"""How much a pass does after one change, in calls of functions, at several sizes of a repository.

Times depend on the machine, calls do not: what follows the change alone stays the same, whatever
else is in the repository.
"""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import CodeType, FrameType

from benchmarks.startup_and_passes import WORKLOAD, Given, git, make_repository, passes_of
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.dialects.karmada.decide import decide
from reconciler.dialects.karmada.detector.binding_draft import draft_binding
from reconciler.manifests.emitter import encode
from reconciler.manifests.paths import blob_id
from reconciler.shell.git.repository import Repository
from reconciler.shell.load import Loader
from reconciler.shell.resources import load_schemas
from reconciler.shell.trees import GitTrees

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
    """Count the calls of Python functions, by their code."""
    calls: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def work_after_one_change(folder: Path, manifests: int, clusters: int) -> Mapping[str, int]:
    """Return what one changed workload costs, by what is counted; `calls` are those of anything."""
    make_repository(folder, manifests, clusters=clusters)
    repository = Repository.open(folder)
    loader = Loader(GitTrees(repository), load_schemas(), output_root="status")
    clock = Given(datetime.now(UTC).replace(microsecond=0))
    runner = passes_of(repository, loader, clock)
    memo = Memo()

    def settle() -> None:
        for _ in range(3):
            runner.run()
            world = loader.load(repository.resolve("main"))
            reconcile(world, clock.moment, memo=memo)
            clock.moment += timedelta(seconds=100)

    settle()
    (folder / "workloads" / "00001.yaml").write_text(WORKLOAD.format(i=1, replicas=3))
    git(folder, "commit", "-q", "-am", "scale")
    with counted() as calls:
        world = loader.load(repository.resolve("main"))
        outcome = reconcile(world, clock.moment, memo=memo)
    assert len(outcome.decisions) == 1  # noqa: S101  # what is measured must be what was meant
    return {
        **{name: calls[function.__code__] for name, function in COUNTED.items()},
        "calls": calls.total(),
    }


def main() -> None:
    """Print a row for each size."""
    print(f"{'manifests':>10} " + " ".join(f"{name:>9}" for name in (*COUNTED, "calls")))
    for size in map(int, sys.argv[1:]) if len(sys.argv) > 1 else SIZES:
        folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        try:
            work = work_after_one_change(folder, size, CLUSTERS)
        finally:
            shutil.rmtree(folder)
        print(f"{size:>10} " + " ".join(f"{count:>9}" for count in work.values()))


if __name__ == "__main__":
    main()
