"""`reconciler verify` on real histories, where signed commits belong, and passes of older rules."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.audit.proof import UNSAID
from reconciler.cli.main import run
from reconciler.model.world import RULES
from tests.builders import configuration, text
from tests.cli.history import (
    ALL,
    KARMADA,
    OCM,
    SCALED,
    SHOP,
    Case,
    answer,
    answer_json,
    names,
    told_afresh,
    told_fleet,
)
from tests.cli.test_trust import answer as trust_answer
from tests.cli.test_trust import first_pass, keys
from tests.shell.fleet import EXAMPLE, MANIFESTS, decided_fleet, new_fleet, reconciler, run_pass
from tests.shell.keys import SshKey, commit_signed
from tests.shell.passes.test_trust_purpose import delivering
from tests.shell.repositories import Checkout, git

Capsys = pytest.CaptureFixture[str]
HEALED = {"clusters/member1.yaml": EXAMPLE["clusters/member1.yaml"]}
SCALED_AGAIN = {
    "workloads/shop.yaml": EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 7")
}


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """Three inputs, three passes."""
    return told_fleet(tmp_path / "fleet")


def amend(fleet: Checkout, files: Mapping[str, str], message: str | None = None) -> None:
    """Change the last commit, as somebody does who would rather not be seen."""
    fleet.write(files)
    fleet.git("add", "--all")
    kept = ("--no-edit",) if message is None else ("--message", message)
    fleet.git("commit", "--quiet", "--amend", *kept)


def read(fleet: Checkout, path: str) -> str:
    """Return a file of the work tree."""
    return (fleet.folder / path).read_text()


def states(fleet: Checkout, capsys: Capsys, *arguments: str) -> list[str]:
    """Return the state of each commit, the oldest first."""
    _, found = answer_json(fleet, capsys, ["verify", *arguments])
    return [commit["state"] for commit in found["commits"]]


def test_an_honest_history_is_proven(fleet: Checkout, capsys: Capsys) -> None:
    """Every pass can be computed again, byte for byte."""
    code, out, err = answer(fleet, capsys, "verify", "-v")

    assert (0, "") == (code, err)
    assert 3 == out.count("✔ proven")
    assert out.endswith("3 of 3 decision commits verified, 3 human commits\n")


def test_json_names_each_commit(fleet: Checkout, capsys: Capsys) -> None:
    """Machines get every commit with its state."""
    code, found = answer_json(fleet, capsys, ["verify"])

    assert 0 == code
    assert ["input", "proven"] * 3 == [commit["state"] for commit in found["commits"]]
    assert {"input": 3, "proven": 3} == found["counts"]
    assert fleet.head() == found["commits"][-1]["commit"]


def test_workers_find_what_one_process_finds(fleet: Checkout, capsys: Capsys) -> None:
    """The history may be cut into pieces."""
    for number in range(16):
        fleet.commit({f"docs/{number}.txt": "text"}, f"Write page {number}")

    assert states(fleet, capsys) == states(fleet, capsys, "--jobs", "2")


def test_a_changed_decision_is_found(fleet: Checkout, capsys: Capsys) -> None:
    """A decision commit whose placement was changed names the file and the first line."""
    amend(fleet, {SHOP: read(fleet, SHOP).replace("name: backup1", "name: member2")})

    code, out, _ = answer(fleet, capsys, "verify")

    assert 1 == code
    assert "✘ different" in out
    assert re.search(rf'{SHOP}: line \d+ must be "- name: backup1" and is "- name: member2"', out)
    assert "the pass decides default/shop: member1(5) -> backup1(5)" in out


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param({"notes.txt": "hi"}, "leave it as it is, the commit changes it", id="more"),
        pytest.param({SHOP: None}, "would write it, the commit removes it", id="removed"),
    ],
)
def test_more_or_less_than_a_pass_writes_is_found(
    fleet: Checkout, capsys: Capsys, files: Mapping[str, str | None], message: str
) -> None:
    """A file that the pass would not touch, or one that is missing."""
    for path, content in files.items():
        if content is None:
            (fleet.folder / path).unlink()
    amend(fleet, {path: content for path, content in files.items() if content is not None})

    code, out, _ = answer(fleet, capsys, "verify")

    assert 1 == code
    assert message in out


def test_a_person_who_edits_an_output_is_named(fleet: Checkout, capsys: Capsys) -> None:
    """Below the output root only passes write; the pass after the edit is proven again."""
    fleet.commit({SHOP: read(fleet, SHOP).replace("backup1", "member2")}, "Move it myself")
    run_pass(fleet.folder, 180)

    code, out, _ = answer(fleet, capsys, "verify")

    assert 1 == code
    assert f"    {SHOP}: edited by Ada <ada@example.com>" in out
    assert ["tampered", "proven"] == states(fleet, capsys)[-2:]


def test_a_decision_that_is_reverted_is_no_tampering(fleet: Checkout, capsys: Capsys) -> None:
    """All outputs are as they were before it, and the next pass says what it does about that."""
    decided = fleet.head()
    fleet.git("revert", "--no-edit", decided)
    reverted = fleet.head()
    run_pass(fleet.folder, 180)

    code, out, _ = answer(fleet, capsys, "verify")

    assert (0, ["proven", "reverted", "proven"]) == (code, states(fleet, capsys)[-3:])
    assert "↶ reverted" in out
    assert "reverted by Ada <ada@example.com>: outputs as they were in" in out
    said = f"- Ada reverted outputs in {reverted[:12]}: default/shop is decided again, since what"
    assert said in fleet.git("log", "-1", "--format=%b")


def test_one_file_besides_makes_a_revert_tampering(fleet: Checkout, capsys: Capsys) -> None:
    """What stands there was never decided."""
    fleet.git("revert", "--no-edit", "HEAD")
    amend(fleet, {SHOP: read(fleet, SHOP).replace("member1", "member2")})

    answer(fleet, capsys, "verify")

    assert "tampered" == states(fleet, capsys)[-1]


def pulled(fleet: Checkout, folder: Path) -> Checkout:
    """Return the clone of somebody who wrote a note and pulled two passes without a rebase."""
    git(fleet.folder, "clone", "--quiet", ".", str(folder))
    theirs = Checkout(folder)
    theirs.commit({"docs/note.txt": "text"}, "Write a note")
    for seconds, files in ((180, HEALED), (240, SCALED_AGAIN)):
        fleet.commit(files, "Edit")
        run_pass(fleet.folder, seconds)
    theirs.git("pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    return theirs


def test_passes_that_a_person_merged_are_proven(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """They stand on the side of the second parent, where `git pull` puts them."""
    theirs = pulled(fleet, tmp_path / "theirs")
    scaled = theirs.commit(SCALED, "Scale the shop")
    run_pass(theirs.folder, 300)

    code, out, _ = answer(theirs, capsys, "verify", "-v")

    expected = ["input", "proven", "input", "proven", "input", "input", "proven"]
    assert (0, expected) == (code, states(theirs, capsys)[-7:])
    assert "6 of 6 decision commits verified, 7 human commits\n" in out
    body = theirs.git("log", "-1", "--format=%b").splitlines()
    caused = [line for line in body if line.startswith("Caused-By: ")]
    assert [f"Caused-By: {scaled} default/shop (Ada)"] == caused


def test_decisions_that_a_person_merged_are_the_passes(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """Nobody has edited an output, and each decision keeps its commit and its cause."""
    theirs = pulled(fleet, tmp_path / "theirs")

    for verb in ("history", "why", "blame"):
        expected, found = (answer(one, capsys, verb, "deployment/shop") for one in (fleet, theirs))
        assert expected == found
    assert "OutputEdited" not in answer(theirs, capsys, "events")[1]


def test_a_pass_that_was_changed_before_the_merge_is_found(fleet: Checkout, capsys: Capsys) -> None:
    """It stands on the line that the outputs came along."""
    fleet.commit(HEALED, "Edit")
    run_pass(fleet.folder, 180)
    amend(fleet, {SHOP: read(fleet, SHOP).replace("name: backup1", "name: member2")})
    fleet.git("branch", "theirs")
    fleet.git("reset", "--quiet", "--hard", "HEAD~2")
    fleet.commit({"docs/note.txt": "text"}, "Write a note")
    fleet.git("merge", "--quiet", "--no-edit", "theirs")

    code, _, _ = answer(fleet, capsys, "verify")

    assert (1, ["proven", "input", "different", "input"]) == (code, states(fleet, capsys)[-4:])


def test_a_merge_that_edits_an_output_is_tampering(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """Neither line has it so."""
    theirs = pulled(fleet, tmp_path / "theirs")
    amend(theirs, {SHOP: read(theirs, SHOP).replace("name: backup1", "name: member2")})

    code, _, _ = answer(theirs, capsys, "verify")

    assert (1, "tampered") == (code, states(theirs, capsys)[-1])


def test_a_merge_that_drops_passes_is_tampering(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """Passes of the first line are undone by who takes the outputs of the other."""
    theirs = pulled(fleet, tmp_path / "theirs")
    theirs.git("reset", "--quiet", "--hard", "HEAD^1")
    theirs.commit(SCALED_AGAIN, "Edit")
    run_pass(theirs.folder, 300)
    theirs.git("merge", "--quiet", "--no-edit", "--strategy-option=theirs", "origin/main")

    code, _, _ = answer(theirs, capsys, "verify")

    assert (1, "tampered") == (code, states(theirs, capsys)[-1])


def test_the_served_branch_is_none_of_deliveries(fleet: Checkout, capsys: Capsys) -> None:
    """Whoever names it for deliveries is told that nothing is delivered to it."""
    delivering_to_itself = configuration(delivery={"folders": {"branch": "main"}})
    fleet.commit({"reconciler.yaml": text(delivering_to_itself)}, "Deliver to main")

    code, out, _ = answer(fleet, capsys, "verify")

    assert 1 == code
    assert "main: its head names no decision commit, so nothing was delivered to it\n" in out
    assert "differ from" not in out


def forged(source: str, at: str) -> str:
    """Return a message with our trailers."""
    trailers = (
        f"Reconciled-From: {source}\nReconciled-At: {at}\n"
        f"Reconciled-Rules: {RULES}\nReconciler-Version: 0.1.0\n"
    )
    return f"Place default/shop on member2(5)\n\n{trailers}"


def test_forged_trailers_are_found(fleet: Checkout, capsys: Capsys) -> None:
    """Of a commit that is not ours, by what it names and by what it holds."""
    head = fleet.head()
    stranger, older = "0123456789" * 4, fleet.git("rev-parse", "HEAD~2")
    for source, at, state, reason in (
        (stranger, "2026-11-20T12:10:00Z", "forged", "is no ancestor of it"),
        (older, "2026-11-20T12:10:00Z", "forged", "is older than the commit before it"),
        (head, "2026-11-20T12:02:00Z", "forged", "not later than the pass before"),
        (head, "9999-12-31T23:59:59Z", "forged", "is of the year 9999"),
        (head, "yesterday", "forged", "not each of our three trailers"),
        (head, "2026-11-20T12:10:00Z", "different", "a pass would write it"),
    ):
        fleet.git("reset", "--quiet", "--hard", head)
        edited = read(fleet, SHOP).replace("backup1", "member2")
        fleet.commit({SHOP: edited}, forged(source, at))

        assert state == states(fleet, capsys)[-1]
        assert reason in answer(fleet, capsys, "verify", "HEAD~1..HEAD")[1]


def test_an_empty_commit_with_our_trailers_is_forged(fleet: Checkout, capsys: Capsys) -> None:
    """A pass that changes nothing commits nothing."""
    fleet.commit({}, forged(fleet.head(), "2026-11-20T12:10:00Z"))

    assert "forged" == states(fleet, capsys)[-1]


def test_a_merge_with_our_trailers_is_forged(fleet: Checkout, capsys: Capsys) -> None:
    """A pass has one parent."""
    fleet.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    fleet.commit({"notes.txt": "x"})
    fleet.git("checkout", "--quiet", "main")
    message = forged(fleet.head(), "2026-11-20T12:10:00Z")
    fleet.git("merge", "--quiet", "--no-ff", "-m", message, "side")

    assert "forged" == states(fleet, capsys)[-1]


def test_another_version_is_not_accused(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another version decided otherwise this is said; where it decided the same, proven."""
    with monkeypatch.context() as patch:
        for module in ("core.reconcile", "shell.passes.pass_report"):
            patch.setattr(f"reconciler.{module}.__version__", "0.0.9")
        fleet = told_afresh(tmp_path / "fleet")

    assert ["input", "proven"] * 3 == states(fleet, capsys)

    amend(fleet, {SHOP: read(fleet, SHOP).replace("name: backup1", "name: member2")})
    code, out, _ = answer(fleet, capsys, "verify")

    assert 0 == code
    assert "? other version" in out
    assert "written by version 0.0.9, which decided otherwise than 0.1.0" in out


