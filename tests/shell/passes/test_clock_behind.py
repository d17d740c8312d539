"""Passes whose clock is not later than the last pass: short gaps are waited for, long ones held."""

from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.shell.passes.one_pass import ClockBehind
from tests.shell.fleet import EXAMPLE, Clock, load_world, new_fleet, new_passes, passed_at, run_pass
from tests.shell.repositories import NOW, Checkout

SCALED = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 5")


def fleet_with_work(folder: Path) -> Checkout:
    """Make a fleet that was passed at `NOW` and has something to decide since."""
    fleet = new_fleet(folder)
    run_pass(fleet.folder, 0)
    fleet.commit({"workloads/shop.yaml": SCALED})
    return fleet


@pytest.mark.parametrize("behind", [0, 3, 5])
def test_a_few_seconds_are_waited_for(tmp_path: Path, behind: int) -> None:
    """The pass is one second after the last one, whatever the clock said."""
    fleet = fleet_with_work(tmp_path / "fleet")
    clock = Clock(NOW - timedelta(seconds=behind))

    report = new_passes(fleet.folder, clock).run()

    assert NOW < report.now
    assert report.commit == fleet.head()
    assert behind <= sum(clock.waits) <= behind + 1.1


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        pytest.param(120, "until the clock has caught up", id="two-minutes"),
        pytest.param(300, "until the clock has caught up", id="five-minutes"),
        pytest.param(3600, "restore `lastPassAt`", id="an-hour"),
        pytest.param(400_000_000, "restore `lastPassAt`", id="years"),
    ],
)
def test_a_clock_far_behind_holds(tmp_path: Path, behind: int, said: str) -> None:
    """Nothing is committed, nothing is waited for, and the message says who must act."""
    fleet = fleet_with_work(tmp_path / "fleet")
    head = fleet.head()
    clock = Clock(NOW - timedelta(seconds=behind))

    with pytest.raises(ClockBehind, match=said):
        new_passes(fleet.folder, clock).run()

    assert head == fleet.head()
    assert [] == clock.waits


def test_a_person_can_restore_the_moment_of_the_last_pass(tmp_path: Path) -> None:
    """A pass by a clock that was ahead is undone by an edit of its record."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 86_400)
    record = fleet.folder / "status" / "reconciler.yaml"
    text = record.read_text()
    fleet.commit(
        {
            "status/reconciler.yaml": text.replace("2026-11-21T12:00:00Z", "2026-11-20T11:00:00Z"),
            "workloads/shop.yaml": SCALED,
        }
    )

    report = run_pass(fleet.folder, 0)

    assert report.commit is not None
    assert NOW == passed_at(load_world(fleet.folder))


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "soon", "12"])
def test_a_strange_moment_in_the_record_is_no_crash(tmp_path: Path, moment: str) -> None:
    """It is held, reported or overcome; never a traceback.

    A record that cannot be read holds everything: what faulty files held last is not known.
    """
    fleet = fleet_with_work(tmp_path / "fleet")
    record = fleet.folder / "status" / "reconciler.yaml"
    text = record.read_text()
    fleet.commit({"status/reconciler.yaml": text.replace("2026-11-20T12:00:00Z", moment)})

    if moment.startswith("9999"):
        with pytest.raises(ClockBehind, match="restore"):
            run_pass(fleet.folder, 5)
        return
    report = run_pass(fleet.folder, 5)

    if moment.startswith("0001"):
        assert report.commit is not None
    else:
        assert report.commit is None
        assert ["status/reconciler.yaml"] == [fault.path for fault in report.outcome.faults]


@pytest.mark.parametrize("name", ["reconciler.yaml", "faults.yaml"])
def test_a_half_written_record_is_no_crash(tmp_path: Path, name: str) -> None:
    """Cut anywhere, what a pass remembers is read, reported or written anew."""
    fleet = new_fleet(tmp_path / "fleet", {"workloads/bad.yaml": "apiVersion: [\n"})
    run_pass(fleet.folder, 0)
    record = fleet.folder / "status" / name
    text = record.read_text()
    for number, end in enumerate(range(0, len(text), 40)):
        fleet.commit({f"status/{name}": text[:end]})

        run_pass(fleet.folder, 10 + number)
