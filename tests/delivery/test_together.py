"""A decision and what it delivers elsewhere, pushed to a remote in one transaction."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configuration, text
from tests.cli.history import SCALED
from tests.delivery.test_branch import FOLDERS, SHOP
from tests.shell.fleet import EXAMPLE
from tests.shell.repositories import Checkout, git, new_bare

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
