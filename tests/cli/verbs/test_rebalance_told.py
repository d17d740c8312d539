"""What became of a rebalance is told: in the commit, in events, in history."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.builders import (
    Body,
    after,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    groups,
    live,
    path_of,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
    text,
)
from tests.cli.history import answer, answer_json
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
RUNS_ONCE = {"template": {"spec": {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}}}


def fleet_of(folder: Path, *bodies: Body) -> Checkout:
    """A repository that holds two clusters, a policy, a workload and these objects."""
    fleet = new_checkout(folder)
    own = (cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())
    return put(fleet, *own, *bodies)


def put(fleet: Checkout, *bodies: Body, subject: str = "Write") -> Checkout:
    """Commit objects, each in its file."""
    fleet.commit({path_of(body): text(body) for body in bodies}, subject)
    return fleet


def body_of(fleet: Checkout) -> list[str]:
    """The body of the last commit, without its trailers."""
    lines = fleet.git("log", "-1", "--format=%b").splitlines()
    return lines[: lines.index("")] if "" in lines else lines


def events(fleet: Checkout, capsys: Capsys, *arguments: str) -> list[tuple[str, str]]:
    """Reason and message of events, the newest last."""
    found = answer_json(fleet, capsys, ["events", *arguments])[1]["events"]
    return [(item["reason"], item["message"]) for item in found]


def decisions(fleet: Checkout, capsys: Capsys, word: str) -> Sequence[Any]:
    """What history tells, the newest first."""
    found: Sequence[Any] = answer_json(fleet, capsys, ["history", word])[1]["decisions"]
    return found


def test_a_rebalancer_that_goes_at_once_leaves_its_results(tmp_path: Path, capsys: Capsys) -> None:
    """With a time to live of 0 there is never a status: commit, events and history have it."""
    fleet = fleet_of(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    put(fleet, rebalancer("demo", target(), target(name="gone"), ttl=0))
    run_pass(fleet.folder, 60)

    assert "Rebalance default/web, which stays on a(2)" == fleet.git("log", "-1", "--format=%s")
    assert [
        "- default/web: stays on a(2): rebalanced (WorkloadRebalancer demo)",
        "- workloadrebalancer/demo.yaml: finished and removed",
        "- WorkloadRebalancer demo: Deployment default/gone Failed (ReferencedBindingNotFound)",
        "- WorkloadRebalancer demo: Deployment default/web Successful",
    ] == body_of(fleet)
    assert [
        ("RebalanceFailed", "Deployment default/gone: ReferencedBindingNotFound"),
        ("RebalanceSuccessful", "Deployment default/web: scheduled afresh"),
    ] == events(fleet, capsys, "workloadrebalancer/demo")
    told = decisions(fleet, capsys, "deployment/web")[0]
    assert ("rebalanced (WorkloadRebalancer demo)", told["before"]) == (
        told["cause"],
        told["after"],
    )
    assert "WorkloadRebalancer demo, removed by then: Successful" == told["note"]
    assert 0 == answer(fleet, capsys, "verify")[0]


def test_what_a_status_tells_is_told_once(tmp_path: Path, capsys: Capsys) -> None:
    """Where the record stands for a while, its removal is no second result."""
    fleet = fleet_of(tmp_path / "fleet", rebalancer(ttl=60))
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 60)

    assert not (fleet.folder / "workloadrebalancer/demo.yaml").exists()
    assert ["RebalanceSuccessful"] == [
        reason for reason, _ in events(fleet, capsys, "workloadrebalancer/demo")
    ]


def test_a_trigger_that_failed_is_over_not_finished(tmp_path: Path, capsys: Capsys) -> None:
    """Each target's result and reason stand in the commit that removes it."""
    trigger = schedule_trigger("demo", target(), target(name="gone"), autoCleanAfterMinutes=1)
    fleet = fleet_of(tmp_path / "fleet", trigger)
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 60)

    reason = "no binding was found for the resource; no policy has claimed it"
    assert [
        "- scheduletrigger/demo.yaml: its time is over, removed",
        f"- ScheduleTrigger demo: Deployment default/gone Failed ({reason})",
        "- ScheduleTrigger demo: Deployment default/web Success",
    ] == [line for line in body_of(fleet) if "demo" in line]
    assert [("TriggerFailed", f"Deployment default/gone: {reason}")] == events(
        fleet, capsys, "scheduletrigger/demo"
    )


