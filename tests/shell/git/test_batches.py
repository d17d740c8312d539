"""Readers of many objects: one answer for each question, whatever stands between them."""

from pathlib import Path

import pytest

from reconciler.manifests.text.raw import MAX_READ_BYTES
from reconciler.shell.git.history import read_commits
from reconciler.shell.git.repository import Repository
from tests.cli.history import answer
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout, git, new_checkout

HUGE = "x" * (MAX_READ_BYTES + 1)
Capsys = pytest.CaptureFixture[str]


def with_huge(checkout: Checkout, files: dict[str, str]) -> str:
    """Commit with a message above the limit of what is read; return the id."""
    checkout.write(files)
    checkout.git("add", "--all")
    git(checkout.folder, "commit", "--quiet", "--file=-", stdin=HUGE.encode())
    return checkout.head()


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_commit_with_a_huge_message_has_its_own_answer(tmp_path: Path, position: int) -> None:
    """Those behind it keep theirs."""
    checkout = new_checkout(tmp_path / "repo", {"a": "0"})
    for number in range(3):
        if number == position:
            huge = with_huge(checkout, {"a": str(number + 1)})
        else:
            checkout.commit({"a": str(number + 1)}, f"Change {number}")
    repository = Repository.open(checkout.folder)
    asked = checkout.git("rev-list", "HEAD").split()
    found = list(read_commits(repository, asked))

    assert asked == [one.revision for one in found]
    assert [huge] == [one.revision for one in found if one.unread]
    told = next(one for one in found if one.unread)
    assert "(a message of 16 MB, which is not read)" == told.subject
    assert "Ada <ada@example.com>" == str(told.author)


def test_history_names_the_right_person_behind_a_huge_message(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Whoever scaled the shop is told, not whoever committed beside."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    with_huge(fleet, {"notes.txt": "x"})
    text = (fleet.folder / "workloads/shop.yaml").read_text()
    fleet.commit({"workloads/shop.yaml": text.replace("replicas: 2", "replicas: 4")}, "Scale it")
    run_pass(fleet.folder, 60)
    with_huge(fleet, {"notes.txt": "y"})
    fleet.commit({"notes.txt": "z"}, "Note")

    assert "Ada: Scale it" in answer(fleet, capsys, "why", "deployment/shop")[1]
    assert "Ada: Start" in answer(fleet, capsys, "blame", "deployment/shop")[1]
