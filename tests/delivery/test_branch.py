"""Delivery to another branch, here and at a remote, in one transaction with its decision."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configuration, text
from tests.cli.history import SCALED
from tests.shell.fleet import EXAMPLE, decided_fleet, eventually, new_fleet, run_pass, running
from tests.shell.repositories import Checkout, git, new_bare

FOLDERS = {"reconciler.yaml": text(configuration(delivery={"folders": {"branch": "fleet"}}))}
SHOP = "delivery/member1/default/deployments.apps/shop.yaml"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, delivered to another branch by one pass."""
    return decided_fleet(tmp_path / "fleet", FOLDERS)


def delivered(fleet: Checkout) -> list[str]:
    """The files on the other branch."""
    return fleet.git("ls-tree", "-r", "--name-only", "fleet").splitlines()


def test_files_of_clusters_stand_on_the_other_branch_only(fleet: Checkout) -> None:
    """The decision commit has none of them."""
    assert SHOP in delivered(fleet)
    assert not (fleet.folder / "delivery").exists()
    assert "status/delivery.yaml" not in fleet.git("ls-files").splitlines()


def test_the_commit_names_the_decision_that_it_follows(fleet: Checkout) -> None:
    """In a trailer."""
    told = fleet.git("log", "-1", "--format=%(trailers:key=Delivered-From,valueonly)", "fleet")

    assert fleet.head() == told.strip()


def test_a_branch_that_lags_catches_up_without_a_decision(fleet: Checkout) -> None:
    """As after a kill between the two."""
    run_pass(fleet.folder, 60)
    head, tree = fleet.head(), fleet.git("rev-parse", "fleet^{tree}")
    fleet.git("branch", "-D", "-q", "fleet")
    report = run_pass(fleet.folder, 120)

    assert (None, head) == (report.commit, fleet.head())
    assert tree == fleet.git("rev-parse", "fleet^{tree}")


def test_nothing_is_committed_where_nothing_changes(fleet: Checkout) -> None:
    """A later pass leaves the branch where it is."""
    run_pass(fleet.folder, 60)
    head = fleet.git("rev-parse", "fleet")
    report = run_pass(fleet.folder, 120)

    assert ((), head) == (report.beside, fleet.git("rev-parse", "fleet"))


def test_what_leaves_a_cluster_leaves_the_branch(fleet: Checkout) -> None:
    """As a change of the same branch, with its history."""
    scaled = EXAMPLE["policies/shop.yaml"].replace("- member1\n", "- member2\n")
    fleet.commit({"policies/shop.yaml": scaled}, "Move the shop")
    run_pass(fleet.folder, 60)

    assert SHOP not in delivered(fleet)
    assert SHOP.replace("member1", "member2") in delivered(fleet)
    assert "2" == fleet.git("rev-list", "--count", "fleet").strip()


def test_a_branch_with_files_of_others_waits_for_its_digest(tmp_path: Path) -> None:
    """Nothing is written beside them, and the report says what lets it go on."""
    fleet = new_fleet(tmp_path / "fleet", FOLDERS)
    fleet.git("checkout", "-q", "--orphan", "fleet")
    fleet.git("rm", "-r", "-q", "--cached", ".")
    (fleet.folder / "delivery").mkdir()
    (fleet.folder / "delivery/notes.yaml").write_text("note: 1\n")
    fleet.git("add", "-f", "delivery/notes.yaml")
    fleet.git("commit", "-q", "-m", "Notes")
    fleet.git("checkout", "-q", "-f", "main")
    report = run_pass(fleet.folder, 0)
    (told,) = report.beside

    assert (None, ["delivery-pruning-held"]) == (told.commit, [one.rule for one in told.faults])
    assert ["delivery/notes.yaml"] == delivered(fleet)


def test_the_served_branch_is_no_other_branch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said in one sentence; decisions are made all the same."""
    named = {"reconciler.yaml": text(configuration(delivery={"folders": {"branch": "main"}}))}
    fleet = new_fleet(tmp_path / "fleet", named)

    assert 1 == run(["-C", str(fleet.folder), "reconcile"])
    assert "delivery names the branch main, which is served" in capsys.readouterr().err


def test_a_remote_gets_both_branches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pushed one after the other, the decision first."""
    remote = new_bare(tmp_path / "remote", {**EXAMPLE, **FOLDERS})
    options = ["--remote", f"file://{remote}", "--mirror", str(tmp_path / "mirror")]

    assert 0 == run(["reconcile", *options])
    assert "on fleet" in capsys.readouterr().out
    assert SHOP in git(remote, "ls-tree", "-r", "--name-only", "fleet").splitlines()


