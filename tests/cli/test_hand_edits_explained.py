"""What why and events tell of people's edits of outputs."""

from pathlib import Path

import pytest

from tests.cli.hand_edits import ALL, KARMADA, KUBEFLEET, OCM, Case, edited_fleet, remove
from tests.cli.history import answer, answer_json
from tests.shell.fleet import new_fleet, run_pass

Capsys = pytest.CaptureFixture[str]


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
    assert "  next    the next pass keeps it there" == lines[4]
    assert "If scheduled from scratch:" in lines
    verdicts = {line.split("   ")[0].strip(): line for line in lines if "   " in line}
    assert "would be chosen #1" in verdicts["member1"]
    assert "is there, would be filtered out" in verdicts["member2"]
    assert "would be filtered out" in verdicts["backup1"]
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
    assert "not considered by scheduling" in line
    assert "fleet9: not considered" in answer(fleet, capsys, "why", KUBEFLEET.word, "fleet9")[1]


def test_why_tells_who_removed_the_outputs(tmp_path: Path, capsys: Capsys) -> None:
    """It is nowhere until the next pass."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    removal = remove(fleet, "status", "Clean up")

    _, out, _ = answer(fleet, capsys, "why", KARMADA.word)

    assert "default/shop is nowhere" == out.splitlines()[0]
    assert f"by an edit of Ada in {removal[:12]} (Clean up); it was member1(2)" in out
    assert "the next pass places it on member1(2): created (policy shop)" in out


@pytest.mark.parametrize("case", ALL)
def test_events_tell_an_edit_and_a_removal(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """About the object that people ask about, whatever output its decision is written in."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    remove(fleet, f"status/{case.path}", "Clean up")

    found = answer_json(fleet, capsys, ["events", case.word, "--warnings"])[1]["events"]

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