def by_rules(fleet: Checkout, rules: int, *revisions: str) -> None:
    """Let the newest passes name other rules."""
    for revision in revisions:
        message = fleet.git("log", "-1", "--format=%B", revision)
        said = re.sub(r"Reconciled-Rules: \d+", f"Reconciled-Rules: {rules}", message)
        assert message != said
        fleet.git("commit", "--quiet", "--amend", "--message", said)


@pytest.mark.parametrize("rules", [1, RULES + 1])
def test_a_pass_by_other_rules_is_told_apart(tmp_path: Path, capsys: Capsys, rules: int) -> None:
    """Older and newer rules are not recomputed: such a pass is neither proven nor accused."""
    fleet = decided_fleet(tmp_path / "fleet")
    by_rules(fleet, rules, "HEAD")
    code, out, _ = answer(fleet, capsys, "verify")

    assert 0 == code
    assert "? other rules" in out
    assert f"made by rules {rules}, which this version does not recompute" in out
    assert "0 of 1 decision commit verified, 1 other rules" in out


@pytest.mark.parametrize("span", ["HEAD", "HEAD~1..HEAD"])
def test_older_rules_after_newer_ones_are_forged(
    fleet: Checkout, capsys: Capsys, span: str
) -> None:
    """Else whoever names old rules could write anything."""
    by_rules(fleet, RULES - 1, "HEAD")
    code, out, _ = answer(fleet, capsys, "verify", span)

    assert 1 == code
    assert f"made by rules {RULES - 1} after a pass by rules {RULES}" in out


