"""Steps that make before they break: what a pass takes, gives back, and never loses."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reconciler
from reconciler.model.identity import ClusterName
from reconciler.rebalance.surge import (
    MakeBeforeBreak,
    Placed,
    Surge,
    begin,
    decode_surge,
    displace,
    encode_surge,
    go_on,
    join_limits,
    with_surge,
)
from tests.builders import NOW, after

AT = '"2026-11-20T12:00:00Z"'
LIMITS = MakeBeforeBreak(deadline_seconds=100)


def placed(**replicas: int) -> Placed:
    """Replicas by cluster."""
    return {ClusterName(name): count for name, count in replicas.items()}


def surge(seconds: int = 0, **doubled: int) -> Surge:
    """A step that began then, with this beside what is placed."""
    return Surge(doubled=placed(**doubled), began_at=after(seconds), deadline=after(seconds + 100))


@pytest.mark.parametrize(
    ("percent", "budget", "expected"),
    [
        pytest.param(25, None, {"b": 2}, id="a-quarter-rounded-up"),
        pytest.param(1, None, {"b": 1}, id="at-least-one"),
        pytest.param(100, None, {"b": 3, "c": 2}, id="all-by-name"),
        pytest.param(100, 4, {"b": 3, "c": 1}, id="the-smaller-limit"),
    ],
)
def test_a_step_doubles_what_its_limits_let(
    percent: int, budget: int | None, expected: Mapping[str, int]
) -> None:
    """Clusters of the goal in the order of their names."""
    limits = MakeBeforeBreak(max_surge_percent=percent)
    wanted = placed(b=3, c=2)
    found = begin(placed(a=5), wanted, limits, budget=budget, by="demo", now=NOW)

    assert found is not None
    assert (expected, after(600), "demo") == (found.doubled, found.deadline, found.by)


def test_at_the_goal_no_step_begins() -> None:
    """Nothing is left to move."""
    assert begin(placed(a=5), placed(a=5), LIMITS, budget=None, by="", now=NOW) is None


def test_what_is_ready_is_taken_from_those_with_more_than_the_goal() -> None:
    """One cluster grows, others shrink by the same number, and what is not ready stays beside."""
    step = surge(b=2, c=1)
    found = go_on(
        step,
        placed(a=3, d=3),
        placed(a=1, b=2, c=1, d=2),
        lambda name, count: (name, count) == ("b", 2),
        after(10),
        interrupted=False,
    )

    assert placed(a=2, b=2, d=2) == found.placed
    assert (surge(c=1), {"b": 2}, {}) == (found.surge, found.taken, found.returned)
    assert after(100) == found.until


@pytest.mark.parametrize(
    ("seconds", "interrupted", "late"),
    [
        pytest.param(100, False, True, id="deadline"),
        pytest.param(10, True, False, id="interrupted"),
    ],
)
def test_what_is_not_ready_is_given_back(seconds: int, interrupted: bool, late: bool) -> None:  # noqa: FBT001  # a row
    """Ready replicas are kept even then."""
    step = surge(b=2, c=1)
    found = go_on(
        step,
        placed(a=3),
        placed(b=2, c=1),
        lambda name, _: name == "c",
        after(seconds),
        interrupted=interrupted,
    )

    assert (placed(a=2, c=1), None) == (found.placed, found.surge)
    assert ({"c": 1}, {"b": 2}, late) == (found.taken, found.returned, found.late)


def test_replicas_settle_before_they_are_taken_and_begin_anew_after_a_break() -> None:
    """The clock starts again when they were not ready in between."""
    step = Surge(doubled=placed(b=1), began_at=NOW, deadline=after(100), settle_seconds=20)
    seen = []
    for seconds, is_ready in ((10, True), (20, False), (40, True), (59, True), (60, True)):
        found = go_on(
            step,
            placed(a=1),
            placed(b=1),
            lambda *_, is_ready=is_ready: is_ready,
            after(seconds),
            interrupted=False,
        )
        seen.append((found.taken, found.until))
        step = found.surge or step

    assert seen == [
        ({}, after(30)),
        ({}, after(100)),
        ({}, after(60)),
        ({}, after(60)),
        ({"b": 1}, None),
    ]


def test_without_anybody_who_gives_nothing_is_taken() -> None:
    """Else more would be placed than is wanted."""
    found = go_on(
        surge(b=1), placed(a=1), placed(a=1, b=1), lambda *_: True, after(1), interrupted=False
    )

    assert (placed(a=1), {}, {"b": 1}) == (found.placed, found.taken, found.returned)


def test_what_schedules_otherwise_keeps_what_it_wants_of_a_surge() -> None:
    """Only the rest is given back."""
    found = displace(surge(b=3, c=1), placed(a=4), placed(a=2, b=2))

    assert ({"b": 1, "c": 1}, None) == (found.returned, found.surge)


def test_the_strictest_of_several_limits_holds() -> None:
    """The smallest surge, the earliest deadline, the longest time to settle."""
    found = join_limits(
        (
            MakeBeforeBreak(deadline_seconds=50, max_surge_percent=50, settle_seconds=5),
            MakeBeforeBreak(deadline_seconds=100, max_surge_percent=10, settle_seconds=0),
        )
    )

    assert MakeBeforeBreak(deadline_seconds=50, max_surge_percent=10, settle_seconds=5) == found
    assert join_limits(()) is None


@pytest.mark.parametrize(
    "note",
    [
        "",
        "{",
        '{"beside": {}}',
        f'{{"beside": {{"b": 0}}, "beganAt": {AT}, "deadline": {AT}}}',
        f'{{"beside": {{"b": 1}}, "beganAt": "yesterday", "deadline": {AT}}}',
        f'{{"beside": {{"b": 1}}, "beganAt": {AT}}}',
    ],
)
def test_a_garbled_surge_is_none(note: str) -> None:
    """So it is given back."""
    assert decode_surge(note) is None


def test_a_surge_is_read_as_it_was_written() -> None:
    """With all that it says."""
    found = Surge(
        doubled=placed(b=1, c=2),
        began_at=NOW,
        deadline=after(100),
        settle_seconds=5,
        ready_since={ClusterName("c"): after(3)},
        by="WorkloadRebalancer demo",
    )

    assert found == decode_surge(encode_surge(found))
    assert decode_surge(encode_surge(None)) is None


def test_nothing_else_adds_a_surge_to_what_is_placed() -> None:
    """What a surge has beside is read in one file, so there is one answer to what a cluster has."""
    root = Path(reconciler.__file__).parent
    readers = [path for path in sorted(root.rglob("*.py")) if ".doubled" in path.read_text()]

    assert [root / "rebalance/surge.py"] == readers


@dataclass
class Fleet:
    """Clusters that apply late, start late, fail, and report whatever they held at some time.

    `wanted` and `steps` are what each applied last; `delivered` is what waits there to be applied.
    """

    ready: dict[str, int] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)
    delivered: dict[str, tuple[int, str]] = field(default_factory=dict)
    reports: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    seen: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    failed: int = 0

    def deliver(self, now: Placed, step: Surge | None) -> None:
        """Write what each cluster is to have."""
        for name in {*self.delivered, *now, *(step.doubled if step else ())}:
            mark = step.step_on(ClusterName(name)) if step else ""
            count = with_surge(now.items(), step).get(ClusterName(name), 0)
            self.delivered[name] = (count, mark)

    def apply(self, name: str) -> None:
        """Let a cluster take what was delivered; it stops what is not ready first."""
        self.wanted[name], self.steps[name] = self.delivered.get(name, (0, ""))
        self.ready[name] = min(self.ready.get(name, 0), self.wanted[name])

    def start(self, name: str, count: int) -> None:
        """Let some replicas become ready."""
        self.ready[name] = min(self.ready.get(name, 0) + count, self.wanted.get(name, 0))

    def fail(self, name: str, count: int) -> None:
        """Let some that were ready fail."""
        lost = min(count, self.ready.get(name, 0))
        self.ready[name] = self.ready.get(name, 0) - lost
        self.failed += lost

    def report(self, name: str) -> None:
        """Send a report, which is on its way for as long as it likes."""
        state = self.wanted.get(name, 0), self.ready.get(name, 0), self.steps.get(name, "")
        self.reports.setdefault(name, []).append(state)

    def hear(self, name: str, which: int) -> None:
        """Receive one of the reports under way, in whatever order."""
        sent = self.reports.get(name, [])
        if sent:
            self.seen[name] = sent.pop(which % len(sent))

    def has_made(self, step: Surge, name: ClusterName, count: int) -> bool:
        """Whether the report that was received last says so."""
        found = self.seen.get(name)
        return found == (count, count, step.step_on(name))

    @property
    def up(self) -> int:
        """The replicas that are ready anywhere."""
        return sum(self.ready.values())


CLUSTERS = ("a", "b", "c")
HAPPENS = ("apply", "start", "report", "hear", "look")
"""What happens most of the time; a replica fails, or a step is interrupted, now and then."""


def play(chance: Random, total: int, limits: MakeBeforeBreak, moments: int) -> int:
    """Move replicas to one goal after the other, and return how many were taken in all."""
    stands = _drawn(chance, total)
    now, goal, step, taken = NOW, _drawn(chance, total), None, 0
    fleet = Fleet()
    fleet.deliver(stands, None)
    for name, count in stands.items():
        fleet.apply(name)
        fleet.start(name, count)
    for _ in range(moments):
        what, where = chance.choice(HAPPENS), chance.choice(CLUSTERS)
        if chance.random() < 0.03:
            fleet.fail(where, chance.randint(1, 2))
        elif what == "look":
            now += timedelta(seconds=chance.randint(1, 20))
            before = stands
            interrupted = chance.random() < 0.05
            stands, step = _look(fleet, stands, goal, step, limits, now, interrupted=interrupted)
            taken += sum(max(0, count - before.get(name, 0)) for name, count in stands.items())
            fleet.deliver(stands, step)
            if step is None:
                goal = _drawn(chance, total)
            assert total == sum(stands.values())
            assert step is None or now < step.deadline
        elif what in ("apply", "report"):
            getattr(fleet, what)(where)
        else:
            getattr(fleet, what)(where, chance.randint(1, 5))
        assert fleet.up >= total - fleet.failed
    return taken


def _drawn(chance: Random, total: int) -> Placed:
    """Replicas by cluster, so many in all."""
    found = Counter(chance.choice(CLUSTERS) for _ in range(total))
    return {ClusterName(name): found[name] for name in sorted(found)}


@given(
    chance=st.randoms(use_true_random=False),
    total=st.integers(1, 6),
    percent=st.integers(1, 100),
    settle=st.integers(0, 30),
)
def test_no_step_takes_a_ready_replica_before_another_is_ready(
    chance: Random, total: int, percent: int, settle: int
) -> None:
    """However late clusters apply, start and report, in whatever order, and whatever fails.

    The replicas placed are as many as before after each look, and nothing runs beside them for
    longer than the deadline.
    """
    limits = MakeBeforeBreak(deadline_seconds=60, max_surge_percent=percent, settle_seconds=settle)

    play(chance, total, limits, moments=120)


def test_most_of_what_is_played_moves() -> None:
    """Else the law above would hold of nothing."""
    taken = [play(Random(seed), 4, LIMITS, moments=300) for seed in range(30)]  # noqa: S311  # a fixed sample

    assert sum(taken) > 30


def _look(
    fleet: Fleet,
    stands: Placed,
    goal: Placed,
    step: Surge | None,
    limits: MakeBeforeBreak,
    now: datetime,
    *,
    interrupted: bool,
) -> tuple[Placed, Surge | None]:
    """Go on with a step, and begin the next one where none is under way."""
    if step is not None:
        current = step
        found = go_on(
            current,
            stands,
            goal,
            lambda name, count: fleet.has_made(current, name, count),
            now,
            interrupted=interrupted,
        )
        stands, step = found.placed, found.surge
    if step is None and not interrupted:
        step = begin(stands, goal, limits, budget=None, by="", now=now)
    return stands, step
