"""A pass that comes too late: decided anew where what it looked at has moved, and only there."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.core.changes import Outcome
from reconciler.model.moments import format_moment
from reconciler.model.world import World
from reconciler.shell.daemon.events import DaemonEvent, PassFinished
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.command import LostRace
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch, RemoteBranch
from reconciler.shell.passes.one_pass import MOST_DECISIONS, Passes
from reconciler.shell.passes.pass_report import commit_pass
from reconciler.shell.passes.turns import PassDropped
from tests.builders import cluster, deployment, path_of, policy, rebalancer, text
from tests.shell.counted import CommandLog
from tests.shell.daemon.test_daemon import Steps
from tests.shell.fleet import Clock, passes_of
from tests.shell.repositories import NOW, Checkout, git, new_checkout

ROOT, OTHER = "teams/a", "teams/b"
BODIES = (cluster(), policy(), deployment())
LATER = NOW + timedelta(seconds=7)


def files(root: str) -> Mapping[str, str]:
    """A fleet in a folder."""
    return {f"{root}/{path_of(body)}": text(body) for body in BODIES}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Two roots in one repository."""
    return new_checkout(tmp_path / "fleet", {**files(ROOT), **files(OTHER)})


def contested(checkout: Checkout, overtake: Callable[[], None], clock: Clock) -> list[datetime]:
    """Run a pass that somebody overtakes while it decides; return the moment of each decision."""
    branch = LocalBranch(Repository.open(checkout.folder), "main")
    decided: list[datetime] = []

    def decide(_world: World, now: datetime) -> Outcome | None:
        decided.append(now)
        if len(decided) == 1:
            overtake()
        return None

    passes: Passes = replace(passes_of(branch.below(ROOT), clock), divided=decide)
    report = passes.run()
    assert (0, report.commit) == (report.races, checkout.git("rev-parse", "main").strip())
    return decided


def test_a_commit_of_another_root_costs_no_decision(checkout: Checkout) -> None:
    """The decision stands, with its moment, on top of that commit, and names it."""
    clock = Clock(NOW)

    def overtake() -> None:
        clock.moment = LATER
        checkout.commit({f"{OTHER}/{path_of(deployment('api'))}": text(deployment("api"))})

    decided = contested(checkout, overtake, clock)

    said = checkout.git("log", "-1", "--format=%B", "main")
    assert [NOW] == decided
    assert f"Reconciled-From: {checkout.git('rev-parse', 'main~1').strip()}" in said
    assert f"Reconciled-At: {format_moment(NOW)}" in said