def test_ranges(fleet: Checkout, capsys: Capsys) -> None:
    """A..B leaves out what leads to A; an empty range says so."""
    assert ["input", "proven"] == states(fleet, capsys, "HEAD~2..HEAD")
    assert ["input", "proven"] == states(fleet, capsys, "HEAD~4")
    assert (0, "no commit in this range\n", "") == answer(fleet, capsys, "verify", "HEAD..HEAD")


def test_an_unknown_revision_is_told_in_one_line(fleet: Checkout, capsys: Capsys) -> None:
    """Usage, with the branches that there are."""
    for span in ("nowhere", "--all", "HEAD~99..HEAD", "a\nb"):
        code, out, err = answer(fleet, capsys, "verify", "--", span)

        assert (2, "") == (code, out)
        assert "there is no revision" in err
        assert 1 == err.count("\n")


def test_three_dots_are_no_range(fleet: Checkout, capsys: Capsys) -> None:
    """What git means by them is another question; the range that may be meant is offered."""
    code, out, err = answer(fleet, capsys, "verify", "HEAD~2...main")

    assert (2, "", 1) == (code, out, err.count("\n"))
    assert '"HEAD~2...main" has three dots; name a range with two: "HEAD~2..main"' in err


def test_a_shallow_clone_is_told_in_one_line(fleet: Checkout, tmp_path: Path) -> None:
    """Up to its end it can be proven, beyond it nothing can."""
    git(tmp_path, "clone", "--quiet", "--depth=3", f"file://{fleet.folder}", "shallow")

    whole = reconciler(tmp_path / "shallow", "verify")
    part = reconciler(tmp_path / "shallow", "verify", "HEAD~2..HEAD")

    assert 1 == whole.code
    assert "this clone is shallow" in whole.stderr
    assert 1 == whole.stderr.count("\n")
    assert (0, "1 of 1 decision commit verified, 1 human commit\n") == (part.code, part.stdout)


