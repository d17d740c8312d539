"""Rebalances towards a cluster that is still being evicted from: told, or waited for."""

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
    policy,
    rebalancer,
    schedule_trigger,
    taint,
)
from tests.core.rebalances.test_waits import message
from tests.stories import Story, story

ROOMY = cluster_status(pods=100)
NOTE = "a not chosen while it is being evicted from: rebalance again later"
WAITING = {"waitForEviction": True}


def evicted() -> Story:
    """Web left a for b and is still being evicted from there; a is clean again."""
    told = story(cluster("a", status=ROOMY), cluster("b", status=ROOMY), deployment())
    told.put(policy(placement=groups(["a"], ["b"], replicaScheduling=DYNAMIC)))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    told.put(cluster("a", taints=[taint(effect="NoExecute")], status=ROOMY)).run(10)
    assert {"b": 2} == told.placed()
    told.put(cluster("a", status=ROOMY)).run(20)
    return told


def observed(told: Story) -> Body:
    """How the one workload of the rebalancer stands."""
    [item] = cast(list[Body], told.rebalancer()["observedWorkloads"])
    return {name: value for name, value in item.items() if name != "workload"}


def test_a_rebalance_that_an_eviction_keeps_from_its_cluster_says_so() -> None:
    """In the result and the commit; it is over, so another one is needed."""
    told = evicted()
    outcome = told.put(rebalancer()).run(30)

    assert {"result": "Successful", "note": NOTE} == observed(told)
    assert f"rebalanced (WorkloadRebalancer demo; {NOTE})" in message(outcome)
    told.run(1000)
    assert {"b": 2} == told.placed()
    told.put(rebalancer("again")).run(1010)
    assert {"a": 2} == told.placed()


def test_a_trigger_says_so_in_the_commit() -> None:
    """Its status tells only of what failed."""
    told = evicted()

    assert f"ScheduleTrigger demo; {NOTE}" in message(
        told.put(schedule_trigger("demo", policies=["p"])).run(30)
    )


def test_what_a_rebalancer_waits_for_changes_with_the_evictions() -> None:
    """Another cluster is left meanwhile; then the first of the two is over, before the second."""
    told = evicted()
    told.put(cluster("c", status=ROOMY))
    told.put(policy(placement=groups(["a"], ["b"], ["c"], replicaScheduling=DYNAMIC)))
    told.put(rebalancer(limits=WAITING)).run(30)
    first = observed(told)
    told.put(cluster("b", taints=[taint(effect="NoExecute")], status=ROOMY)).run(40)
    both = observed(told)
    told.put(cluster("b", status=ROOMY)).run(50)
    told.run(615)

    assert [
        {"waitsFor": f"it is still being evicted from {names}"} for names in ("a", "a, b", "b")
    ] == [first, both, observed(told)]
    told.run(645)
    assert {"result": "Successful"} == observed(told)
    assert {"a": 2} == told.placed()


@pytest.mark.parametrize("limits", [WAITING, {**WAITING, "maxMoves": 5}])
def test_a_rebalancer_may_wait_for_the_end_of_the_eviction(limits: Body) -> None:
    """It says so, and goes in the pass that ends it, without another one."""
    told = evicted()
    first = told.put(rebalancer(limits=limits)).run(30)
    assert {"waitsFor": "it is still being evicted from a"} == observed(told)
    assert first.recheck_at is not None
    told.now = first.recheck_at
    for _ in range(2):
        told.run()

    assert {"a": 2} == told.placed()
    assert {"result": "Successful"} == observed(told)


def test_an_eviction_that_changes_nothing_is_not_told() -> None:
    """Where the cluster that is left would not be chosen anyway."""
    told = evicted()
    told.put(policy(placement=groups(["b"], replicaScheduling=DYNAMIC))).run(25)
    told.put(rebalancer()).run(30)

    assert {"result": "Successful"} == observed(told)
