"""Reports of clusters on a branch of their own: a part of the input, named and proven."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configuration, text
from tests.cli.history import SHOP
from tests.shell.fleet import EXAMPLE, eventually, new_fleet, running
from tests.shell.repositories import Checkout, git, new_bare

SETTINGS = {
    "reconciler.yaml": text(configuration(feedback={"branch": "reports", "assumeAfterSeconds": 1}))
}
REPORT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: default
  generation: 1
status:
  observedGeneration: 1
  replicas: 2
  readyReplicas: {ready}
  updatedReplicas: 2
  availableReplicas: {ready}
"""
PLACE = "feedback/member1/shop.yaml"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, whose clusters report on the branch `reports`; one pass saw a report."""
    fleet = new_fleet(tmp_path / "fleet", SETTINGS)
    fleet.git("checkout", "-q", "--orphan", "reports")
    fleet.git("rm", "-r", "-q", "--cached", ".")
    fleet.git("clean", "-q", "-f", "-d", "-x")
    fleet.commit({PLACE: REPORT.format(ready=1)}, "Report")
    fleet.git("checkout", "-q", "main")
    reconcile(fleet, 0)
    return fleet


def reported(fleet: Checkout, content: str) -> str:
    """Commit another report, and return the commit."""
    fleet.git("checkout", "-q", "reports")
    commit = fleet.commit({PLACE: content}, "Report")
    fleet.git("checkout", "-q", "main")
    return commit


def answer(fleet: Checkout, *arguments: str) -> int:
    """Run a verb and return its exit code."""
    return run(["-C", str(fleet.folder), "--cache-dir", "off", *arguments])


def reconcile(fleet: Checkout, minute: int) -> int:
    """Run a pass at so many minutes after noon."""
    return answer(fleet, "reconcile", "--now", f"2026-11-20T12:{minute:02}:00Z")


def trailer(fleet: Checkout) -> str:
    """What the last commit names as its reports."""
    told = "--format=%(trailers:key=Reconciled-Feedback,valueonly)"
    return fleet.git("log", "-1", told).strip()


def test_a_report_of_the_branch_is_taken(fleet: Checkout) -> None:
    """It stands in the aggregated status as one of the served branch would."""
    told = (fleet.folder / SHOP).read_text()

    assert "readyReplicas: 1" in told
    assert not (fleet.folder / "feedback").exists()


def test_the_commit_of_the_reports_is_named(fleet: Checkout) -> None:
    """In the record of the pass and in a trailer."""
    reports = fleet.git("rev-parse", "reports")

    assert reports == trailer(fleet)
    record = (fleet.folder / "status/reconciler.yaml").read_text()
    assert "feedbackRevision: " in record
    assert reports in record


def test_a_new_report_is_enough_for_a_pass(fleet: Checkout) -> None:
    """Though nothing changed on the served branch."""
    commit = reported(fleet, REPORT.format(ready=2))
    reconcile(fleet, 5)

    assert commit == trailer(fleet)
    assert "readyReplicas: 2" in (fleet.folder / SHOP).read_text()


def test_reports_of_the_served_branch_are_not_read(fleet: Checkout) -> None:
    """There is one place for them."""
    reconcile(fleet, 5)
    fleet.commit({PLACE: REPORT.format(ready=0)}, "Report elsewhere")
    settled = fleet.head()
    reconcile(fleet, 10)

    assert settled == fleet.head()


def test_passes_are_proven_by_the_reports_that_they_name(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever became of the branch since."""
    reported(fleet, REPORT.format(ready=2))
    reconcile(fleet, 5)
    reported(fleet, REPORT.format(ready=0))
    capsys.readouterr()

    assert 0 == answer(fleet, "verify")
    assert "2 of 2 decision commits verified, 1 human commit\n" == capsys.readouterr().out


def test_a_forged_name_of_reports_is_found(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same pass over other reports writes something else."""
    other = reported(fleet, REPORT.format(ready=2))
    message = fleet.git("log", "-1", "--format=%B").replace(trailer(fleet), other)
    fleet.git("commit", "-q", "--amend", "-m", message)

    assert 1 == answer(fleet, "verify")
    assert "different" in capsys.readouterr().out


def test_questions_take_the_reports_of_the_last_pass(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was decided is told by what it was decided from; a plan takes the newest."""
    reconcile(fleet, 5)
    reported(fleet, REPORT.format(ready=2))
    capsys.readouterr()

    assert 0 == answer(fleet, "tree", "deployment/shop")
    assert 0 == answer(fleet, "history", "deployment/shop")
    assert 0 == answer(fleet, "plan")


def test_a_report_that_cannot_be_read_leaves_the_last_good_one(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a fault like any other, with its file and line."""
    reported(fleet, "apiVersion: apps/v1\nkind: [\n")
    capsys.readouterr()

    assert 1 == reconcile(fleet, 5)
    assert f"{PLACE}:" in capsys.readouterr().err
    assert "readyReplicas: 1" in (fleet.folder / SHOP).read_text()
    assert 0 == answer(fleet, "verify")


def test_a_branch_that_is_not_there_reports_nothing(tmp_path: Path) -> None:
    """Decisions do not wait for it, nor for a name that git does not take."""
    for name in ("reports", "a.lock"):
        feedback = {"branch": name, "assumeAfterSeconds": 1}
        fleet = new_fleet(
            tmp_path / name, {"reconciler.yaml": text(configuration(feedback=feedback))}
        )

        assert (0, "") == (reconcile(fleet, 0), trailer(fleet))


def test_the_daemon_follows_the_branch_of_a_remote(tmp_path: Path) -> None:
    """A report that is pushed there is seen at the next look."""
    remote = new_bare(tmp_path / "remote", {**EXAMPLE, **SETTINGS})
    options = [
        "--remote", f"file://{remote}", "--mirror", str(tmp_path / "mirror"),
        "--poll-seconds", "0.1",
    ]  # fmt: skip
    git(remote, "clone", "--quiet", str(remote), str(tmp_path / "person"))
    person = Checkout(tmp_path / "person")
    with running(tmp_path, *options):
        eventually(lambda: "status/" in git(remote, "ls-tree", "-r", "--name-only", "main"))
        person.git("checkout", "-q", "--orphan", "reports")
        person.git("rm", "-r", "-q", "--cached", ".")
        person.commit({PLACE: REPORT.format(ready=1)}, "Report")
        person.git("push", "-q", "origin", "reports")
        eventually(lambda: "readyReplicas: 1" in git(remote, "show", f"main:{SHOP}"))