def test_two_roots_of_one_repository_are_proven_apart(tmp_path: Path, capsys: Capsys) -> None:
    """With -C the root is a folder; the passes of the other root are none of its business."""
    top = new_fleet(tmp_path / "top", {f"prod/{path}": EXAMPLE[path] for path in MANIFESTS})
    top.commit({"reconciler.yaml": text(configuration(exclude=["prod/**"]))}, "Two roots")
    for number, folder in enumerate((top.folder, top.folder / "prod")):
        run_pass(folder, number)

        assert 0 == run(["-C", str(folder), "verify"])
        assert "1 of 1 decision commit verified" in capsys.readouterr().out
    assert ["input", "input", "proven", "input"] == states(top, capsys)


def test_a_pass_over_a_faulty_file_is_proven(fleet: Checkout, capsys: Capsys) -> None:
    """Its last good version is read from where the pass read it."""
    fleet.commit({"workloads/shop.yaml": "kind: [\n"}, "Break it")
    run_pass(fleet.folder, 200)

    assert ["input", "proven"] == states(fleet, capsys)[-2:]


@pytest.fixture
def delivering_fleet(tmp_path: Path) -> Checkout:
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
    code = trust_answer(fleet, "verify", *arguments, "-o", "json")
    commits = json.loads(capsys.readouterr().out)["commits"]
    found = {c["commit"]: [f["message"] for f in c["findings"]] for c in commits if c["findings"]}
    assert (1 if found else 0) == code
    return found


