"""Another bot that undoes what passes write is not fought for ever."""

from dataclasses import replace
from pathlib import Path

from structlog.testing import capture_logs

from reconciler.core.changes import Outcome
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import summary_of
from reconciler.shell.reports.metrics import Metrics
from tests.cli.history import SCALED, SHOP
from tests.shell.daemon.test_daemon import Steps
from tests.shell.fleet import Clock, new_fleet, new_passes
from tests.shell.repositories import NOW, Checkout


def undo(fleet: Checkout) -> None:
    """Take a binding away, as a bot does that wants it gone."""
    fleet.git("rm", "-q", SHOP)
    fleet.git("commit", "-q", "-m", "Not here")


def fought(tmp_path: Path, rounds: int) -> tuple[Checkout, Passes, Clock]:
    """A fleet whose shop was placed and taken away again so many times, a minute each."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    settle(passes, clock)
    for _ in range(rounds):
        undo(fleet)
        settle(passes, clock)
    return fleet, passes, clock


def settle(passes: Passes, clock: Clock) -> None:
    """Run passes until one commits nothing, then let a minute go by."""
    while passes.run().commit is not None:
        clock.pause(2)
    clock.pause(60)


def test_what_is_undone_a_few_times_is_written_again(tmp_path: Path) -> None:
    """A person may revert more than once."""
    fleet, _, _ = fought(tmp_path, 3)

    assert (fleet.folder / SHOP).is_file()


def test_what_is_undone_again_and_again_waits_for_an_hour(tmp_path: Path) -> None:
    """The report names the file and the moment; then it is tried once more."""
    fleet, passes, clock = fought(tmp_path, 4)
    undo(fleet)
    report = passes.run()

    assert report.commit is None
    assert report.contested is not None
    assert SHOP in report.contested.paths
    clock.moment = report.contested.until
    assert passes.run().commit is not None
    assert (fleet.folder / SHOP).is_file()


def test_the_daemon_tells_of_a_fight_once_and_tries_again_after_it(tmp_path: Path) -> None:
    """In the log and in a metric, with the moment at which it goes on."""
    fleet, passes, clock = fought(tmp_path, 4)
    undo(fleet)
    metrics = Metrics(lambda _: NOW)
    contested = []

    def count() -> None:
        contested.append(metrics.registry.get_sample_value("reconciler_contested_files"))

    def look() -> None:
        fleet.commit({"a.txt": str(len(contested))})

    def wait() -> None:
        clock.pause(3600)

    wakeups = Steps(iter([lambda: None, count, look, wait, count]))
    with capture_logs() as logs:
        Daemon(passes=passes, wakeups=wakeups, poll_seconds=9999, observers=(metrics,)).run()

    (told,) = [entry for entry in logs if entry["event"].startswith("others undo")]
    assert SHOP in told["files"]
    assert [told["count"], 0] == contested
    assert (fleet.folder / SHOP).is_file()


def test_the_end_of_a_fight_is_a_moment_to_look_again(tmp_path: Path) -> None:
    """Though nothing else is due."""
    fleet, passes, _ = fought(tmp_path, 4)
    undo(fleet)
    report = replace(passes.run(), outcome=Outcome())

    assert report.contested is not None
    assert report.contested.until == summary_of(report).due_at


def test_other_decisions_do_not_wait(tmp_path: Path) -> None:
    """They are committed, and what is fought over with them."""
    fleet, passes, _ = fought(tmp_path, 4)
    undo(fleet)
    other = {path: text.replace("name: shop", "name: other") for path, text in SCALED.items()}
    policy = (fleet.folder / "policies/shop.yaml").read_text().replace("name: shop", "name: other")
    fleet.commit(
        {"workloads/other.yaml": next(iter(other.values())), "policies/other.yaml": policy},
        "Add another",
    )

    assert passes.run().commit is not None
    assert (fleet.folder / SHOP.replace("shop", "other")).is_file()


def test_what_passes_change_themselves_is_no_fight(tmp_path: Path) -> None:
    """A workload that people scale every minute is followed."""
    fleet, passes, clock = fought(tmp_path, 0)
    for replicas in range(3, 12):
        scaled = next(iter(SCALED.values())).replace("replicas: 5", f"replicas: {replicas}")
        fleet.commit({"workloads/shop.yaml": scaled}, "Scale")
        settle(passes, clock)

    assert "replicas: 11" in (fleet.folder / SHOP).read_text()
