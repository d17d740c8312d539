"""Branches that move: together, under a pass that is late, and back."""

import contextlib
import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.core.changes import Outcome
from reconciler.model.fields import bodies, mapping
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import World
from reconciler.shell.daemon.events import DaemonEvent, PassFinished
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.checkout.worktree import advance_together
from reconciler.shell.git.command import GitError, LostRace
from reconciler.shell.git.journal import StepUnfinished, entries, journalled, read_entry
from reconciler.shell.git.publish import BranchMove, publish_together
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch, RemoteBranch
from reconciler.shell.passes.one_pass import MOST_DECISIONS, Passes
from reconciler.shell.passes.pass_report import PassReport, commit_pass
from reconciler.shell.passes.turns import PassDropped
from tests.builders import cluster, configuration, deployment, path_of, policy, rebalancer, text
from tests.shell.counted import CommandLog
from tests.shell.daemon.test_serve_branch import Steps
from tests.shell.fleet import ROOT, Clock, load_world, new_fleet, new_passes, passes_of, run_pass
from tests.shell.passes.test_exactly_once import (
    AWAY,
    BINDING,
    HOME,
    REBALANCER,
    rebalances,
    repository,
    settle,
)
from tests.shell.repositories import ENVIRONMENT, NOW, Checkout, git, new_checkout

FOLDERS = {"reconciler.yaml": text(configuration(delivery={"folders": {"branch": "fleet"}}))}
SHOP = "delivery/member1/default/deployments.apps/shop.yaml"


