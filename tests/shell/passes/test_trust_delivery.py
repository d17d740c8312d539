"""Branches that are delivered to: what strangers do to them is put back, and never built upon."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shell.fleet import EXAMPLE, reconciler
from tests.shell.guarded import DOWN, Guarded, new_guarded
from tests.shell.keys import commit_signed
from tests.shell.passes.test_trust_purpose import delivering
from tests.shell.repositories import Checkout

FOLDER = "delivery/member1/default/deployments.apps"
SHOP_FILE = f"{FOLDER}/shop.yaml"
MANY = {f"{FOLDER}/evil-{number}.yaml": "e: 1\n" for number in range(20)}


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    """The example, trusted as it is, delivered to the branch `fleet`."""
    found = new_guarded(tmp_path)
    commit_signed(found.fleet, found.ada, delivering("fleet"))
    found.run()
    found.run()
    return found


def commit_on_fleet(fleet: Checkout, *changes: Callable[[], object]) -> str:
    """Commit unsigned changes to the branch, and return to the served one."""
    fleet.git("switch", "--quiet", "fleet")
    for change in changes:
        change()
    commit = fleet.commit({})
    fleet.git("switch", "--quiet", "main")
    return commit


def delivered(fleet: Checkout, revision: str = "fleet") -> str:
    """Return the files of delivery at a commit."""
    return fleet.git("ls-tree", "-r", revision, "--", "delivery", "delivery.yaml")


def test_what_a_stranger_delivers_is_put_back(guarded: Guarded) -> None:
    """So many files that pruning would hold them, an edit and a removal; other folders stay."""
    fleet = guarded.fleet
    before = delivered(fleet)
    edits = {**MANY, "delivery.yaml": "status: {}\n", "notes.txt": "n\n"}
    stranger = commit_on_fleet(
        fleet,
        lambda: fleet.git("rm", "--quiet", SHOP_FILE),
        lambda: fleet.write(edits),
        lambda: fleet.git("add", "--all", "--force"),
    )

    report = guarded.run()
    commits = fleet.git("rev-list", "fleet")

    assert (before, "n") == (delivered(fleet), fleet.git("show", "fleet:notes.txt"))
    assert [("fleet", stranger)] == [(one.branch, one.revision) for one in report.refused]
    assert stranger == fleet.git("rev-parse", "fleet^")
    status = reconciler(fleet.folder, "status", "-o", "json")
    assert [stranger] == [one["commit"] for one in json.loads(status.stdout)["unaccepted"]]
    again = guarded.run()
    assert (1, commits) == (len(again.refused), fleet.git("rev-list", "fleet"))


def test_a_branch_that_is_set_elsewhere_is_delivered_to_again(guarded: Guarded) -> None:
    """To the served branch, and to an older delivery, whose files were ours once."""
    fleet, old = guarded.fleet, guarded.fleet.git("rev-parse", "fleet")
    guarded.scale(4, by=guarded.ada)
    guarded.run()
    wanted = delivered(fleet)
    assert wanted != delivered(fleet, old)

    for elsewhere in ("main", old):
        fleet.git("branch", "--force", "fleet", elsewhere)
        report = guarded.run()

        assert (1, wanted) == (len(report.refused), delivered(fleet))
        assert fleet.git("rev-parse", elsewhere) == fleet.git("rev-parse", "fleet^")


def test_a_branch_that_was_deleted_begins_where_it_was(guarded: Guarded) -> None:
    """With its history, though nothing else is to be delivered."""
    last = guarded.fleet.git("rev-parse", "fleet")
    guarded.fleet.git("branch", "--delete", "--force", "fleet")

    guarded.run()

    assert last == guarded.fleet.git("rev-parse", "fleet")


def test_what_a_person_signs_there_counts(guarded: Guarded) -> None:
    """It is as an edit without keys: files that nothing else writes stay, the others are ours."""
    fleet, before = guarded.fleet, delivered(guarded.fleet)
    fleet.git("switch", "--quiet", "fleet")
    commit_signed(fleet, guarded.ada, {SHOP_FILE: "e: 1\n", "notes.txt": "n\n"})
    fleet.git("switch", "--quiet", "main")

    report = guarded.run()

    assert ((), before) == (report.refused, delivered(fleet))


def test_what_an_older_version_delivered_is_taken_as_it_is(guarded: Guarded) -> None:
    """Nothing was accepted of the branch yet; from the next delivery on it is followed."""
    fleet = guarded.fleet
    fleet.git("update-ref", "-d", "refs/reconciler/accepted/fleet")
    commit_on_fleet(fleet, lambda: fleet.write({"notes.txt": "n\n"}), lambda: fleet.git("add", "."))
    guarded.scale(4, by=guarded.ada)

    report = guarded.run()

    head = fleet.git("rev-parse", "fleet")
    assert ((), head) == (report.refused, fleet.git("rev-parse", "refs/reconciler/accepted/fleet"))


def test_what_waits_in_a_folder_of_delivery_to_be_is_put_back_once(tmp_path: Path) -> None:
    """A person's files stand there, so nothing is delivered before they are let go."""
    found = new_guarded(tmp_path)
    files = {**delivering(), "delivery/member1/old.yaml": "a: 1\n"}
    placed = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: others")
    commit_signed(found.fleet, found.ada, {**files, **DOWN, "workloads/others.yaml": placed})
    found.run()  # the shop leaves a cluster, which keeps its copy until the other one has its own
    found.fleet.commit({"delivery/member1/old.yaml": "a: 2\n"})
    found.seconds += 60

    commits = [found.run().commit for _ in range(3)]

    assert [True, False, False] == [one is not None for one in commits]
    assert "a: 1" == found.fleet.git("show", "HEAD:delivery/member1/old.yaml")
