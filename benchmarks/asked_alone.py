"""What an answer about one object costs, asked alone and of the whole pass; by its own process."""

import gc
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from time import process_time

from benchmarks.figure import Figure, Unit
from benchmarks.own_process import figures_of, hand_over
from benchmarks.repositories import CLUSTERS, make_bare, manifests_of, passes_of, start_clock
from reconciler.audit.previews.foresight import foresee_alone
from reconciler.core.asked import AskedAlone
from reconciler.core.dialects import PLACED
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.contract import DependsOnOthers
from reconciler.shell.processes.limits import collect_seldom

SIZES = (10_000,)
LARGE = 100_000
SAMPLED = 20


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as groups are called
    """Yield the figures of each size."""
    for size in (*SIZES, *((LARGE,) if large else ())):
        yield from figures_of("asked_alone", str(size))


def _measure(folder: Path, manifests: int) -> Iterator[Figure]:
    clock = start_clock()
    repository = make_bare(folder, manifests_of(manifests, min(manifests // 10, CLUSTERS)))
    passes = passes_of(repository, clock)
    passes.run()
    clock.moment += timedelta(seconds=1)
    world = passes.loader.load(passes.branch.head())
    keys = sorted(key for key in world.outputs if key[:2] in PLACED)
    chosen = Random(1).sample(keys, SAMPLED)  # noqa: S311  # a sample, no secret
    del passes
    gc.collect()
    asking = AskedAlone()
    start = process_time()
    asking.part(world, chosen[0])
    index = process_time() - start
    start = process_time()
    for key in chosen[:1]:
        asking.ask(world, key, clock.moment)
    first = process_time() - start
    answers, comings = [], []
    for key in chosen:
        start = process_time()
        outcome = asking.ask(world, key, clock.moment)
        if isinstance(outcome, DependsOnOthers):
            raise TypeError(outcome.reason)
        outcome.explanations[key]()
        answers.append(process_time() - start)
        start = process_time()
        foresee_alone(world, clock.moment, asking, key)
        comings.append(process_time() - start)
    start = process_time()
    whole = reconcile(world, clock.moment, asked=frozenset(chosen[:1]), memo=Memo())
    whole.explanations[chosen[0]]()
    together = process_time() - start
    yield Figure("asked alone: index of all objects", index, Unit.SECONDS)
    yield Figure("asked alone: first answer", 1000 * first, Unit.MILLISECONDS, "clusters decoded")
    note = f"{SAMPLED} objects, at most {1000 * max(answers):.1f} ms"
    median = statistics.median(answers)
    yield Figure("asked alone: answer, explained", 1000 * median, Unit.MILLISECONDS, note)
    note = f"{SAMPLED} objects, at most {1000 * max(comings):.1f} ms"
    coming = 1000 * statistics.median(comings)
    yield Figure("asked alone: what comes", coming, Unit.MILLISECONDS, note)
    note = f"{together:.2f} s"
    yield Figure("whole pass, of an answer alone", together / median, Unit.TIMES, note)


def main() -> None:
    """Print the figures of one repository."""
    manifests = int(sys.argv[1])
    collect_seldom()  # as the command does
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        hand_over(
            Figure(f"{item.name}, {manifests:,} manifests", item.value, item.unit, item.note)
            for item in _measure(folder / "repository", manifests)
        )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
