"""`reconciler verify`, on real histories."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.world import RULES
from tests.builders import configuration, text
from tests.cli.history import SHOP, answer, answer_json, told_fleet
from tests.shell.fleet import EXAMPLE, MANIFESTS, new_fleet, reconciler, run_pass
from tests.shell.repositories import Checkout, git

Capsys = pytest.CaptureFixture[str]


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
        fleet = told_fleet(tmp_path / "fleet")

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
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
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
