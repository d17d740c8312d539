"""`verify` judges as daemons do where signed commits belong."""

import json
from pathlib import Path

import pytest

from reconciler.audit.proof import UNSAID
from tests.cli.options.test_trust import answer, first_pass, keys
from tests.shell.fleet import new_fleet
from tests.shell.keys import SshKey, commit_signed
from tests.shell.passes.test_trust_purpose import delivering
from tests.shell.repositories import Checkout


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, delivered to the branch `fleet`."""
    return new_fleet(tmp_path / "fleet", delivering("fleet"))


def signed(fleet: Checkout, key: SshKey, message: str, path: str) -> str:
    """Commit a file as somebody signs who writes any message."""
    commit_signed(fleet, key, {path: "x\n"})
    amended = ("commit", "--quiet", "--amend", "-S", "-m", message)
    fleet.git("-c", "gpg.format=ssh", "-c", f"user.signingkey={key.file}", *amended)
    return fleet.head()


def findings(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], *arguments: str
) -> dict[str, list[str]]:
    """Return what `verify` finds, by commit."""
    capsys.readouterr()
    code = answer(fleet, "verify", *arguments, "-o", "json")
    commits = json.loads(capsys.readouterr().out)["commits"]
    found = {c["commit"]: [f["message"] for f in c["findings"]] for c in commits if c["findings"]}
    assert (1 if found else 0) == code
    return found


def test_a_delivery_on_the_served_branch_is_forged(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the name of the branch, too: it is no pass of any."""
    _, _, options = keys(tmp_path, trusted=fleet.head())
    at = first_pass(fleet, *options)
    fleet.git("branch", "--force", "fleet", "main")
    assert 1 == answer(fleet, *at, "2026-11-20T12:00:30Z")
    delivery = fleet.git("rev-parse", "fleet")
    fleet.git("reset", "--quiet", "--hard", "fleet")

    plain = findings(fleet, capsys)
    named = findings(fleet, capsys, "--branch", "main")

    assert [[delivery], [delivery]] == [[*plain], [*named]]
    assert "it was signed for delivery on fleet, not for main" == named[delivery][0]


def test_decisions_are_held_against_the_branch(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same history is in its place on one branch, and a finding on another."""
    _, _, options = keys(tmp_path, trusted=fleet.head())
    first_pass(fleet, *options)
    head = fleet.head()

    assert {} == findings(fleet, capsys, "--branch", "main")
    said = "it was signed for decisions on main, not for staging"
    assert {head: [said]} == findings(fleet, capsys, "--branch", "staging")


def test_what_the_key_of_passes_signs_must_say_what_for(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Signatures tell which key that is; a person's commit says nothing and is none of it."""
    ada, robot, options = keys(tmp_path, trusted=fleet.head())
    first_pass(fleet, *options)
    start = fleet.head()
    commit_signed(fleet, ada, {"notes.txt": "n\n"})
    unsaid = commit_signed(fleet, robot, {"notes.txt": "m\n"})
    import_ = signed(fleet, robot, "Import\n\nReconciled-For: reports main", "feedback/x.txt")
    no_pass = signed(fleet, robot, "Do it\n\nReconciled-For: decisions main", "feedback/y.txt")

    plain = findings(fleet, capsys, f"{start}~1..HEAD", "--branch", "main")
    found = findings(fleet, capsys, f"{start}~1..HEAD", "--signatures", *options[2:4])

    said = "it was signed for decisions on main, and is no pass"
    assert {no_pass: [said]} == plain
    reports = "it was signed for reports on main, where only decisions count"
    assert {unsaid: [UNSAID], import_: [reports], no_pass: [said]} == found


def test_status_lists_a_commit_that_is_out_of_its_place(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has all that a pass has, and waits all the same."""
    _, robot, options = keys(tmp_path, trusted=fleet.head())
    at = first_pass(fleet, *options)
    text = fleet.git("log", "-1", "--format=%B").replace("decisions main", "decisions staging")
    moved = signed(fleet, robot, text, "status/x.yaml")
    assert 1 == answer(fleet, *at, "2026-11-20T12:00:30Z")
    capsys.readouterr()

    assert 0 == answer(fleet, "status", "-o", "json")

    listed = json.loads(capsys.readouterr().out)["unaccepted"]
    assert [moved] == [one["commit"] for one in listed]
