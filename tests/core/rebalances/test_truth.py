"""A rebalance that says Successful has happened, whatever came between its merge and its run."""

from collections.abc import Callable
from typing import cast

import pytest

from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    taint,
    target,
    text,
)
from tests.stories import Story, story

WHOLE = groups(["a"], ["b"])
PLACEMENT = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
ROOMY = cluster_status(pods=100)
Between = Callable[[Story, Body], None]


def away(*names: str, placement: Body = PLACEMENT) -> Story:
    """Workloads on cluster b, since a was tainted; now a is clean again."""
    told = story(cluster("a", taints=[taint()], status=ROOMY), cluster("b", status=ROOMY))
    told.put(*(deployment(name) for name in names or ("web",)))
    told.put(policy(placement=placement))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    told.put(cluster("a", status=ROOMY))
    told.run(1)
    return told


def report(told: Story, on: str, name: str = "web", available: int = 2) -> None:
    """Let a cluster report of its copy."""
    body = {**deployment(name), "status": {"availableReplicas": available}}
    told.files[f"feedback/{on}/{name}.yaml"] = text(body)


def results(told: Story, name: str = "demo") -> list[tuple[str, str]]:
    """Name and result of the workloads that a rebalancer observed."""
    items = cast(list[dict[str, Body]], told.rebalancer(name)["observedWorkloads"])
    return [(str(item["workload"]["name"]), str(item.get("result", ""))) for item in items]


def by_report(told: Story, _placement: Body) -> None:
    """A cluster reports of the workload."""
    report(told, "b")


def by_policy(told: Story, placement: Body) -> None:
    """An edit of the policy has it scheduled anew."""
    tolerations = [{"key": "unheard-of", "operator": "Exists"}]
    told.put(policy(placement={**placement, "clusterTolerations": tolerations}))


def by_scale(told: Story, _placement: Body) -> None:
    """More replicas are wanted."""
    told.put(deployment(replicas=3))


def with_annotation(body: Body, name: str, value: str) -> Body:
    """An object with an annotation."""
    metadata = cast(Body, body["metadata"])
    return {**body, "metadata": {**metadata, "annotations": {name: value}}}


@pytest.mark.parametrize("between", [by_report, by_policy])
@pytest.mark.parametrize("schedule", ["", "1 12 * * *"], ids=["once", "recurring"])
@pytest.mark.parametrize("placement", [PLACEMENT, WHOLE], ids=["divided", "whole"])
def test_a_faulty_target_moves_once_it_is_mended(
    between: Between, schedule: str, placement: Body
) -> None:
    """The trigger is dated with the pass that lets it go, not with the one that saw it first."""
    told = away(placement=placement)
    if schedule:
        told.put(rebalancer(schedule=schedule)).run(30)
    else:
        told.put(rebalancer())
    told.files[path_of(deployment())] = "a: [\n"
    told.run(60)
    between(told, placement)
    told.run(70)
    told.put(deployment())
    told.run(80)

    assert {"a": 2} == told.placed()
    assert [("web", "Successful")] == results(told)


@pytest.mark.parametrize("between", [by_report, by_scale])
def test_a_workload_that_waits_for_its_batch_moves_with_it(between: Between) -> None:
    """Whatever has it scheduled in between, it is not done before it was let go."""
    told = away("api", "web", placement=WHOLE)
    told.put(rebalancer("demo", target(name="api"), target(), limits={"maxMoves": 2}))
    told.run(10)
    assert ({"a": 2}, {"b": 2}) == (told.placed("api-deployment"), told.placed())
    between(told, WHOLE)
    told.run(20)
    assert [("api", "Successful"), ("web", "")] == results(told)
    told.run(100)

    assert ["a"] == list(told.placed())
    assert [("api", "Successful"), ("web", "Successful")] == results(told)


def test_a_suspended_workload_is_rebalanced_when_it_is_resumed() -> None:
    """Its scheduling in between, by a report, takes nothing away."""
    told = away(placement=WHOLE)
    told.put(with_annotation(deployment(), "reconciler.dev/suspend", "true"), rebalancer())
    told.run(10)
    report(told, "b")
    told.run(20)
    assert [("web", "")] == results(told)
    told.put(deployment())
    told.run(30)

    assert {"a": 2} == told.placed()
    assert [("web", "Successful")] == results(told)


def test_what_nobody_schedules_is_waited_for() -> None:
    """A workload whose policy is for another scheduler is not rescheduled."""
    told = away()
    told.drop(policy()).put(policy("q", schedulerName="another"), rebalancer(ttl=0))
    told.run(10)
    told.run(20)
    assert [("web", "")] == results(told)
    told.drop(policy("q")).put(policy(placement=PLACEMENT))
    told.run(30)

    assert {"a": 2} == told.placed()
    assert "workloadrebalancer/demo.yaml" not in told.files


def test_a_rebalance_that_fails_is_done_and_tried_again_by_the_scheduler() -> None:
    """Successful as upstream has it, with the failure told, so that the time to live runs."""
    told = away()
    told.put(policy(placement=groups(["gone"], replicaScheduling=DYNAMIC)))
    told.run(5)
    told.put(rebalancer(ttl=60))
    outcome = told.run(10)

    assert [("web", "Successful")] == results(told)
    assert ["rebalanced (WorkloadRebalancer demo)"] == [str(d.cause) for d in outcome.decisions]
    assert "0/2 clusters are available" in outcome.decisions[0].problem
    told.run(70)
    assert "workloadrebalancer/demo.yaml" not in told.files
    told.put(cluster("gone", status=ROOMY))
    found = told.run(80).decisions

    assert {"gone": 2} == told.placed()
    why = "rebalance tried again, clusters changed"
    assert [why] == [str(decision.cause) for decision in found]


def test_a_first_placement_is_no_rebalance() -> None:
    """Though a rebalancer comes with it, and is named."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    found = told.run(0).decisions

    assert ["created (policy p, WorkloadRebalancer demo)"] == [str(d.cause) for d in found]


def test_a_rebalance_that_moves_nothing_is_told() -> None:
    """Once, and it is where it was."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    found = told.put(rebalancer()).run(10).decisions

    assert ["rebalanced (WorkloadRebalancer demo)"] == [str(d.cause) for d in found]
    assert [True] == [decision.stays for decision in found]
    assert () == told.run(20).decisions


def test_what_the_brake_holds_is_not_rebalanced() -> None:
    """It would be scheduled afresh without any effect, so its rebalancer waits."""
    names = [f"w{number}" for number in range(10)]
    told = story(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])))
    told.put(*(deployment(name) for name in names))
    told.run(0)
    told.drop(cluster("a")).drop(cluster("b"))
    told.put(rebalancer("demo", target(name="w3")))
    outcome = told.run(10)

    assert ["removal-braked"] == [fault.rule for fault in outcome.faults]
    assert [("w3", "")] == results(told)
    told.put(cluster("a"), cluster("b"))
    told.run(20)

    assert [("w3", "Successful")] == results(told)