def test_the_branch_is_proven_by_what_its_decision_asks_for(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a file that was forged there is found."""
    command = ["-C", str(fleet.folder), "--cache-dir", "off", "verify"]
    told = f"fleet: 18 files match {fleet.head()[:12]}"

    assert (0, True) == (run(command), told in capsys.readouterr().out)
    fleet.git("checkout", "-q", "fleet")
    forged = (fleet.folder / SHOP).read_text().replace("replicas: 2", "replicas: 7")
    (fleet.folder / SHOP).write_text(forged)
    fleet.git("commit", "-q", "-a", "--amend", "-C", "HEAD")
    fleet.git("checkout", "-q", "main")
    assert 1 == run(command)
    assert f"fleet:{SHOP}: is not what {fleet.head()[:12]} asks for" in capsys.readouterr().out


def test_the_daemon_delivers_and_says_so(tmp_path: Path) -> None:
    """Each commit on the other branch is in the log."""
    fleet = new_fleet(tmp_path / "fleet", FOLDERS)
    log = tmp_path / "log"
    with running(fleet.folder, log=log):
        eventually(lambda: b"delivered" in log.read_bytes(), "the delivery")

    assert SHOP in delivered(fleet)
    assert b"fleet" in log.read_bytes()


HOOK = """\
#!/bin/sh
while read old new ref; do echo "$ref" >> "$GIT_DIR/pushed"; done
echo end >> "$GIT_DIR/pushed"
"""
NO_FLEET = """\
#!/bin/sh
while read old new ref; do test "$ref" != refs/heads/fleet || exit 1; done
"""


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A remote with the example, delivered to the branch `fleet`; it lists each push."""
    remote = new_bare(tmp_path / "remote", {**EXAMPLE, **FOLDERS})
    hook(remote, HOOK)
    return remote


def hook(remote: Path, script: str) -> None:
    """Give a remote a hook that sees each push."""
    place = remote / "hooks/pre-receive"
    place.parent.mkdir(exist_ok=True)
    place.write_text(script)
    place.chmod(0o755)


def reconcile(remote: Path, minute: int, *more: str) -> int:
    """Run a pass at so many minutes after noon."""
    mirror = str(remote.with_name("mirror"))
    options = ["--remote", f"file://{remote}", "--mirror", mirror, *more]
    return run(["reconcile", *options, "--now", f"2026-11-20T12:{minute:02}:00Z"])


def pushes(remote: Path) -> list[list[str]]:
    """The branches of each push."""
    listed = (remote / "pushed").read_text().split("end\n")
    return [sorted(one.split()) for one in listed if one]


def files_on(remote: Path, branch: str) -> list[str]:
    """The files of a branch."""
    return git(remote, "ls-tree", "-r", "--name-only", branch).splitlines()


def test_both_branches_move_in_one_push(remote: Path) -> None:
    """No reader of the remote sees one without the other."""
    assert 0 == reconcile(remote, 0)
    assert [["refs/heads/fleet", "refs/heads/main"]] == pushes(remote)
    assert SHOP in files_on(remote, "fleet")


def test_the_branch_of_outputs_moves_with_them(remote: Path) -> None:
    """Where outputs have one of their own."""
    assert 0 == reconcile(remote, 0, "--output-branch", "outputs")
    assert [["refs/heads/fleet", "refs/heads/outputs"]] == pushes(remote)


def test_a_remote_without_transactions_gets_the_decision_first(remote: Path) -> None:
    """It is asked once, and then one branch is pushed after the other."""
    git(remote, "config", "receive.advertiseAtomic", "false")

    assert 0 == reconcile(remote, 0)
    assert [["refs/heads/main"], ["refs/heads/fleet"]] == pushes(remote)


def test_a_refused_branch_does_not_hold_the_decision(
    remote: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The branch catches up once it is let in, by a pass that decides nothing."""
    hook(remote, NO_FLEET)

    assert 1 == reconcile(remote, 0)
    assert "refused" in capsys.readouterr().err
    assert any(path.startswith("status/") for path in files_on(remote, "main"))
    hook(remote, HOOK)
    assert 0 == reconcile(remote, 1)
    assert SHOP in files_on(remote, "fleet")


def test_a_branch_that_moved_is_fetched_and_decided_for_again(remote: Path, tmp_path: Path) -> None:
    """What a person pushed there meanwhile is in its history."""
    assert 0 == reconcile(remote, 0)
    git(remote, "clone", "--quiet", str(remote), str(tmp_path / "person"))
    person = Checkout(tmp_path / "person")
    person.commit(SCALED, "Scale the shop")
    person.git("push", "-q", "origin", "main")
    person.git("checkout", "-q", "fleet")
    noted = person.commit({"README.md": "Delivered.\n"}, "Explain")
    person.git("push", "-q", "origin", "fleet")

    assert 0 == reconcile(remote, 1)
    assert noted in git(remote, "rev-list", "fleet").split()
    assert "replicas: 5" in git(remote, "show", f"fleet:{SHOP}")


def test_a_delivery_that_cannot_be_does_not_hold_the_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told after the decision was pushed."""
    named = {"reconciler.yaml": text(configuration(delivery={"folders": {"branch": "main"}}))}
    remote = new_bare(tmp_path / "remote", {**EXAMPLE, **named})

    assert 1 == reconcile(remote, 0)
    assert "delivery names the branch main" in capsys.readouterr().err
    assert any(path.startswith("status/") for path in files_on(remote, "main"))
