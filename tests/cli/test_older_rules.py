"""What is told of passes that were made by other rules than the present ones."""

import re
from pathlib import Path

import pytest

from reconciler.model.world import RULES
from tests.cli.hand_edits import ALL, KARMADA, OCM, Case, names
from tests.cli.history import answer, answer_json
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
NOTE = f"made by rules 1, computed again by rules {RULES}"


def older_fleet(folder: Path, case: Case, old: str, new: str, *, trailer: str = "") -> Checkout:
    """A fleet whose only pass is by rules 1, which wrote something else into one output."""
    fleet = new_fleet(folder)
    run_pass(fleet.folder, 0)
    path = f"status/{case.path}"
    fleet.write({path: (fleet.folder / path).read_text().replace(old, new)})
    message = fleet.git("log", "-1", "--format=%B")
    said = re.sub(r"Reconciled-Rules: \d+\n", trailer, message)
    fleet.git("commit", "--quiet", "--all", "--amend", "--message", said)
    return fleet


@pytest.mark.parametrize("trailer", ["", "Reconciled-Rules: 1\n"], ids=["unnamed", "named"])
def test_what_the_present_rules_write_alike_is_explained(
    tmp_path: Path, capsys: Capsys, trailer: str
) -> None:
    """With its cause and without a note: it is the same decision in the same words."""
    fleet = older_fleet(tmp_path / "fleet", KARMADA, "", "", trailer=trailer)

    [told] = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]
    found = answer_json(fleet, capsys, ["why", KARMADA.word])[1]

    assert ("created (policy shop)", ["Start"]) == (
        told["cause"],
        [item["title"] for item in told["inputs"]],
    )
    assert ("", "") == (told["note"], found["note"])
    assert "? other rules" in answer(fleet, capsys, "verify")[1]


def test_the_same_decision_in_other_words_keeps_its_cause(tmp_path: Path, capsys: Capsys) -> None:
    """That it was made by other rules is said beside it, not that somebody changed it."""
    fleet = older_fleet(tmp_path / "fleet", KARMADA, "\nstatus:", "\n# as it was\nstatus:")

    [told] = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]
    code, out, _ = answer(fleet, capsys, "why", KARMADA.word)

    assert ("created (policy shop)", NOTE) == (told["cause"], told["note"])
    assert (0, True) == (code, NOTE in out)


@pytest.mark.parametrize("case", ALL)
def test_another_decision_is_told_by_its_files(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """What the commit holds counts; why it was decided so is not computed."""
    fleet = older_fleet(tmp_path / "fleet", case, case.old, case.new)

    [told] = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]
    blamed = answer_json(fleet, capsys, ["blame", case.word])[1]["clusters"]
    code, found = answer_json(fleet, capsys, ["why", case.word, "--at", "HEAD"])

    assert ((), case.after, NOTE) == (names(told["before"]), names(told["after"]), told["note"])
    assert case.after == tuple(item["cluster"] for item in blamed)
    assert (0, NOTE) == (code, found["note"])


def test_the_next_pass_goes_on_from_it(tmp_path: Path, capsys: Capsys) -> None:
    """And is proven: of the two only the older one is not recomputed."""
    fleet = older_fleet(tmp_path / "fleet", OCM, "\nstatus:", "\n# as it was\nstatus:")
    fleet.commit({"labels.yaml": "# nothing yet\n"}, "Begin a file")
    run_pass(fleet.folder, 60)

    assert "1 of 2 decision commits verified, 1 other rules" in answer(fleet, capsys, "verify")[1]