def test_pushes_that_are_no_input_never_stop_a_pass(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many come before the branch moves; what was decided is written on top of them."""
    clock, many = Clock(NOW), 20
    decided: list[datetime] = []
    overtaken: list[str] = []

    def decide(_world: World, now: datetime) -> Outcome | None:
        decided.append(now)
        return None

    def commit(*arguments: Any, **named: Any) -> str:
        if len(overtaken) < many:
            overtaken.append(checkout.commit({"notes.txt": str(len(overtaken))}))
        return commit_pass(*arguments, **named)

    monkeypatch.setattr("reconciler.shell.passes.one_pass.commit_pass", commit)
    branch = LocalBranch(Repository.open(checkout.folder), "main")
    report = replace(passes_of(branch.below(ROOT), clock), divided=decide).run()

    assert ([NOW], many) == (decided, report.races)
    assert len(clock.waits) <= 1
    assert report.commit == checkout.git("rev-parse", "main").strip()
    assert f"Reconciled-From: {overtaken[-1]}" in checkout.git("log", "-1", "--format=%B")


def test_a_commit_of_the_same_root_is_decided_about(checkout: Checkout) -> None:
    """Together with what was there."""
    clock = Clock(NOW)
    added = rebalancer("back")

    def overtake() -> None:
        clock.moment = LATER
        checkout.commit({f"{ROOT}/{path_of(added)}": text(added)})

    first, second = contested(checkout, overtake, clock)

    assert NOW == first
    assert LATER <= second
    assert f"{ROOT}/status/workloadrebalancers.apps.karmada.io/back.yaml" in checkout.git(
        "ls-tree", "-r", "--name-only", "main"
    )


NO_INPUT = (
    "notes.txt",
    f"{ROOT}/README.md",
    f"{ROOT}/.github/workflows/check.yaml",
    f"{ROOT}/charts/templates/web.yaml",
    f"{OTHER}/status/reconciler.yaml",
    f"{OTHER}/{path_of(deployment('api'))}",
)
"""What people push beside the inputs of a root, by the one function that says what is input."""


@dataclass(frozen=True, slots=True)
class Overtaken(RemoteBranch):
    """A branch of a remote to which somebody pushes right before each of our pushes."""

    before_push: Callable[[], None] = field(default=lambda: None, compare=False)

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Lose the race, if somebody has pushed."""
        self.before_push()
        return RemoteBranch.publish(self, old=old, new=new)


@dataclass
class Race:
    """Passes of a root, and a person who pushes in between, file by file."""

    person: Checkout
    remote: Path
    passes: Passes = field(init=False)
    pushes: list[Mapping[str, str]] = field(default_factory=list)
    decided: list[datetime] = field(default_factory=list)

    def overtake(self) -> None:
        """Push what is next."""
        if self.pushes:
            files = self.pushes.pop(0)
            self.person.git("pull", "--quiet", "--rebase", str(self.remote), "main")
            self.person.commit(files)
            self.person.git("push", "--quiet", str(self.remote), "HEAD:main")

    def decide(self, _world: World, now: datetime) -> Outcome | None:
        """Count a decision."""
        self.decided.append(now)
        return None


@pytest.fixture
def race(tmp_path: Path, checkout: Checkout) -> Iterator[Race]:
    """The two roots at a remote, of which one is served through a mirror."""
    remote = tmp_path / "remote.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(checkout.folder), str(remote))
    clock = Clock(NOW)
    with Mirror.open(f"file://{remote}", tmp_path / "mirror") as mirror:
        made = Race(checkout, remote)
        branch = Overtaken(mirror, mirror.repository, "main", before_push=made.overtake)
        made.passes = replace(passes_of(branch.below(ROOT), clock), divided=made.decide)
        yield made


def is_proven(race: Race) -> bool:
    """Whether all passes at the remote can be computed again, to the byte."""
    race.person.git("pull", "--quiet", "--rebase", str(race.remote), "main")
    return run(["-C", str(race.person.folder / ROOT), "--cache-dir", "off", "verify"]) == 0


def test_each_push_without_input_costs_one_try(
    race: Race, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no decision, no pause, no second fetch; the commit says the new head, and is proven."""
    race.pushes = [{path: f"{number}"} for number in (1, 2) for path in NO_INPUT[:4]]
    race.pushes += [{NO_INPUT[5]: text(deployment("api", replicas=3))}, {NO_INPUT[4]: "{}\n"}]
    many = len(race.pushes)
    commands = CommandLog(tmp_path / "commands", monkeypatch)

    report = race.passes.run()
    counted = commands.taken()

    clock = race.passes.clock
    assert isinstance(clock, Clock)
    assert ([NOW], many, []) == (race.decided, report.races, clock.waits)
    assert report.commit == git(race.remote, "rev-parse", "main")
    newest = git(race.remote, "rev-parse", "main~1")
    assert f"Reconciled-From: {newest}" in git(race.remote, "log", "-1", "--format=%B", "main")
    assert f'inputRevision: "{newest}"' in git(
        race.remote, "show", f"main:{ROOT}/status/reconciler.yaml"
    )
    assert 1 + many == counted.count("fetch")
    assert 1 + many == counted.count("push")
    assert is_proven(race)


def test_only_pushes_of_inputs_are_decided_about(race: Race) -> None:
    """However many others come before, between and after them."""
    input_files = [{f"{ROOT}/{path_of(one)}": text(one)} for one in map(deployment, ("b", "c"))]
    notes: list[Mapping[str, str]] = [{"notes.txt": f"{number}"} for number in range(7)]
    race.pushes = [*notes[:2], input_files[0], *notes[2:5], input_files[1], *notes[5:]]

    report = race.passes.run()

    assert (1 + 2, 2 + 7) == (len(race.decided), report.races)
    assert report.commit == git(race.remote, "rev-parse", "main")
    assert ["b", "c", "web"] == [one.subject.split("/")[-1] for one in report.outcome.decisions]
    assert is_proven(race)


def test_a_pass_that_removes_a_file_stands_as_well(race: Race) -> None:
    """What it removes is looked at again: nobody edits it."""
    clock = race.passes.clock
    assert isinstance(clock, Clock)
    added = rebalancer("back", ttl=60)
    race.passes.run()
    race.pushes = [{f"{ROOT}/{path_of(added)}": text(added)}]
    race.overtake()
    clock.moment = NOW + timedelta(seconds=100)
    race.passes.run()
    race.decided.clear()
    race.pushes = [{"notes.txt": f"{number}"} for number in range(8)]
    clock.moment = NOW + timedelta(seconds=500)

    report = race.passes.run()

    removed = [one.path for one in report.outcome.removals]
    assert [path_of(added)] == removed
    assert (1, 8) == (len(race.decided), report.races)
    assert is_proven(race)


def test_a_daemon_takes_such_races_for_no_failure(race: Race) -> None:
    """It tells of one pass, which was committed."""
    race.pushes = [{"notes.txt": f"{number}"} for number in range(20)]
    events: list[DaemonEvent] = []
    wakeups = Steps(iter([lambda: None]))
    Daemon(passes=race.passes, wakeups=wakeups, poll_seconds=60, observers=(events.append,)).run()

    assert [20] == [one.report.races for one in events if isinstance(one, PassFinished)]
    assert not [one for one in events if type(one).__name__ == "PassFailed"]


def test_a_person_may_come_between_while_the_remote_takes_a_push(race: Race) -> None:
    """After it has looked at what we send, so that it says something else than of a stale push."""
    hook = race.remote / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, subprocess, sys\n"
        "left = pathlib.Path('left')\n"
        "count = int(left.read_text())\n"
        "left.write_text(str(max(0, count - 1)))\n"
        "if count:\n"
        "    git = lambda *words: subprocess.check_output(('git', *words), text=True).strip()\n"
        "    who = ('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com')\n"
        "    name, old = sys.argv[1:3]\n"
        "    note = git(*who, 'commit-tree', '-m', 'Note', '-p', old, old + '^{tree}')\n"
        "    git('update-ref', name, note, old)\n"
    )
    hook.chmod(0o755)
    (race.remote / "left").write_text("4")

    report = race.passes.run()

    assert ([NOW], 4) == (race.decided, report.races)
    assert report.commit == git(race.remote, "rev-parse", "main")
    assert is_proven(race)


def test_a_remote_that_says_no_and_has_not_moved_ends_the_pass(race: Race) -> None:
    """As often as decisions are made again, with pauses, and not as often as the branch moves."""

    def refuse() -> None:
        raise LostRace("stale info")

    branch = race.passes.branch
    assert isinstance(branch, Overtaken)
    branches = replace(race.passes.branches, inputs=replace(branch, before_push=refuse))
    with pytest.raises(LostRace):
        replace(race.passes, branches=branches).run()

    clock = race.passes.clock
    assert isinstance(clock, Clock)
    assert (MOST_DECISIONS, MOST_DECISIONS - 1) == (len(race.decided), len(clock.waits))


def test_a_stop_ends_a_pass_that_is_overtaken(race: Race) -> None:
    """Between two tries; what it decided is decided again by whoever starts next."""
    race.pushes = [{"notes.txt": f"{number}"} for number in range(3)]

    with pytest.raises(PassDropped):
        replace(race.passes, is_stopped=lambda: not race.pushes).run()

    assert [] == race.pushes
    assert "Change" == git(race.remote, "log", "-1", "--format=%s", "main")
