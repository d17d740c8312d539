"""What the audit tells of people's edits of outputs: the same story for each of the three APIs."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.history import answer, answer_json
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout, new_checkout

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


def test_an_edit_that_was_merged_is_its_authors(tmp_path: Path, capsys: Capsys) -> None:
    """Who merged is told, too; what else the branch had is not."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.git("checkout", "--quiet", "-b", "fix")
    path = f"status/{OCM.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({"notes.txt": "a"}, "Take notes")
    edit = fleet.commit({path: text.replace(OCM.old, OCM.new)}, "Prefer edge1")
    fleet.git("checkout", "--quiet", "main")
    fleet.git("merge", "--quiet", "--no-ff", "--message=Merge fix", "fix")

    _, found = answer_json(fleet, capsys, ["history", OCM.word])
    _, out, _ = answer(fleet, capsys, "why", OCM.word)

    assert ["Prefer edge1", "Merge fix"] == [item["subject"] for item in found[0]["inputs"]]
    merged = f"merged by Ada in {fleet.head()[:12]}"
    assert f"by an edit of Ada in {edit[:12]} (Prefer edge1), {merged}; it was edge2" in out


def test_a_fleet_in_a_folder_has_editors_too(tmp_path: Path, capsys: Capsys) -> None:
    """In the commit of the pass and in the history, whatever the folder is called."""
    top = new_checkout(tmp_path / "top", {f"fl*et/{path}": text for path, text in EXAMPLE.items()})
    folder = top.folder / "fl*et"
    run_pass(folder, 0)
    path = f"fl*et/status/{OCM.path}"
    text = (top.folder / path).read_text()
    top.commit({path: text.replace(OCM.old, OCM.new)}, "Prefer edge1")
    run_pass(folder, 60)

    _, found = answer_json(Checkout(folder), capsys, ["history", OCM.word])

    assert "default/reports-decision-1: edited by Ada <ada@example.com>" in top.git("log", "-1")
    assert ["Prefer edge1"] == [item["subject"] for item in found[0]["inputs"]]
    assert (("edge2",), ("edge1",)) == (names(found[1]["before"]), names(found[1]["after"]))


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


def test_why_tells_an_edit_outside_of_the_policy_apart_from_scheduling(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Where it is, who put it there, what comes next, and what the filters say of it."""
    fleet = edited_fleet(tmp_path / "fleet", KARMADA)
    _, out, _ = answer(fleet, capsys, "why", KARMADA.word)
    _, found = answer_json(fleet, capsys, ["why", KARMADA.word])

    lines = [line.rstrip() for line in out.splitlines()]
    short = fleet.head()[:12]
    assert "default/shop is on member2(2)" == lines[0]
    assert f"by an edit of Ada in {short} (Prefer another); it was member1(2)" in lines[3]
    assert "  next    the next pass leaves it there" == lines[4]
    assert "If it were scheduled anew:" in lines
    verdicts = {line.split("   ")[0].strip(): line for line in lines if "   " in line}
    assert "would be chosen #1" in verdicts["member1"]
    assert "is there, would be turned away" in verdicts["member2"]
    assert "would be turned away" in verdicts["backup1"]
    assert (None, fleet.head(), None) == (
        found["decided"],
        found["edited"]["commit"],
        found["next"],
    )
    run_pass(fleet.folder, 60)
    assert lines[0:5] == answer(fleet, capsys, "why", KARMADA.word)[1].splitlines()[0:5]


@pytest.mark.parametrize("case", [p for p in ALL if p.id != "karmada"])
def test_why_says_that_the_next_pass_undoes_an_edit(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """And it does, for the reason that was told."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    _, out, _ = answer(fleet, capsys, "why", case.word)
    run_pass(fleet.folder, 60)
    _, after, _ = answer(fleet, capsys, "why", case.word)

    assert f"the next pass moves it to {', '.join(case.before)}: edited by hand" in out
    assert after.splitlines()[0].endswith(f" is on {', '.join(case.before)}")
    assert "because  Ada: Prefer another" in after


def test_why_names_a_cluster_that_scheduling_does_not_know(tmp_path: Path, capsys: Capsys) -> None:
    """A person may write any name."""
    fleet = edited_fleet(tmp_path / "fleet", KUBEFLEET)

    _, out, _ = answer(fleet, capsys, "why", KUBEFLEET.word)

    [line] = [line for line in out.splitlines() if line.startswith("fleet9")]
    assert "is there" in line
    assert "scheduling was not asked about it" in line
    assert "fleet9: scheduling" in answer(fleet, capsys, "why", KUBEFLEET.word, "fleet9")[1]


def test_why_tells_who_removed_the_outputs(tmp_path: Path, capsys: Capsys) -> None:
    """It is nowhere until the next pass."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    removal = remove(fleet, "status", "Clean up")

    _, out, _ = answer(fleet, capsys, "why", KARMADA.word)

    assert "default/shop is on nowhere" == out.splitlines()[0]
    assert f"by an edit of Ada in {removal[:12]} (Clean up); it was member1(2)" in out
    assert "the next pass moves it to member1(2): created (policy shop)" in out


@pytest.mark.parametrize("case", ALL)
def test_events_tell_an_edit_and_a_removal(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """About the object that people ask about, whatever output its decision is written in."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    remove(fleet, f"status/{case.path}", "Clean up")

    _, found = answer_json(fleet, capsys, ["events", case.word, "--warnings"])

    whose = "Ada <ada@example.com>"
    part = case.path.rpartition("/")[2].removesuffix(".yaml")
    kind = "PlacementDecision" if case is OCM else "ClusterResourceBinding"
    edited, removed = (
        ("Edited", "Removed")
        if case is KARMADA
        else (f"{kind} {part} edited", f"{kind} {part} removed")
    )
    assert [
        f"{edited} by hand by {whose}: Prefer another",
        f"{removed} by hand by {whose}: Clean up",
    ] == [item["message"] for item in found]
