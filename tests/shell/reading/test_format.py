"""Repositories of this format, of an older one, and of one that only later releases know."""

from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from reconciler.shell.reading.load import NewerFormat
from tests.shell.daemon.test_daemon import served
from tests.shell.fleet import ROOT, Clock, load_world, new_fleet, new_passes, run_pass
from tests.shell.repositories import NOW, Checkout, new_checkout

RECORD = "status/reconciler.yaml"
CONFIGURATION = "reconciler.yaml"
KNOWN, NEWER = "formatVersion: 1", "formatVersion: 2"
HEAD = "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"


def golden(folder: Path, name: str) -> Checkout:
    """A repository that a release left with nothing to do."""
    kept = ROOT / "tests/formats" / name
    files = [place for place in sorted(kept.rglob("*")) if place.is_file()]
    return new_checkout(folder, {str(one.relative_to(kept)): one.read_text() for one in files})


def newer(fleet: Checkout) -> None:
    """Let a later release have run its pass."""
    text = (fleet.folder / RECORD).read_text()
    assert KNOWN in text
    fleet.commit({RECORD: text.replace(KNOWN, NEWER)})


@pytest.mark.parametrize("name", ["1", "older"])
def test_a_repository_of_a_known_format_is_not_rewritten(tmp_path: Path, name: str) -> None:
    """There is nothing to do, so nothing is written, not even the number of the format."""
    fleet = golden(tmp_path / "fleet", name)

    report = run_pass(fleet.folder, 3600)

    assert ((), None) == (report.outcome.changes, report.commit)


def test_the_next_pass_over_an_older_format_writes_its_number(tmp_path: Path) -> None:
    """With whatever it has to write anyway; what stands there is read as it was meant."""
    fleet = golden(tmp_path / "fleet", "older")
    before = (fleet.folder / RECORD).read_text()
    shop = (fleet.folder / "workloads/shop.yaml").read_text()
    fleet.commit({"workloads/shop.yaml": shop.replace("replicas: 2", "replicas: 3")})

    report = run_pass(fleet.folder, 3600)

    assert (False, True) == (KNOWN in before, KNOWN in (fleet.folder / RECORD).read_text())
    assert ["default/shop"] == [one.subject for one in report.outcome.decisions]


def test_a_record_of_a_newer_format_holds_the_pass(tmp_path: Path) -> None:
    """What it means is not known, so nothing is decided from it, and nothing written over it."""
    fleet = golden(tmp_path / "fleet", "1")
    newer(fleet)
    before = fleet.head()

    with pytest.raises(NewerFormat, match=r"status/reconciler.yaml has formatVersion 2, and this"):
        run_pass(fleet.folder, 3600)

    assert before == fleet.head()


def test_a_record_of_another_api_holds_the_pass(tmp_path: Path) -> None:
    """Its fields may have other names."""
    fleet = golden(tmp_path / "fleet", "1")
    text = (fleet.folder / RECORD).read_text()
    fleet.commit({RECORD: text.replace("reconciler.dev/v1alpha1", "reconciler.dev/v9")})

    with pytest.raises(NewerFormat, match=r'has apiVersion "reconciler\.dev/v9"'):
        run_pass(fleet.folder, 3600)


def test_a_configuration_of_a_newer_format_holds_the_pass(tmp_path: Path) -> None:
    """Its settings may mean something else, though this release would take them for faults."""
    fleet = new_fleet(
        tmp_path / "fleet", {CONFIGURATION: f"{HEAD}{NEWER}\nmetadata: {{name: x}}\n"}
    )

    with pytest.raises(NewerFormat, match=r"reconciler.yaml has formatVersion 2"):
        load_world(fleet.folder)


@pytest.mark.parametrize(
    "text", ["formatVersion: 1", "formatVersion: x", "formatVersion: true", "status: 7", "kind: 3"]
)
def test_what_is_wrong_otherwise_is_a_fault_as_ever(tmp_path: Path, text: str) -> None:
    """The world is loaded."""
    body = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\nmetadata: {name: x}\n"
    )
    if text.startswith("kind"):
        body = body.replace("kind: ReconcilerConfiguration\n", "")
    fleet = new_fleet(tmp_path / "fleet", {CONFIGURATION: f"{body}{text}\n"})

    assert load_world(fleet.folder).revision == fleet.head()


def test_a_daemon_holds_before_a_newer_format(tmp_path: Path) -> None:
    """It stays up, tells why, and goes on when the format is one that it knows."""
    fleet = golden(tmp_path / "fleet", "1")
    clock = Clock(NOW + timedelta(hours=1))
    newer(fleet)
    shop = (fleet.folder / "workloads/shop.yaml").read_text()

    def back() -> None:
        fleet.git("revert", "--no-edit", "HEAD")
        fleet.commit({"workloads/shop.yaml": shop.replace("replicas: 2", "replicas: 3")})

    with capture_logs() as logs:
        served(fleet, clock, lambda: None, lambda: None, back, lambda: None)

    told = [str(entry.get("error")) for entry in logs if entry["event"].startswith("pass failed")]
    assert 2 == len(told)
    assert "upgrade the reconciler" in told[0]
    assert "pass committed" in [entry["event"] for entry in logs]
    assert new_passes(fleet.folder, clock).branch.head() == fleet.head()
