"""What a pass does after one change of one cell, in fleets of more and more cells.

Everything that the interpreter does in `reconcile` is counted, comprehensions included, with
delivery on. Where it grows with the fleet the change is listed, with how much and why; what is
listed may only become less. `make costs` counts in fleets of some 250 and 2,500 objects.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import cache
from types import FrameType
from typing import Any

import pytest

from reconciler.core.reconcile import Memo, reconcile
from tests.core.cell_fleets import KARMADA, KUBEFLEET, OPEN_CLUSTER_MANAGEMENT, CellFleet
from tests.stories import Story, applied, linked, story

IS_LARGE = "COSTS" in os.environ
# Two fleets of each API, traced operation by operation.
pytestmark = pytest.mark.cpu_seconds(900 if IS_LARGE else 120)

SMALL, LARGE = (10, 100) if IS_LARGE else (3, 9)
SETTLED = 4  # passes until nothing moves any more
MORE = 1.05

FLEETS = {"karmada": KARMADA, "kubefleet": KUBEFLEET, "ocm": OPEN_CLUSTER_MANAGEMENT}

INDEX = "the index of the fleet is drawn anew where a cluster differs"
POLICIES = "all override policies are gone through, and indexed, for the one that differs"
ROOM = "how often a workload fits is asked of the whole fleet at once, and kept"
SCORE = "a score is read of all clusters at once, and kept"
RECORDS = "a record names the first twenty clusters that were rejected, of which this is one"
LISTED = "a snapshot lists what was decided of the first twenty clusters"
COUNTED = "where an edit takes something, all that is placed is counted"
GROWS: Mapping[tuple[str, str], tuple[float, float, str]] = {
    ("karmada", "override"): (MORE, 1.08, POLICIES),
    ("karmada", "label"): (MORE, 1.62, INDEX),
    ("karmada", "taint"): (1.06, 2.24, INDEX),
    ("karmada", "resources"): (1.35, 4.62, INDEX),
    ("karmada", "rebalancer"): (MORE, 1.4, ROOM),
    ("kubefleet", "placement"): (1.06, MORE, LISTED),
    ("kubefleet", "override"): (MORE, 1.25, POLICIES),
    ("kubefleet", "label"): (3.2, 10.2, RECORDS),
    ("kubefleet", "taint"): (3.2, 10.2, RECORDS),
    ("kubefleet", "rebalancer"): (1.17, 2.2, COUNTED),
    ("ocm", "placement"): (MORE, 1.15, SCORE),
    ("ocm", "label"): (MORE, 1.39, INDEX),
    ("ocm", "taint"): (MORE, 1.45, INDEX),
    ("ocm", "resources"): (MORE, 1.38, INDEX),
    ("ocm", "score"): (MORE, 1.14, SCORE),
    ("ocm", "rebalancer"): (1.1, 2.22, SCORE),
}
"""How many times as much a change costs at most in the larger fleet of either pair, and why."""


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count what the interpreter does, by function."""
    done: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            done[frame.f_code.co_qualname] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield done
    finally:
        sys.settrace(before)


@cache
def work_after(api: str, cells: int) -> Mapping[str, Counter[str]]:
    """What each change costs in a fleet of so many cells, by function.

    All is done once uncounted before: what the process keeps of it, and of tests before this one
    (patterns, texts), is the same for whoever counts.
    """
    _done(api, cells, counts=False)
    return _done(api, cells, counts=True)


def _done(api: str, cells: int, *, counts: bool) -> Mapping[str, Counter[str]]:
    fleet: CellFleet = FLEETS[api]
    told: Story = story()
    for path, body in fleet.files(cells).items():
        told.put(body, path=path)
    memo, world = Memo(), None
    found: dict[str, Counter[str]] = {}
    for name, change in {"": {}, **fleet.changes}.items():
        for path, body in change.items():
            told.put(body, path=path)
        for number in range(SETTLED):
            world = linked(told.world(), world)
            asked = counts and bool(name) and not number
            with counted() if asked else nullcontext(Counter[str]()) as done:
                outcome = reconcile(world, told.now, memo=memo)
            found.setdefault(name, done)
            told.files = applied(told.files, outcome)
            told.now += timedelta(seconds=100)
    return found


CASES = [(api, change) for api, fleet in FLEETS.items() for change in fleet.changes]


@pytest.mark.parametrize(("api", "change"), CASES)
def test_a_change_costs_alike_in_a_larger_fleet(api: str, change: str) -> None:
    """What grows all the same is listed, with the reason."""
    small, large = (work_after(api, cells)[change] for cells in (SMALL, LARGE))
    grown = Counter({name: count - small[name] for name, count in large.items()})
    more = large.total() / small.total()

    *bounds, _why = GROWS.get((api, change), (MORE, MORE, ""))
    most = bounds[IS_LARGE]
    assert more <= most, grown.most_common(8)
    assert most == MORE or more > MORE, "it does not grow any more: take it from the list"