def test_a_delivery_on_the_served_branch_is_forged(
    delivering_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the name of the branch, too: it is no pass of any."""
    _, _, options = keys(tmp_path, trusted=delivering_fleet.head())
    at = first_pass(delivering_fleet, *options)
    delivering_fleet.git("branch", "--force", "fleet", "main")
    assert 1 == trust_answer(delivering_fleet, *at, "2026-11-20T12:00:30Z")
    delivery = delivering_fleet.git("rev-parse", "fleet")
    delivering_fleet.git("reset", "--quiet", "--hard", "fleet")

    plain = findings(delivering_fleet, capsys)
    named = findings(delivering_fleet, capsys, "--branch", "main")

    assert [[delivery], [delivery]] == [[*plain], [*named]]
    assert "it was signed for delivery on fleet, not for main" == named[delivery][0]


def test_a_fresh_clone_holds_the_fetched_branch_against_its_decision(
    delivering_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody makes a branch of their own of it before they ask."""
    run_pass(delivering_fleet.folder, 0)
    git(tmp_path, "clone", "--quiet", f"file://{delivering_fleet.folder}", "proven")
    whole, said, _ = answer(Checkout(tmp_path / "proven"), capsys, "verify")
    delivering_fleet.git("checkout", "--quiet", "fleet")
    path = delivering_fleet.git("grep", "-l", "replicas: ").splitlines()[0].removeprefix("fleet:")
    edited = re.sub(r"replicas: \d+", "replicas: 99", read(delivering_fleet, path))
    delivering_fleet.commit({path: edited}, "Give it more")
    delivering_fleet.git("checkout", "--quiet", "main")
    git(tmp_path, "clone", "--quiet", f"file://{delivering_fleet.folder}", "tampered")

    code, out, _ = answer(Checkout(tmp_path / "tampered"), capsys, "verify")

    assert whole == 0
    assert re.search(r"^origin/fleet: \d+ files match ", said, re.MULTILINE), said
    assert code == 1
    assert "origin/fleet: its head names no decision commit" in out


def test_decisions_are_held_against_the_branch(
    delivering_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same history is in its place on one branch, and a finding on another."""
    _, _, options = keys(tmp_path, trusted=delivering_fleet.head())
    first_pass(delivering_fleet, *options)
    head = delivering_fleet.head()

    assert {} == findings(delivering_fleet, capsys, "--branch", "main")
    said = "it was signed for decisions on main, not for staging"
    assert {head: [said]} == findings(delivering_fleet, capsys, "--branch", "staging")


def test_what_the_key_of_passes_signs_must_say_what_for(
    delivering_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Signatures tell which key that is; a person's commit says nothing and is none of it."""
    ada, robot, options = keys(tmp_path, trusted=delivering_fleet.head())
    first_pass(delivering_fleet, *options)
    start = delivering_fleet.head()
    commit_signed(delivering_fleet, ada, {"notes.txt": "n\n"})
    unsaid = commit_signed(delivering_fleet, robot, {"notes.txt": "m\n"})
    import_ = signed(
        delivering_fleet, robot, "Import\n\nReconciled-For: reports main", "feedback/x.txt"
    )
    no_pass = signed(
        delivering_fleet, robot, "Do it\n\nReconciled-For: decisions main", "feedback/y.txt"
    )

    plain = findings(delivering_fleet, capsys, f"{start}~1..HEAD", "--branch", "main")
    found = findings(delivering_fleet, capsys, f"{start}~1..HEAD", "--signatures", *options[2:4])

    said = "it was signed for decisions on main, and is no pass"
    assert {no_pass: [said]} == plain
    reports = "it was signed for reports on main, where only decisions count"
    assert {unsaid: [UNSAID], import_: [reports], no_pass: [said]} == found


def test_status_lists_a_commit_that_is_out_of_its_place(
    delivering_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has all that a pass has, and waits all the same."""
    _, robot, options = keys(tmp_path, trusted=delivering_fleet.head())
    at = first_pass(delivering_fleet, *options)
    text = delivering_fleet.git("log", "-1", "--format=%B").replace(
        "decisions main", "decisions staging"
    )
    moved = signed(delivering_fleet, robot, text, "status/x.yaml")
    assert 1 == trust_answer(delivering_fleet, *at, "2026-11-20T12:00:30Z")
    capsys.readouterr()

    assert 0 == trust_answer(delivering_fleet, "status", "-o", "json")

    listed = json.loads(capsys.readouterr().out)["unaccepted"]
    assert [moved] == [one["commit"] for one in listed]


NOTE = f"made by rules 1, computed again by rules {RULES}"


def older_fleet(folder: Path, case: Case, old: str, new: str, *, trailer: str = "") -> Checkout:
    """A fleet whose only pass is by rules 1, which wrote something else into one output."""
    fleet = decided_fleet(folder)
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
