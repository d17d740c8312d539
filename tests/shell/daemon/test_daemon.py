"""The daemon outlives whatever a repository holds, and whatever a pass does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from reconciler.shell.daemon.events import (
    BranchRead,
    DaemonEvent,
    LoopTurned,
    PassBegun,
    PassFailed,
    PassFinished,
)
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.passes import one_pass as module
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import STEPS
from tests.builders import cluster_policy, configuration, divided, metadata, text
from tests.shell.fleet import EXAMPLE, Clock, decisions, load_world, new_fleet, new_passes, run_pass
from tests.shell.guarded import DOWN, SHOP, SHOP_BINDING
from tests.shell.repositories import NOW, Checkout


@dataclass
class Steps:
    """Wakes the daemon at once, after each step of a person; then says to stop."""

    steps: Iterator[Callable[[], object]]
    problem: str = ""
    timeouts: list[float] = field(default_factory=list)

    def wait(self, timeout_seconds: float) -> bool:
        """Let the person take a step."""
        self.timeouts.append(timeout_seconds)
        step = next(self.steps, None)
        if step is not None:
            step()
        return step is not None


def served(fleet: Checkout, clock: Clock, *steps: Callable[[], object]) -> Steps:
    """Serve a fleet while a person takes steps."""
    return served_by(new_passes(fleet.folder, clock), *steps)


def served_by(passes: Passes, *steps: Callable[[], object]) -> Steps:
    """Serve by some passes while a person takes steps."""
    wakeups = Steps(iter(steps))
    Daemon(passes=passes, wakeups=wakeups, poll_seconds=60).run()
    return wakeups


def scaled(fleet: Checkout, clock: Clock, *numbers: int) -> list[Callable[[], object]]:
    """Return steps in which a person scales the shop, a second after the step before."""

    def step(number: int) -> None:
        clock.moment += timedelta(seconds=1)
        fleet.commit({SHOP: EXAMPLE[SHOP].replace("replicas: 2", f"replicas: {number}")})

    return [partial(step, number) for number in numbers]


def test_a_pass_that_fails_unforeseen_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logged with its trace once, counted, with delays that grow; mended, it is done."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)

    def stops(*_: object, **__: object) -> None:
        raise KeyError("nobody thought of it")

    def wait() -> None:
        clock.moment += timedelta(seconds=1)

    def mend() -> None:
        monkeypatch.undo()

    monkeypatch.setattr(module, "reconcile", stops)
    with capture_logs() as logs:
        wakeups = served(fleet, clock, wait, wait, wait, mend)

    failures = [entry for entry in logs if entry["event"].startswith("pass failed")]
    assert [(1, True), (2, False), (3, False)] == [
        (entry["failures"], "trace" in entry) for entry in failures
    ]
    assert ".stops\nKeyError" in failures[0]["trace"]
    assert 0.5 <= wakeups.timeouts[1] <= 1 <= wakeups.timeouts[2] <= 2 <= wakeups.timeouts[3] <= 4
    assert SHOP_BINDING in decisions(load_world(fleet.folder))


def test_an_object_that_stops_unforeseen_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contained: None
) -> None:
    """The trace is logged when it comes up, and not again while it lasts."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    monkeypatch.setattr("reconciler.dialects.karmada.plan.decide", lambda *_: 1 // 0)

    with capture_logs() as logs:
        served(fleet, clock, *scaled(fleet, clock, 3, 4, 5))

    traced = [entry for entry in logs if "ZeroDivisionError" in entry.get("trace", "")]
    assert len({entry["object"] for entry in traced}) == len(traced) > 0
    assert [] == [entry for entry in logs if entry["event"].startswith("pass failed")]


def test_a_warning_is_told_once_while_it_lasts(tmp_path: Path) -> None:
    """A divided kind that nobody can interpret is delivered whole; it stays so for three passes."""
    widget = {"apiVersion": "example.org/v1", "kind": "Widget"}
    body = {**widget, "metadata": metadata("w", "default"), "spec": {"replicas": 4}}
    divides = cluster_policy(selectors=[widget], placement={"replicaScheduling": divided()})
    files = {
        "reconciler.yaml": text(configuration(delivery={"folders": {}})),
        "widget.yaml": text(body),
        "policies/widgets.yaml": text(divides),
    }
    fleet = new_fleet(tmp_path / "fleet", files)
    clock = Clock(NOW)

    with capture_logs() as logs:
        served(fleet, clock, *scaled(fleet, clock, 3, 4, 5))

    told = [entry for entry in logs if "Widget.example.org default/w" in entry["event"]]
    assert ["warning"] == [entry["log_level"] for entry in told if entry["log_level"] != "info"]


