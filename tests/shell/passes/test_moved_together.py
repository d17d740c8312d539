"""Branches of a repository here that move in one transaction, and what becomes of half of one."""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.shell.git.checkout.worktree import advance_together
from reconciler.shell.git.command import GitError, LostRace
from reconciler.shell.git.journal import StepUnfinished, entries, journalled, read_entry
from reconciler.shell.git.publish import BranchMove, publish_together
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.pass_report import PassReport
from tests.builders import configuration, text
from tests.shell.fleet import Clock, new_fleet, new_passes, passes_of
from tests.shell.repositories import NOW, Checkout

FOLDERS = {"reconciler.yaml": text(configuration(delivery={"folders": {"branch": "fleet"}}))}
SHOP = "delivery/member1/default/deployments.apps/shop.yaml"


@dataclass(frozen=True, slots=True)
class Overtaken(LocalBranch):
    """A branch beside which something happens, once, right before branches move together."""

    before: list[Callable[[], object]] = field(default_factory=list, compare=False)

    def publish_together(self, moves: Sequence[BranchMove]) -> bool:
        """Let it happen, and move them."""
        while self.before:
            self.before.pop()()
        return LocalBranch.publish_together(self, moves)


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, which is delivered to the branch `fleet`."""
    return new_fleet(tmp_path / "fleet", FOLDERS)


def run(fleet: Checkout, seconds: int, *before: Callable[[], object]) -> PassReport:
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
    run(fleet, 0)
    scale(fleet)
    decided = fleet.git("rev-parse", "decisions")
    seen: list[str] = []

    report = run(
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
    run(fleet, 0)
    scale(fleet)
    kill_half_way(fleet)
    assert "replicas: 5" not in fleet.git("show", f"fleet:{SHOP}")
    report = run(fleet, 120)

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
