"""The daemon outlives whatever a repository holds, and a pass that is due goes first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest
from structlog.testing import capture_logs

from reconciler.model.records import replace
from reconciler.shell.daemon.events import (
    BranchRead,
    DaemonEvent,
    LoopTurned,
    PassBegun,
    PassFailed,
    PassFinished,
)
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.remotes import mirror as mirror_module
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.passes import one_pass as module
from reconciler.shell.passes.branch_delivery import BranchDelivery
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import STEPS
from reconciler.shell.passes.trust import Trust
from tests.builders import cluster_policy, configuration, divided, metadata, text
from tests.shell.counted import DOWN, SHOP, SHOP_BINDING, CommandLog, Guarded, new_guarded
from tests.shell.daemon.test_run import clone
from tests.shell.fleet import (
    EXAMPLE,
    Clock,
    decisions,
    load_world,
    new_fleet,
    new_passes,
    passes_of,
    run_pass,
)
from tests.shell.keys import commit_signed
from tests.shell.repositories import NOW, Checkout, git


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


OUTPUTS = "fleet-status"


@dataclass
class Watched:
    """A remote whose commits must be signed, served through a mirror by hand.

    `guarded` says who may sign; its checkout is where the remote began.
    """

    guarded: Guarded
    remote: Path
    mirror: Mirror
    person: Checkout
    clock: Clock
    log: CommandLog

    def passes(self, outputs: str | None) -> Passes:
        """Return what a daemon of this remote runs."""
        branch = RemoteBranch(self.mirror, self.mirror.repository, "main")
        found = passes_of(branch, self.clock, outputs)
        trust = Trust(
            self.mirror.repository,
            found.branches.layout,
            self.guarded.allowed,
            own=self.guarded.robot.fingerprint,
            anchors=(self.guarded.anchor,),
        )
        return replace(
            found,
            delivery=BranchDelivery(key=self.guarded.robot.signing),
            branches=replace(found.branches, trust=trust),
        )

    def serve(self, outputs: str | None, *steps: Callable[[], object]) -> None:
        """Serve while people take steps."""
        wakeups = Steps(iter(steps))
        Daemon(passes=self.passes(outputs), wakeups=wakeups, poll_seconds=60).run()

    def push_unsigned(self) -> str:
        """Push as a stranger who has no key."""
        files = {SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 9")}
        return self._push(lambda: self.person.commit(files))

    def fail(self) -> None:
        """Let a cluster fail: the shop leaves it, and a pass is due once that has ended."""
        self._push(lambda: commit_signed(self.person, self.guarded.ada, DOWN))
        self.come(1)

    def _push(self, commit: Callable[[], str]) -> str:
        self.person.git("pull", "--quiet", "origin", "main")
        pushed = commit()
        self.person.git("push", "--quiet", "origin", "main")
        return pushed

    def come(self, seconds: int) -> None:
        """Let a moment come, and forget which commands ran before."""
        self.clock.moment += timedelta(seconds=seconds)
        self.log.taken()

    def taken(self) -> list[str]:
        """Return the commands that talk to the remote or judge signatures, in their order."""
        return [verb for verb in self.log.taken() if verb in ("fetch", "push", "log")]


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """The example at a remote."""
    guarded = new_guarded(tmp_path)
    guarded.fleet.git("reset", "--quiet", "--hard", guarded.anchor)
    remote = tmp_path / "remote"
    git(tmp_path, "clone", "--quiet", "--bare", str(guarded.fleet.folder), str(remote))
    person = clone(remote, tmp_path / "person")
    with Mirror.open(f"file://{remote}", tmp_path / "mirror") as mirror:
        log = CommandLog(tmp_path / "bin", monkeypatch)
        yield Watched(guarded, remote, mirror, person, Clock(NOW + timedelta(seconds=1)), log)


def test_outputs_apart_land_before_anything_is_fetched(watched: Watched) -> None:
    """The pass decides from what was accepted last, and pushes; then there is a look."""
    pushed: list[str] = []
    heads: list[str] = []

    def come() -> None:
        pushed.append(watched.push_unsigned())
        heads.append(git(watched.remote, "rev-parse", OUTPUTS))
        watched.come(120)

    def look() -> None:
        heads.append(git(watched.remote, "rev-parse", OUTPUTS))
        assert ["push"] == watched.taken()
        assert pushed[0] != watched.mirror.repository.find("main")

    watched.serve(OUTPUTS, lambda: None, watched.fail, come, look)

    assert heads[0] != heads[1]
    assert pushed[0] == watched.mirror.repository.find("main")
    assert "fetch" == watched.taken()[0]


def test_on_one_branch_a_race_is_lost_once(watched: Watched) -> None:
    """Then what was pushed is fetched and judged, and the pass stands on top of it."""
    pushed: list[str] = []

    def come() -> None:
        pushed.append(watched.push_unsigned())
        watched.come(120)

    def look() -> None:
        taken = watched.taken()
        assert (["push", "fetch", "log"], "push") == (taken[:3], taken[-1])

    watched.serve(None, lambda: None, watched.fail, come, look)

    said = git(watched.remote, "log", "-1", "--format=%P %(trailers:key=Reconciled-Over)", "main")
    assert f"{pushed[0]} Reconciled-Over: {pushed[0]}" == said.strip()


def test_a_look_follows_each_pass_that_was_due(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where another one is due already: a moment that never goes by hides no push."""
    pushed: list[str] = []
    runs: list[bool] = []
    run = Passes.run

    def counted(passes: Passes, **named: object) -> object:
        runs.append(bool(named.get("due")))
        return replace(run(passes, due=bool(named.get("due"))))

    monkeypatch.setattr(Passes, "run", counted)
    monkeypatch.setattr(Daemon, "_has_come", lambda *_: True)
    nothing = lambda: None  # noqa: E731
    push = lambda: pushed.append(watched.push_unsigned())  # noqa: E731
    watched.serve(OUTPUTS, nothing, push, nothing, nothing, nothing)

    assert [False, True, False, True, False] == runs
    assert pushed[0] == watched.mirror.repository.find("main")


@pytest.mark.parametrize("outputs", [OUTPUTS, None], ids=["apart", "on one branch"])
def test_what_cannot_be_fetched_stops_nothing_else(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, outputs: str | None
) -> None:
    """It is told as a commit that waits, no pass fails, and what can land does.

    On one branch nothing can, since whatever is written must stand on it, until it is taken off.
    """
    monkeypatch.setattr(mirror_module, "FETCHED_BYTES", 100_000)
    before: list[str] = []

    def push() -> None:
        before.append(git(watched.remote, "rev-parse", "main"))
        watched.person.git("pull", "--quiet", "origin", "main")
        watched.person.commit({"large": Random(0).randbytes(300_000).hex()})  # noqa: S311  # to be repeated, no secret
        watched.person.git("push", "--quiet", "origin", "main")

    def take_off() -> None:
        git(watched.remote, "update-ref", "refs/heads/main", before[0])

    nothing = lambda: None  # noqa: E731
    come = lambda: watched.come(120)  # noqa: E731
    with capture_logs() as logs:
        steps = (nothing, watched.fail, push, nothing, come, nothing, take_off, nothing)
        watched.serve(outputs, *steps)

    assert [] == [one for one in logs if one["event"].startswith("pass failed")]
    told = [one for one in logs if "it takes more than" in one["event"]]
    assert [("warning", "somebody unknown", "main")] == [
        (one["log_level"], one["author"], one["branch"]) for one in told
    ]
    assert 3 == len([one for one in logs if one["event"] == "pass committed"])
