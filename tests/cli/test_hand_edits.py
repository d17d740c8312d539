"""What the audit tells of people's edits of outputs: the same story for each of the three APIs."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.history import answer, answer_json
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Case:
    """An object of one API, the output to edit, and the clusters before and after the edit."""

    word: str
    path: str
    old: str
    new: str
    before: tuple[str, ...]
    after: tuple[str, ...]


KARMADA = Case(
    word="deployment/shop",
    path="resourcebindings.work.karmada.io/default/shop-deployment.yaml",
    old="name: member1",
    new="name: member2",
    before=("member1",),
    after=("member2",),
)
OCM = Case(
    word="placement/reports",
    path="placementdecisions.cluster.open-cluster-management.io/default/reports-decision-1.yaml",
    old="clusterName: edge2",
    new="clusterName: edge1",
    before=("edge2",),
    after=("edge1",),
)
KUBEFLEET = Case(
    word="crp/tools",
    path="clusterresourcebindings.placement.kubernetes-fleet.io/tools-fleet2-3be08a14.yaml",
    old="targetCluster: fleet2",
    new="targetCluster: fleet9",
    before=("fleet1", "fleet2"),
    after=("fleet1", "fleet9"),
)
ALL = [
    pytest.param(KARMADA, id="karmada"),
    pytest.param(OCM, id="ocm"),
    pytest.param(KUBEFLEET, id="kubefleet"),
]


def edited_fleet(folder: Path, case: Case) -> Checkout:
    """Placed by a pass, then moved by a person's edit of the output."""
    fleet = new_fleet(folder)
    run_pass(fleet.folder, 0)
    path = f"status/{case.path}"
    text = (fleet.folder / path).read_text()
    assert case.old in text
    fleet.commit({path: text.replace(case.old, case.new)}, "Prefer another")
    return fleet


def remove(fleet: Checkout, path: str, message: str) -> str:
    """Remove a file or a folder, and return the commit."""
    fleet.git("rm", "-r", "--quiet", path)
    shutil.rmtree(fleet.folder / path, ignore_errors=True)
    fleet.git("commit", "--quiet", "--message", message)
    return fleet.head()


def names(placed: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the clusters of a side of an event."""
    return tuple(item["cluster"] for item in placed)


@pytest.mark.parametrize("case", ALL)
def test_an_edit_is_told_with_both_sides(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """Who, from where, to where; the placements' own files did not change."""
    fleet = edited_fleet(tmp_path / "fleet", case)

    _, found = answer_json(fleet, capsys, ["history", case.word])
    _, out, _ = answer(fleet, capsys, "history", case.word)

    assert [fleet.head(), fleet.git("rev-parse", "HEAD~1")] == [item["commit"] for item in found]
    assert (case.before, case.after) == (names(found[0]["before"]), names(found[0]["after"]))
    assert ("edited by hand", [fleet.head()]) == (
        found[0]["note"],
        [item["commit"] for item in found[0]["inputs"]],
    )
    assert f"Ada: Prefer another ({fleet.head()[:12]})" in out.splitlines()[1]


@pytest.mark.parametrize("case", ALL)
def test_an_edit_is_blamed_for_its_clusters(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """The cluster that a person wrote in is there because of that commit, the others are not."""
    fleet = edited_fleet(tmp_path / "fleet", case)

    _, found = answer_json(fleet, capsys, ["blame", case.word])

    by_hand = {item["cluster"] for item in found if item["decision"] == fleet.head()}
    assert case.after == tuple(item["cluster"] for item in found)
    assert set(case.after) - set(case.before) == by_hand


@pytest.mark.parametrize("case", [p for p in ALL if p.id != "karmada"])
def test_a_pass_that_undoes_an_edit_is_caused_by_it(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """Not by time: without the edit nothing would have moved."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    edit = fleet.head()
    run_pass(fleet.folder, 60)

    _, found = answer_json(fleet, capsys, ["history", case.word])

    assert (case.after, case.before) == (names(found[0]["before"]), names(found[0]["after"]))
    assert [edit] == [item["commit"] for item in found[0]["inputs"]]


def test_a_revert_of_a_decision_is_an_edit(tmp_path: Path, capsys: Capsys) -> None:
    """The decision goes back to what it was, by the person who reverted."""
    fleet = edited_fleet(tmp_path / "fleet", OCM)
    fleet.git("revert", "--no-edit", "HEAD")

    _, found = answer_json(fleet, capsys, ["history", OCM.word])

    assert [("edge1",), ("edge2",), ()] == [names(item["before"]) for item in found]
    assert 'Revert "Prefer another"' == found[0]["subject"]


def test_an_edit_of_a_neighbour_is_not_told(tmp_path: Path, capsys: Capsys) -> None:
    """Decisions of other placements stand in the same folder."""
    fleet = edited_fleet(tmp_path / "fleet", OCM)
    path = f"status/{OCM.path}"
    other = (fleet.folder / path).read_text().replace("reports", "reports-too")
    fleet.commit({path.replace("reports", "reports-too"): other}, "Add a decision")

    _, found = answer_json(fleet, capsys, ["history", OCM.word])

    assert ["Prefer another"] == [item["subject"] for item in found[:-1]]


def test_an_edit_that_moves_nothing_says_so(tmp_path: Path, capsys: Capsys) -> None:
    """It is told, since it will be undone."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    path = f"status/{KARMADA.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({path: text.replace("schedulerName: default", "schedulerName: odd")}, "Try")

    _, found = answer_json(fleet, capsys, ["history", KARMADA.word])

    assert found[0]["before"] == found[0]["after"]
    assert "edited by hand, on the same clusters" == found[0]["note"]


def test_an_edit_that_cannot_be_read_says_so(tmp_path: Path, capsys: Capsys) -> None:
    """Such as the marks of a conflict: where the object is, is not known then."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    path = f"status/{KARMADA.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({path: f"<<<<<<< ours\n{text}"}, "Merge badly")

    _, found = answer_json(fleet, capsys, ["history", KARMADA.word])

    assert ("member1",) == names(found[0]["before"])
    assert found[0]["after"] is None
    assert "edited by hand, cannot be read" == found[0]["note"]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("case", ALL)
def test_a_removal_is_the_cause_of_what_the_next_pass_writes(
    tmp_path: Path, capsys: Capsys, case: Case, *, whole: bool
) -> None:
    """Not time, though the inputs are what they were."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit({"notes.txt": "a"}, "Take notes")
    removal = remove(fleet, "status" if whole else f"status/{case.path}", "Clean up")
    fleet.commit({"notes.txt": "b"}, "Take more notes")
    run_pass(fleet.folder, 60)

    _, found = answer_json(fleet, capsys, ["history", case.word])

    assert ["Clean up"] == [item["subject"] for item in found[0]["inputs"]]
    assert (removal, "removed by hand") == (found[1]["commit"], found[1]["note"])
    assert case.before == names(found[1]["before"])
    assert case.before == names(found[0]["after"])