def test_a_branch_that_asks_for_nothing_is_up_to_date(tmp_path: Path) -> None:
    """It is said at the start and of each commit, not each time that the daemon looks."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    for _ in range(2):
        new_passes(fleet.folder, clock).run()
        clock.moment += timedelta(seconds=1)
    first = fleet.head()

    with capture_logs() as logs:
        served(fleet, clock, lambda: None, lambda: None, lambda: fleet.commit({"a.txt": "a"}))

    told = [entry for entry in logs if entry["event"] == "up to date"]
    assert [first[:12], fleet.head()[:12]] == [entry["commit"] for entry in told]
    assert [(0, None)] * 2 == [(entry["faults"], entry["recheck_at"]) for entry in told]


def test_the_daemon_sleeps_by_the_clock_of_its_passes(tmp_path: Path) -> None:
    """The next moment is measured from where the passes take theirs, not from the machine's.

    After a pass that was due comes a look at the branch, at once.
    """
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit(DOWN)
    clock = Clock(NOW + timedelta(seconds=10))

    def wait() -> None:
        clock.moment += timedelta(seconds=20)

    wakeups = served(fleet, clock, lambda: None, wait, lambda: None)

    assert [0.0, 1.0, 0.0] == wakeups.timeouts[:3]
    assert 54 <= wakeups.timeouts[3] <= 60


def test_polls_of_daemons_spread(tmp_path: Path) -> None:
    """By a tenth of the time between two, and none looks too rarely."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW + timedelta(hours=1))
    for _ in range(2):
        new_passes(fleet.folder, clock).run()
        clock.moment += timedelta(hours=1)

    wakeups = served(fleet, clock, *[lambda: None] * 12)

    polls = wakeups.timeouts[1:]
    assert len(set(polls)) == len(polls)
    assert all(54 <= seconds <= 60 for seconds in polls)


def test_observers_hear_of_each_step(tmp_path: Path) -> None:
    """The loop turns, a commit is looked at, the pass ends; then the branch is only read."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    heard: list[DaemonEvent] = []

    def wait() -> None:
        clock.moment += timedelta(seconds=1)

    first = fleet.head()
    wakeups = Steps(iter([lambda: None, wait, lambda: fleet.git("branch", "-m", "x")]))
    passes = new_passes(fleet.folder, clock)
    Daemon(passes=passes, wakeups=wakeups, poll_seconds=60, observers=(heard.append,)).run()

    kinds = [type(event) for event in heard]
    assert [LoopTurned, PassBegun, PassFinished, LoopTurned, BranchRead] == kinds[:5]
    assert [LoopTurned, PassFailed] == kinds[-2:]
    finished = heard[2]
    assert isinstance(finished, PassFinished)
    assert PassBegun(first) == heard[1]
    assert (True, True) == (finished.first, finished.moved)
    assert set(STEPS) == set(finished.report.steps)


def test_who_watches_a_pass_never_fails_it(tmp_path: Path) -> None:
    """Its mistake is logged once; the next observer hears all the same."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    heard: list[DaemonEvent] = []

    def stops(_: DaemonEvent) -> None:
        raise KeyError("nobody thought of it")

    wakeups = Steps(iter([lambda: None, lambda: fleet.git("branch", "-m", "x")]))
    passes = new_passes(fleet.folder, clock)
    with capture_logs() as logs:
        Daemon(
            passes=passes, wakeups=wakeups, poll_seconds=60, observers=(stops, heard.append)
        ).run()

    assert [LoopTurned, PassBegun, PassFinished, LoopTurned, PassFailed] == [
        type(event) for event in heard
    ]
    assert 1 == len([entry for entry in logs if "KeyError" in entry.get("trace", "")])


def test_it_outlives_a_thousand_failures(tmp_path: Path) -> None:
    """A repository that is away for a day is served when it is back; the delay has an end."""
    fleet = new_fleet(tmp_path / "fleet")
    away = fleet.folder / ".git/HEAD.away"

    def leave() -> None:
        (fleet.folder / ".git/refs/heads/main").rename(away)

    def come_back() -> None:
        away.rename(fleet.folder / ".git/refs/heads/main")

    wait = [lambda: None] * 1030
    wakeups = served(fleet, Clock(NOW), leave, *wait, come_back)

    assert max(wakeups.timeouts) <= 60
    assert (fleet.folder / "status/reconciler.yaml").is_file()