@dataclass(frozen=True, slots=True)
class Overtaken(LocalBranch):
    """A branch beside which something happens, once, right before branches move together."""

    before: list[Callable[[], object]] = field(default_factory=list)

    def publish_together(self, moves: Sequence[BranchMove]) -> bool:
        """Let it happen, and move them."""
        while self.before:
            self.before.pop()()
        return LocalBranch.publish_together(self, moves)


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, which is delivered to the branch `fleet`."""
    return new_fleet(tmp_path / "fleet", FOLDERS)


def run_overtaken(fleet: Checkout, seconds: int, *before: Callable[[], object]) -> PassReport:
    """Run a pass, and let something happen right before its branches move."""
    branch = Overtaken(Repository.open(fleet.folder), "main", before=[*before])
    return passes_of(branch, at(seconds), "decisions").run()


def at(seconds: int) -> Clock:
    """A clock that stands at so many seconds after `NOW`."""
    return Clock(NOW + timedelta(seconds=seconds))


def commit_on(fleet: Checkout, branch: str) -> Callable[[], object]:
    """Return what commits to a branch that nothing has checked out, as a person elsewhere does."""

    def commit() -> None:
        tree = fleet.git("rev-parse", f"{branch}^{{tree}}")
        made = fleet.git("commit-tree", tree, "-p", branch, "-m", "Note")
        fleet.git("update-ref", f"refs/heads/{branch}", made)

    return commit


def scale(fleet: Checkout) -> None:
    """Commit what changes the decision, and what it delivers."""
    shop = (fleet.folder / "workloads/shop.yaml").read_text()
    fleet.commit({"workloads/shop.yaml": shop.replace("replicas: 2", "replicas: 5")}, "Scale")


def delivered_from(fleet: Checkout) -> str:
    """Return the commit that the head of the other branch follows."""
    told = fleet.git("log", "-1", "--format=%(trailers:key=Delivered-From,valueonly)", "fleet")
    return told.strip()


def locks(fleet: Checkout) -> list[str]:
    """All locks in the git folder, and all entries of the journal."""
    found = (fleet.folder / ".git").rglob("*")
    return sorted(path.name for path in found if path.suffix in (".lock", ".step"))


def moves_of(fleet: Checkout) -> tuple[Repository, BranchMove, BranchMove]:
    """The moves of two branches from one commit to the next."""
    old = fleet.head()
    fleet.git("branch", "one")
    fleet.git("branch", "two")
    new = fleet.commit({"notes.txt": "more\n"}, "Note")
    one, two = (BranchMove(name, old, new) for name in ("one", "two"))
    return Repository.open(fleet.folder), one, two


def heads(fleet: Checkout) -> list[str]:
    """Where the two branches are."""
    return fleet.git("rev-parse", "one", "two").split()


def test_branches_move_together(fleet: Checkout) -> None:
    """Where no checkout has them."""
    repository, one, two = moves_of(fleet)

    assert advance_together(repository, [one, two])
    assert [one.new, two.new] == heads(fleet)
    assert [] == locks(fleet)


def test_a_branch_that_is_elsewhere_holds_all(fleet: Checkout) -> None:
    """The error names it."""
    repository, one, two = moves_of(fleet)
    commit_on(fleet, "two")()
    elsewhere = fleet.git("rev-parse", "two")

    with pytest.raises(LostRace, match=f'branch "two" is at {elsewhere}, no longer at {two.old}'):
        advance_together(repository, [one, two])
    assert [one.old, elsewhere] == heads(fleet)


def test_a_branch_with_a_lock_holds_all(fleet: Checkout) -> None:
    """A person may be at work on it; the error says what to do if not."""
    repository, one, two = moves_of(fleet)
    (fleet.folder / ".git/refs/heads/two.lock").touch()

    with pytest.raises(GitError, match=r"if no git command is running, .*: rm \S*/two.lock"):
        publish_together(repository, [one, two], sleep=lambda _: None)
    assert [one.old, two.old] == heads(fleet)


def test_a_branch_of_a_checkout_holds_all(fleet: Checkout) -> None:
    """Its files would have to follow."""
    repository, one, two = moves_of(fleet)
    fleet.git("checkout", "-q", "two")

    assert not advance_together(repository, [one, two])
    assert [one.old, two.old] == heads(fleet)


def test_what_has_moved_already_is_not_moved_again(fleet: Checkout) -> None:
    """As where git was killed within its transaction: the rest follows at once."""
    repository, one, two = moves_of(fleet)
    fleet.git("update-ref", "refs/heads/one", one.new)

    publish_together(repository, [one, two], sleep=lambda _: None)
    assert [one.new, two.new] == heads(fleet)


def test_a_decision_and_its_delivery_move_together(fleet: Checkout) -> None:
    """What another branch got meanwhile is decided for again, and neither moves before."""
    run_overtaken(fleet, 0)
    scale(fleet)
    decided = fleet.git("rev-parse", "decisions")
    seen: list[str] = []

    report = run_overtaken(
        fleet,
        60,
        lambda: seen.append(fleet.git("rev-parse", "decisions")),
        commit_on(fleet, "fleet"),
    )

    assert (1, [decided]) == (report.races, seen)
    assert decided == fleet.git("rev-parse", "decisions~1")
    assert (report.commit, "Note") == (
        delivered_from(fleet),
        fleet.git("log", "-1", "--format=%s", "fleet~1"),
    )
    assert "replicas: 5" in fleet.git("show", f"fleet:{SHOP}")


def test_a_decision_that_a_checkout_follows_goes_first(fleet: Checkout) -> None:
    """Its delivery catches up in the same pass."""
    passes = new_passes(fleet.folder, at(0))
    report = passes.run()

    assert not passes.branches.may_move_with(["fleet"])
    assert report.commit == delivered_from(fleet)


def kill_half_way(fleet: Checkout) -> None:
    """Leave what a process leaves that is killed after the first branch of two has moved."""
    repository = Repository.open(fleet.folder)
    report = new_passes(fleet.folder, at(60), "decisions").run(publish=False)
    old, new = fleet.git("rev-parse", "decisions"), report.outputs
    with contextlib.suppress(StepUnfinished):
        beside = {"refs/heads/fleet": new}
        with journalled(repository, "refs/heads/decisions", old=old, new=new, beside=beside):
            fleet.git("update-ref", "refs/heads/decisions", new)
            (fleet.folder / ".git/refs/heads/fleet.lock").write_text(f"{new}\n")
            raise StepUnfinished("killed")


def test_what_was_killed_in_between_catches_up(fleet: Checkout) -> None:
    """The lock on the second branch goes, and the next pass delivers what was decided."""
    run_overtaken(fleet, 0)
    scale(fleet)
    kill_half_way(fleet)
    assert "replicas: 5" not in fleet.git("show", f"fleet:{SHOP}")
    report = run_overtaken(fleet, 120)

    assert (None, []) == (report.commit, locks(fleet))
    assert fleet.git("rev-parse", "decisions") == delivered_from(fleet)
    assert "replicas: 5" in fleet.git("show", f"fleet:{SHOP}")


def test_an_entry_of_one_branch_is_read(fleet: Checkout) -> None:
    """As versions before wrote it, which knew no other branches."""
    repository = Repository.open(fleet.folder)
    head = fleet.head()
    with journalled(repository, "refs/heads/main", old=head, new=head):
        (place,) = entries(repository)
        fields = json.loads(place.read_text())
        del fields["beside"]
        place.write_text(json.dumps(fields))
        entry = read_entry(place)

    assert entry is not None
    assert ("refs/heads/main",) == entry.references


OWN_ROOT, OTHER_ROOT = "teams/a", "teams/b"
BODIES = (cluster(), policy(), deployment())
LATER = NOW + timedelta(seconds=7)


def files(root: str) -> Mapping[str, str]:
    """A fleet in a folder."""
    return {f"{root}/{path_of(body)}": text(body) for body in BODIES}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Two roots in one repository."""
    return new_checkout(tmp_path / "fleet", {**files(OWN_ROOT), **files(OTHER_ROOT)})


