"""Edits of decisions under the name of the daemon: told apart from its passes, and warned of."""

from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.cli.hand_edits import ALL, Case, edited_fleet
from tests.cli.history import answer_json
from tests.shell.daemon.test_daemon import served
from tests.shell.fleet import DAEMON, Clock
from tests.shell.repositories import NOW, Checkout

Capsys = pytest.CaptureFixture[str]


def edits(fleet: Checkout, capsys: Capsys, word: str) -> list[str]:
    """Return what events say of edits by hand."""
    found = answer_json(fleet, capsys, ["events", word, "--warnings"])[1]["events"]
    return [event["message"] for event in found if event["reason"] == "OutputEdited"]


@pytest.mark.parametrize("case", ALL)
def test_an_edit_under_the_name_of_the_daemon_is_told_as_one(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """The commit has no trailers, so it is no pass, whatever its author."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("commit", "--quiet", "--amend", "--no-edit", f"--author={DAEMON}")

    [told] = edits(fleet, capsys, case.word)

    assert told.lower().endswith(
        f"edited by hand under the name of the reconciler, {DAEMON}: prefer another"
    )


@pytest.mark.parametrize("case", ALL)
def test_an_edit_put_into_the_commit_of_a_pass_is_told(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """`git commit --amend` keeps author and trailers; the digest beside the decision differs."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("reset", "--quiet", "--soft", "HEAD~1")
    fleet.git("commit", "--quiet", "--amend", "--no-edit")

    [told] = edits(fleet, capsys, case.word)

    assert f"dited by hand under the name of the reconciler, {DAEMON}: Place 5 workloads" in told


@pytest.mark.parametrize("author", [str(DAEMON), "Ada <ada@example.com>"])
@pytest.mark.parametrize("case", ALL)
def test_the_daemon_logs_who_edited_under_its_name(tmp_path: Path, case: Case, author: str) -> None:
    """A person's own edit is a demand, and is told as the cause of a decision."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("commit", "--quiet", "--amend", "--no-edit", f"--author={author}")

    with capture_logs() as logs:
        served(fleet, Clock(NOW + timedelta(seconds=60)), lambda: None)

    warned = [entry for entry in logs if "under the name of the reconciler" in entry["event"]]
    assert [author] * (author == str(DAEMON)) == [entry["author"] for entry in warned]