def test_a_retry_and_a_first_placement_are_told_as_such(tmp_path: Path, capsys: Capsys) -> None:
    """The one is no change of replicas, the other no rebalance."""
    fleet = fleet_of(tmp_path / "fleet", rebalancer())
    run_pass(fleet.folder, 0)
    put(fleet, policy(placement=groups(["late"])))
    run_pass(fleet.folder, 60)
    put(fleet, rebalancer("again"))
    run_pass(fleet.folder, 120)
    failed = body_of(fleet)
    put(fleet, cluster("late"))
    run_pass(fleet.folder, 180)

    assert "- default/web: stays nowhere: rebalanced (WorkloadRebalancer again)" in failed
    assert any("0/2 clusters are available" in line for line in failed)
    assert [
        "rebalance tried again, clusters changed",
        "rebalanced (WorkloadRebalancer again)",
        "placement changed",
        "created (policy p, WorkloadRebalancer demo)",
    ] == [item["cause"] for item in decisions(fleet, capsys, "deployment/web")]
    assert "ScheduleBindingFailed" == events(fleet, capsys, "deployment/web", "--warnings")[-1][0]


def test_what_follows_from_scheduling_is_told_as_upstream_does(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Dependencies, copies that were applied, and that their status was gathered."""
    body = {**deployment(), "spec": {"replicas": 2, **RUNS_ONCE}}
    fleet = fleet_of(tmp_path / "fleet", body, configmap(), cluster("late"))
    placement = groups(["a"])
    put(fleet, policy(placement=placement, propagateDeps=True))
    run_pass(fleet.folder, 0)
    status = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
    fleet.commit({"feedback/a/web.yaml": text({**body, "status": status})}, "Report")
    run_pass(fleet.folder, 60)

    listed = "{APIVersion:v1 Kind:ConfigMap Namespace:default Name:settings LabelSelector:<nil>}"
    name = "default/web-deployment"
    assert [
        (
            "ScheduleBindingSucceed",
            "Binding has been scheduled successfully. Result: {a:2}",
        ),
        ("GetDependenciesSucceed", f"Get dependencies([{listed}]) succeed."),
        ("SyncSucceed", "Successfully applied resource(default/web) to cluster a"),
        (
            "AggregateStatusSucceed",
            f"Update resourceBinding({name}) with AggregatedStatus successfully.",
        ),
    ] == events(fleet, capsys, "deployment/web")


def test_a_workload_without_dependencies_has_an_empty_list(tmp_path: Path, capsys: Capsys) -> None:
    """As the proposal of rebalancing shows it."""
    fleet = fleet_of(tmp_path / "fleet", policy(propagateDeps=True))
    run_pass(fleet.folder, 0)

    assert ("GetDependenciesSucceed", "Get dependencies([]) succeed.") in events(
        fleet, capsys, "deployment/web"
    )


def test_an_eviction_within_one_pass_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """The workload is healthy on its other cluster, so that its task ends where it began."""
    fleet = fleet_of(tmp_path / "fleet", policy(), configuration())
    report = live(deployment(), replicas=2, updatedReplicas=2, availableReplicas=2)
    fleet.commit({f"feedback/{name}/web.yaml": text(report) for name in "ab"}, "Report")
    run_pass(fleet.folder, 0)
    leaves = cluster("a", taints=[taint(effect="NoExecute")], status=cluster_status(since=after(0)))
    put(fleet, leaves)
    run_pass(fleet.folder, 60)
    binding = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"

    assert "gracefulEvictionTasks" not in (fleet.folder / binding).read_text()
    assert [
        ("EvictWorkloadFromClusterSucceed", "Evict from cluster a succeed."),
        ("ScheduleBindingSucceed", "Binding has been scheduled successfully. Result: {b:2}"),
    ] == events(fleet, capsys, "deployment/web")[-2:]


def test_a_trigger_written_by_hand_asks_once(tmp_path: Path, capsys: Capsys) -> None:
    """Even one in the future; pass, verify and history agree that a person asked."""
    fleet = fleet_of(tmp_path / "fleet", rebalancer())
    run_pass(fleet.folder, 0)
    binding = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
    written = (fleet.folder / binding).read_text()
    edited = written.replace('At: "2026-11-20T12:00:00Z"', 'At: "2126-01-01T00:00:00Z"')
    assert written != edited
    fleet.commit({binding: edited}, "Ask for a schedule")
    run_pass(fleet.folder, 60)
    asked = body_of(fleet)

    assert 'rescheduleTriggeredAt: "2026-11-20T12:01:00Z"' in (fleet.folder / binding).read_text()
    assert (
        "- default/web: stays on a(2): rebalanced (rescheduleTriggeredAt edited by hand)" in asked
    )
    assert any("edited by Ada" in line for line in asked)
    put(fleet, cluster("b", labels={"any": "change"}))
    assert () == run_pass(fleet.folder, 120).outcome.decisions
    _, out, _ = answer(fleet, capsys, "verify")
    assert f"{binding}: edited by Ada <ada@example.com>" in out
    assert "asks for a schedule afresh if it is later than the last one" in out
    assert "rebalanced (rescheduleTriggeredAt edited by hand)" in [
        item["cause"] for item in decisions(fleet, capsys, "deployment/web")
    ]