def contested(checkout: Checkout, overtake: Callable[[], None], clock: Clock) -> list[datetime]:
    """Run a pass that somebody overtakes while it decides; return the moment of each decision."""
    branch = LocalBranch(Repository.open(checkout.folder), "main")
    decided: list[datetime] = []

    def decide(_world: World, now: datetime) -> Outcome | None:
        decided.append(now)
        if len(decided) == 1:
            overtake()
        return None

    passes: Passes = replace(passes_of(branch.below(OWN_ROOT), clock), divided=decide)
    report = passes.run()
    assert (0, report.commit) == (report.races, checkout.git("rev-parse", "main").strip())
    return decided


def test_a_commit_of_another_root_costs_no_decision(checkout: Checkout) -> None:
    """The decision stands, with its moment, on top of that commit, and names it."""
    clock = Clock(NOW)

    def overtake() -> None:
        clock.moment = LATER
        checkout.commit({f"{OTHER_ROOT}/{path_of(deployment('api'))}": text(deployment("api"))})

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
    report = replace(passes_of(branch.below(OWN_ROOT), clock), divided=decide).run()

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
        checkout.commit({f"{OWN_ROOT}/{path_of(added)}": text(added)})

    first, second = contested(checkout, overtake, clock)

    assert NOW == first
    assert LATER <= second
    assert f"{OWN_ROOT}/status/workloadrebalancers.apps.karmada.io/back.yaml" in checkout.git(
        "ls-tree", "-r", "--name-only", "main"
    )


NO_INPUT = (
    "notes.txt",
    f"{OWN_ROOT}/README.md",
    f"{OWN_ROOT}/.github/workflows/check.yaml",
    f"{OWN_ROOT}/charts/templates/web.yaml",
    f"{OTHER_ROOT}/status/reconciler.yaml",
    f"{OTHER_ROOT}/{path_of(deployment('api'))}",
)
"""What people push beside the inputs of a root, by the one function that says what is input."""


