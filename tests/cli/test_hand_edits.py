"""What history and blame tell of people's edits of outputs: one story for all three APIs."""

from pathlib import Path

import pytest

from tests.cli.hand_edits import ALL, KARMADA, OCM, Case, edited_fleet, names, remove
from tests.cli.history import answer, answer_json
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]


@pytest.mark.parametrize("case", ALL)
def test_an_edit_is_told_with_both_sides(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """Who, from where, to where; the placements' own files did not change."""
    fleet = edited_fleet(tmp_path / "fleet", case)

    found = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]
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

    found = answer_json(fleet, capsys, ["blame", case.word])[1]["clusters"]

    by_hand = {item["cluster"] for item in found if item["commit"] == fleet.head()}
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

    found = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]

    assert (case.after, case.before) == (names(found[0]["before"]), names(found[0]["after"]))
    assert [edit] == [item["commit"] for item in found[0]["inputs"]]


@pytest.mark.parametrize("case", ALL)
def test_a_commit_that_only_looks_like_a_pass_is_told_by_its_files(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """A person amended the commit of a pass: what it holds is what counts."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("reset", "--quiet", "--soft", "HEAD~1")
    fleet.git("commit", "--quiet", "--amend", "--no-edit")
    fleet.commit({"notes.txt": "a"}, "Take notes")

    [told] = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]
    blamed = answer_json(fleet, capsys, ["blame", case.word])[1]["clusters"]

    assert ((), case.after) == (names(told["before"]), names(told["after"]))
    assert "the commit holds something else; see reconciler verify" == told["note"]
    assert case.after == tuple(item["cluster"] for item in blamed)


def test_a_pass_of_another_version_keeps_its_cause(tmp_path: Path, capsys: Capsys) -> None:
    """It wrote the same decision in other words; that it did is said beside it."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    path = f"status/{KARMADA.path}"
    fleet.write({path: (fleet.folder / path).read_text() + "# in other words\n"})
    fleet.git("commit", "--quiet", "--all", "--amend", "--no-edit")

    [told] = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]

    assert ("created (policy shop)", ["Start"]) == (
        told["cause"],
        [item["title"] for item in told["inputs"]],
    )
    assert "the commit holds something else; see reconciler verify" == told["note"]


def test_a_revert_of_a_decision_is_an_edit(tmp_path: Path, capsys: Capsys) -> None:
    """The decision goes back to what it was, by the person who reverted."""
    fleet = edited_fleet(tmp_path / "fleet", OCM)
    fleet.git("revert", "--no-edit", "HEAD")

    found = answer_json(fleet, capsys, ["history", OCM.word])[1]["decisions"]

    assert [("edge1",), ("edge2",), ()] == [names(item["before"]) for item in found]
    assert 'Revert "Prefer another"' == found[0]["title"]


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

    found = answer_json(fleet, capsys, ["history", OCM.word])[1]["decisions"]
    _, out, _ = answer(fleet, capsys, "why", OCM.word)

    assert ["Prefer edge1", "Merge fix"] == [item["title"] for item in found[0]["inputs"]]
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

    found = answer_json(Checkout(folder), capsys, ["history", OCM.word])[1]["decisions"]

    assert "default/reports-decision-1: edited by Ada <ada@example.com>" in top.git("log", "-1")
    assert ["Prefer edge1"] == [item["title"] for item in found[0]["inputs"]]
    assert (("edge2",), ("edge1",)) == (names(found[1]["before"]), names(found[1]["after"]))


def test_an_edit_of_a_neighbour_is_not_told(tmp_path: Path, capsys: Capsys) -> None:
    """Decisions of other placements stand in the same folder."""
    fleet = edited_fleet(tmp_path / "fleet", OCM)
    path = f"status/{OCM.path}"
    other = (fleet.folder / path).read_text().replace("reports", "reports-too")
    fleet.commit({path.replace("reports", "reports-too"): other}, "Add a decision")

    found = answer_json(fleet, capsys, ["history", OCM.word])[1]["decisions"]

    assert ["Prefer another"] == [item["title"] for item in found[:-1]]


def test_an_edit_that_moves_nothing_says_so(tmp_path: Path, capsys: Capsys) -> None:
    """It is told, since it will be undone."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    path = f"status/{KARMADA.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({path: text.replace("schedulerName: default", "schedulerName: odd")}, "Try")

    found = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]

    assert found[0]["before"] == found[0]["after"]
    assert "edited by hand, on the same clusters" == found[0]["note"]


def test_an_edit_that_cannot_be_read_says_so(tmp_path: Path, capsys: Capsys) -> None:
    """Such as the marks of a conflict: where the object is, is not known then."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    path = f"status/{KARMADA.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({path: f"<<<<<<< ours\n{text}"}, "Merge badly")

    found = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]

    assert ("member1",) == names(found[0]["before"])
    assert found[0]["after"] is None
    assert "edited by hand, cannot be read" == found[0]["note"]
    for verb in ("blame", "why"):
        _, _, err = answer(fleet, capsys, verb, KARMADA.word)
        assert f"is at an unknown place since {fleet.head()[:12]} (edited by hand, cannot" in err


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

    found = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]

    assert ["Clean up"] == [item["title"] for item in found[0]["inputs"]]
    assert (removal, "removed by hand") == (found[1]["commit"], found[1]["note"])
    assert case.before == names(found[1]["before"])
    assert case.before == names(found[0]["after"])
