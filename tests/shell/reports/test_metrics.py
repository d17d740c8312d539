"""Metrics: what passes of a real repository count as, and that nothing in them is unbounded."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from reconciler.audit.fleet.problems import ProblemKind
from reconciler.model.decision import CauseKind
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.history import read_commit
from reconciler.shell.passes.pass_report import REBALANCER_STATES
from reconciler.shell.reports.metrics import Metrics
from reconciler.staging.staged_delivery import RunState
from tests.builders import rebalancer, text
from tests.cli.history import SCALED
from tests.cli.test_moves_made_first import ready
from tests.core.test_make_before_break import ALL
from tests.core.test_staged_deliveries import version
from tests.delivery.story import files_of
from tests.delivery.test_staged_story import StagedFleet
from tests.shell.daemon.test_serve_branch import Steps
from tests.shell.fleet import EXAMPLE, Clock, new_fleet, new_passes
from tests.shell.repositories import NOW, Checkout

REBALANCER = """\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata:
  name: again
spec:
  workloads:
  - {apiVersion: apps/v1, kind: Deployment, namespace: default, name: shop}
"""
BROKEN = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: broken
spec: {}
"""
LABELS = {
    "version": 1,
    "result": 6,
    "step": 5,
    "cause": len(CauseKind),
    "state": 3,
    "kind": len(ProblemKind),
    "provider": 5,
    "code": 8,
    "to": 4,
    "le": 11,
}
"""Each label with the most values that it can have."""


def measured(fleet: Checkout, clock: Clock, *steps: Callable[[], object]) -> Metrics:
    """Serve a fleet while a person takes steps, and return what was counted."""
    passes = new_passes(fleet.folder, clock)
    repository = passes.branch.repository
    metrics = Metrics(lambda revision: read_commit(repository, revision).committed_at)
    wakeups = Steps(iter(steps))
    Daemon(passes=passes, wakeups=wakeups, poll_seconds=60, observers=(metrics,)).run()
    return metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    """Return the value of a series."""
    return metrics.registry.get_sample_value(f"reconciler_{name}", labels)


def test_passes_are_counted(tmp_path: Path) -> None:
    """By result, with what they took; a failure raises the count of those in a row."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)

    def wait() -> None:
        clock.moment += timedelta(hours=1)
        fleet.commit(SCALED)

    def fail() -> None:
        clock.moment += timedelta(hours=1)
        fleet.git("branch", "-m", "away")

    metrics = measured(fleet, clock, lambda: None, wait, fail)

    assert 2.0 == value(metrics, "reconcile_total", result="committed")
    assert 1.0 == value(metrics, "reconcile_total", result="failed")
    assert 1.0 == value(metrics, "consecutive_failures")
    assert 2.0 == value(metrics, "reconcile_duration_seconds_count")
    assert 2.0 == value(metrics, "commits_total")
    assert (NOW + timedelta(hours=1)).timestamp() == value(
        metrics, "last_success_timestamp_seconds"
    )


def test_faults_and_what_is_unschedulable_are_told(tmp_path: Path) -> None:
    """As of the last pass, and gone when they are mended."""
    shop = EXAMPLE["policies/shop.yaml"]
    fleet = new_fleet(
        tmp_path / "fleet",
        {
            "clusters/broken.yaml": BROKEN,
            "policies/shop.yaml": shop.replace("member1", "nowhere").replace("backup1", "none"),
        },
    )
    clock = Clock(NOW)
    metrics = measured(fleet, clock, lambda: None)
    told = [value(metrics, "faults"), value(metrics, "unschedulable_bindings")]

    fleet.git("rm", "-q", "clusters/broken.yaml")
    fleet.commit({"policies/shop.yaml": shop})
    clock.moment += timedelta(hours=1)
    mended = measured(fleet, clock, lambda: None)

    assert [1.0, 1.0] == told
    assert [0.0, 0.0] == [value(mended, "faults"), value(mended, "unschedulable_bindings")]


def test_what_is_wrong_stays_told_while_it_is(tmp_path: Path) -> None:
    """By kind, also after a pass that had nothing to do with it; an alert must not end by that."""
    shop = EXAMPLE["policies/shop.yaml"]
    nowhere = shop.replace("member1", "nowhere").replace("backup1", "none")
    fleet = new_fleet(tmp_path / "fleet", {"policies/shop.yaml": nowhere})
    clock = Clock(NOW)
    measured(fleet, clock, lambda: None)
    fleet.commit({"notes.yaml": "a: 1\n"}, "Take a note")
    clock.moment += timedelta(hours=1)

    metrics = measured(fleet, clock, lambda: None)

    assert 1.0 == value(metrics, "unschedulable_bindings")
    assert 1.0 == value(metrics, "problems", kind="object-not-placed")
    asked_of_the_daemon = {ProblemKind.LATE}  # see ReconcilerNotReady
    assert {kind.value for kind in {*ProblemKind} - asked_of_the_daemon} == {
        sample.labels["kind"]
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "reconciler_problems"
    }


def test_moves_and_rebalancers_are_counted(tmp_path: Path) -> None:
    """Two replicas leave a cluster that is gone; a rebalancer finishes in its pass."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    policy = EXAMPLE["policies/shop.yaml"].replace("- member1", "- member2")

    def move() -> None:
        clock.moment += timedelta(seconds=10)
        again = REBALANCER.replace("name: again", "name: daily")
        daily = f'{again}  schedule: "0 3 * * *"\n'
        files = {"rebalancers/again.yaml": REBALANCER, "rebalancers/daily.yaml": daily}
        fleet.commit({"policies/shop.yaml": policy, **files})

    metrics = measured(fleet, clock, lambda: None, move)

    assert 2.0 == value(metrics, "replica_moves_total")
    assert (0.0, 1.0, 1.0) == tuple(
        value(metrics, "rebalancers", state=state) for state in REBALANCER_STATES
    )