@dataclass(frozen=True, slots=True)
class OvertakenRemote(RemoteBranch):
    """A branch of a remote to which somebody pushes right before each of our pushes."""

    before_push: Callable[[], None] = lambda: None

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Lose the race, if somebody has pushed."""
        self.before_push()
        return RemoteBranch.publish(self, old=old, new=new)


@dataclasses.dataclass
class Race:
    """Passes of a root, and a person who pushes in between, file by file."""

    person: Checkout
    remote: Path
    passes: Passes = dataclasses.field(init=False)
    pushes: list[Mapping[str, str]] = dataclasses.field(default_factory=list)
    decided: list[datetime] = dataclasses.field(default_factory=list)

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
        branch = OvertakenRemote(mirror, mirror.repository, "main", before_push=made.overtake)
        made.passes = replace(passes_of(branch.below(OWN_ROOT), clock), divided=made.decide)
        yield made


def is_proven(race: Race) -> bool:
    """Whether all passes at the remote can be computed again, to the byte."""
    race.person.git("pull", "--quiet", "--rebase", str(race.remote), "main")
    return run(["-C", str(race.person.folder / OWN_ROOT), "--cache-dir", "off", "verify"]) == 0


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
        race.remote, "show", f"main:{OWN_ROOT}/status/reconciler.yaml"
    )
    assert 1 + many == counted.count("fetch")
    assert 1 + many == counted.count("push")
    assert is_proven(race)


def test_only_pushes_of_inputs_are_decided_about(race: Race) -> None:
    """However many others come before, between and after them."""
    input_files = [{f"{OWN_ROOT}/{path_of(one)}": text(one)} for one in map(deployment, ("b", "c"))]
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
    race.pushes = [{f"{OWN_ROOT}/{path_of(added)}": text(added)}]
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
    assert isinstance(branch, OvertakenRemote)
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


__all__ = ["repository"]  # a fixture

GUIDE = ROOT / "docs" / "rebalancing.md"
RECORD = "status/reconciler.yaml"
DONE = "status/workloadrebalancers.apps.karmada.io/back.yaml"
OTHER = deployment("other")
UNION = f"git revert --no-edit $DECISION; git checkout HEAD -- {BINDING}; git commit --no-edit"


def recipe(name: str) -> str:
    """Return the commands that the documentation gives under a mark."""
    found = re.search(rf"<!-- {name} -->\n```\n(.*?)```\n", GUIDE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def follow(checkout: Checkout, commands: str, **names: str) -> "subprocess.CompletedProcess[str]":
    """Run commands as a person with a shell would."""
    return subprocess.run(
        ["sh", "-c", commands],
        cwd=checkout.folder,
        env={**ENVIRONMENT, **names},
        capture_output=True,
        text=True,
        check=False,
    )


def placed(checkout: Checkout, name: str = "web") -> list[str]:
    """The clusters of a workload."""
    for key, manifest in load_world(checkout.folder).outputs.items():
        if (key.kind, key.name) == ("ResourceBinding", f"{name}-deployment"):
            return [
                str(item["name"]) for item in bodies(mapping(manifest.body, "spec"), "clusters")
            ]
    return []


@pytest.fixture
def moved(repository: Checkout) -> Mapping[str, str]:
    """Web was rebalanced home, where it is reported, and a later pass placed something else."""
    merged = repository.commit(REBALANCER, "Bring web back")
    run_pass(repository.folder, 500)
    decision = repository.head()
    report = text({**deployment(), "status": {"replicas": 2, "availableReplicas": 2}})
    reports = {f"feedback/{name}/web.yaml": report for name in HOME}
    repository.commit({path_of(OTHER): text(OTHER), **reports}, "Add another one")
    run_pass(repository.folder, 600)
    assert (HOME, HOME) == (placed(repository), placed(repository, "other"))
    return {"MERGED": merged, "DECISION": decision}


def test_a_plain_revert_of_an_older_decision_stops(
    repository: Checkout, moved: Mapping[str, str]
) -> None:
    """Why there is a recipe: later passes wrote to the same files."""
    done = follow(repository, "git revert --no-edit $DECISION", **moved)

    assert 0 != done.returncode
    assert {f"UU {RECORD}", f"UU {BINDING}"} <= set(repository.status().splitlines())


def test_the_recipe_rolls_back_an_older_decision_and_it_stays_so(
    repository: Checkout, moved: Mapping[str, str]
) -> None:
    """Only what that decision did is undone; the record of passes stays the latest one."""
    before = (repository.folder / RECORD).read_text()

    done = follow(repository, recipe("roll back"), **moved)

    assert 0 == done.returncode, done.stderr
    assert before == (repository.folder / RECORD).read_text()
    assert "" == repository.status()
    settle(repository, 700)
    settle(repository, 5000)
    assert (AWAY, HOME, 1) == (
        placed(repository),
        placed(repository, "other"),
        rebalances(repository),
    )
    assert not (repository.folder / DONE).exists()


def test_the_recipe_rolls_back_over_later_decisions_about_the_same_object(
    repository: Checkout, moved: Mapping[str, str]
) -> None:
    """The cluster of before is in force again, with what the manifest asks for now."""
    grown = deployment(replicas=7)
    repository.commit({path_of(grown): text(grown)}, "Grow")
    run_pass(repository.folder, 700)

    done = follow(repository, recipe("roll back"), **moved)

    assert 0 == done.returncode, done.stderr
    settle(repository, 800)
    settle(repository, 5000)
    assert (AWAY, 1) == (placed(repository), rebalances(repository))
    assert "    replicas: 7\n" in (repository.folder / BINDING).read_text()


def test_the_recipe_rolls_back_the_newest_decision_too(repository: Checkout) -> None:
    """Where `git revert` would do."""
    merged = repository.commit(REBALANCER, "Bring web back")
    run_pass(repository.folder, 500)

    done = follow(repository, recipe("roll back"), MERGED=merged, DECISION=repository.head())

    assert 0 == done.returncode, done.stderr
    settle(repository, 5000)
    assert (AWAY, 1) == (placed(repository), rebalances(repository))


def test_one_object_is_taken_back_by_its_file(
    repository: Checkout, moved: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """No conflict, whatever was decided since; a proof of the history names who did it."""
    commands = recipe("take back").replace("default/shop-", "default/web-")

    done = follow(repository, commands, **moved)

    assert 0 == done.returncode, done.stderr
    settle(repository, 700)
    settle(repository, 5000)
    assert (AWAY, 1) == (placed(repository), rebalances(repository))
    assert 0 == run(["-C", str(repository.folder), "verify"])
    assert "reverted by Ada <ada@example.com>: outputs as they were in" in capsys.readouterr().out


def test_a_union_of_both_records_holds_everything(
    repository: Checkout, moved: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """So the documentation warns of it: the record has each key twice."""
    repository.commit({".gitattributes": f"{RECORD} merge=union\n"}, "Resolve by union")

    assert 0 == follow(repository, UNION, **moved).returncode
    moment = "2026-11-20T14:00:00Z"
    assert 1 == run(["-C", str(repository.folder), "reconcile", "--now", moment])

    assert f"{RECORD}:9:3: an output cannot be read and is left" in capsys.readouterr().err
