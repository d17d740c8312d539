"""What a pass does after one change of one cell, in fleets of more and more cells.

Everything that the interpreter does in `reconcile` is counted, comprehensions included, with
delivery on. Where it grows with the fleet the change is listed, with how much and why; what is
listed may only become less.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import cache
from types import FrameType
from typing import Any

import pytest

from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from tests.core.cell_fleets import KARMADA, KUBEFLEET, OPEN_CLUSTER_MANAGEMENT, CellFleet
from tests.followed import linked
from tests.stories import Story, applied, story

pytestmark = pytest.mark.cpu_seconds(120)  # two fleets of each API, traced operation by operation

SMALL, LARGE = 3, 9
SETTLED = 4  # passes until nothing moves any more
MORE = 1.05

FLEETS = {"karmada": KARMADA, "kubefleet": KUBEFLEET, "ocm": OPEN_CLUSTER_MANAGEMENT}

INDEX = "the index of the fleet is drawn anew where a cluster differs"
SCORE = "a score is read of all clusters at once, and kept"
RECORDS = "a record names the first twenty clusters that were rejected; here that is nearly all"
GROWS: Mapping[tuple[str, str], tuple[float, str]] = {
    ("karmada", "taint"): (1.08, INDEX),
    ("karmada", "resources"): (1.35, INDEX),
    ("kubefleet", "placement"): (1.07, RECORDS),
    ("kubefleet", "label"): (3.2, RECORDS),
    ("kubefleet", "taint"): (3.2, RECORDS),
    ("kubefleet", "rebalancer"): (1.12, RECORDS),
    ("ocm", "rebalancer"): (1.11, SCORE),
}
"""How many times as much a change costs in the larger fleet, at most, and what it is that grows."""


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
    """What each change costs in a fleet of so many cells, by function."""
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
            asked = bool(name) and not number
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

    most, why = GROWS.get((api, change), (MORE, ""))
    assert more <= most, grown.most_common(8)
    assert not why or more > MORE, "it does not grow any more: take it from the list"