def test_staged_runs_are_counted(tmp_path: Path) -> None:
    """By the state in which the pass leaves them."""
    told = StagedFleet.begun(tmp_path / "fleet")
    clock = Clock(NOW + timedelta(hours=1))

    def release() -> None:
        clock.moment += timedelta(seconds=10)
        told.fleet.commit(files_of(version("2", replicas=3)))

    metrics = measured(told.fleet, clock, lambda: None, release)
    counted = {str(state): value(metrics, "staged_runs", state=state) for state in RunState}

    assert {
        "Updating": 1.0,
        "Stopped": 0.0,
        "RolledBack": 0.0,
        "Finished": 0.0,
        "Left": 0.0,
    } == counted


def test_steps_are_counted(tmp_path: Path) -> None:
    """One is under way while copies are to be ready; what is not ready in time is given back."""
    fleet, clock = ready(tmp_path / "fleet"), Clock(NOW)

    def move() -> None:
        clock.moment += timedelta(seconds=10)
        fleet.commit({"demo.yaml": text(rebalancer(limits=ALL))}, "Bring web home")

    def late() -> None:
        clock.moment += timedelta(seconds=200)
        fleet.commit({"README.md": "late"}, "Write")

    begun = measured(fleet, clock, lambda: None, move)
    assert (1.0, 0.0) == (value(begun, "moves_waiting"), value(begun, "given_back_total"))
    over = measured(fleet, clock, late, lambda: None)

    assert (0.0, 4.0) == (value(over, "moves_waiting"), value(over, "given_back_total"))


def test_the_lag_is_from_the_commit_to_its_decision(tmp_path: Path) -> None:
    """Only of commits that come while it runs: a daemon that was off for a day is not slow."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)

    def push() -> None:
        clock.moment += timedelta(seconds=10)
        scaled = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 3")
        fleet.commit({"workloads/shop.yaml": scaled})  # dated two hours before `NOW`

    metrics = measured(fleet, clock, lambda: None, push)

    assert 1.0 == value(metrics, "decision_lag_seconds_count")
    lag = value(metrics, "decision_lag_seconds_sum")
    assert lag is not None
    assert 7210 <= lag < 7300


def test_no_label_is_without_bound(tmp_path: Path) -> None:
    """Every label has values that we chose; no name of a repository is among them."""
    fleet = new_fleet(tmp_path / "fleet")
    metrics = measured(fleet, Clock(NOW), lambda: None)
    metrics.hook_answered("github", 202)
    metrics.reported("github", "sent")

    labels = {
        name
        for family in metrics.registry.collect()
        for sample in family.samples
        for name in sample.labels
    }
    assert set(LABELS) == labels
    text = metrics.text().decode()
    assert not [name for name in ("shop", "member1", "default", "main") if name in text]
