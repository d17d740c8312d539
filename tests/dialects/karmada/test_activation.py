"""When a policy's change reaches its workloads: at once, lazily, or not while suspended."""

import pytest

from tests.builders import (
    Body,
    cluster,
    configmap,
    deployment,
    divided,
    metadata,
    policy,
    rebalancer,
    selector,
)
from tests.stories import story


def on(*names: str) -> Body:
    """A placement on these clusters."""
    return {"clusterAffinity": {"clusterNames": list(names)}}


def suspended(body: Body, value: str = "true") -> Body:
    """The object with the annotation that suspends it."""
    found = body["metadata"]
    assert isinstance(found, dict)
    return {**body, "metadata": {**found, "annotations": {"reconciler.dev/suspend": value}}}


def test_a_lazy_policy_waits_for_the_workload() -> None:
    """Its change takes effect with the workload's next change, not before."""
    told = story(
        cluster("a"),
        cluster("b"),
        deployment(),
        policy(placement=on("a"), activationPreference="Lazy"),
    )
    told.run()
    told.put(policy(placement=on("b"), activationPreference="Lazy"))
    told.run()

    assert {"a": 2} == told.placed()

    told.put(deployment(labels={"version": "2"}))
    told.run()

    assert {"b": 2} == told.placed()


def test_a_policy_that_becomes_lazy_with_a_change_withholds_it() -> None:
    """What it said before it was lazy stays."""
    told = story(cluster("a"), cluster("b"), deployment(), policy(placement=on("a")))
    told.run()
    told.put(policy(placement=on("b"), activationPreference="Lazy"))
    told.run()

    assert {"a": 2} == told.placed()


def test_a_rebalance_under_a_lazy_policy_uses_the_bindings_own_placement() -> None:
    """As both proposals note: rescheduling follows the binding, not the policy."""
    told = story(
        cluster("a"),
        cluster("b"),
        deployment(),
        policy(placement=on("a"), activationPreference="Lazy"),
    )
    told.run()
    told.put(policy(placement=on("b"), activationPreference="Lazy"), rebalancer())
    told.run()

    assert {"a": 2} == told.placed()
    assert "rescheduleTriggeredAt" in str(told.binding()["spec"])


def test_a_missing_priority_class_is_told_and_the_binding_kept() -> None:
    """Once the class is there, the policy is applied with its value."""
    wanted = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"}
    told = story(cluster("a"), deployment(), policy(placement=on("a")))
    told.run()
    told.put(policy(placement=on("a"), schedulePriority=wanted), deployment(replicas=5))
    outcome = told.run()

    assert {"a": 2} == told.placed()
    assert ["policy-priority-class"] == [fault.rule for fault in outcome.faults]

    told.put(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": metadata("high"),
            "value": 1000,
        }
    )
    told.run()

    assert {"a": 5} == told.placed()
    assert "'schedulePriority': {'priority': 1000}" in str(told.binding()["spec"])


@pytest.mark.parametrize(
    ("name", "priority"),
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)],
)
def test_the_priority_classes_of_every_api_server_are_known(name: str, priority: int) -> None:
    """No manifest says what they are worth; one that does counts."""
    wanted = {"priorityClassSource": "KubePriorityClass", "priorityClassName": name}
    told = story(cluster("a"), deployment(), policy(placement=on("a"), schedulePriority=wanted))

    assert () == told.run().faults
    assert f"'schedulePriority': {{'priority': {priority}}}" in str(told.binding()["spec"])

    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    told.put({**kind, "metadata": metadata(name), "value": 7})
    told.run()
    assert "'schedulePriority': {'priority': 7}" in str(told.binding()["spec"])


def test_a_suspended_policy_schedules_nothing_until_it_is_resumed() -> None:
    """New workloads get a binding that waits, placed ones stay; a rebalance waits, too."""
    told = story(cluster("a"), cluster("b"), deployment(), policy(placement=on("a")))
    told.run()
    told.put(suspended(policy(placement=on("b"))), deployment("new"), rebalancer())
    told.run()

    assert ({"a": 2}, {}) == (told.placed(), told.placed("new-deployment"))
    assert "Successful" not in str(told.rebalancer())

    told.put(policy(placement=on("b")))
    told.run()

    assert ({"b": 2}, {"b": 2}) == (told.placed(), told.placed("new-deployment"))
    assert "Successful" in str(told.rebalancer())


def test_a_suspended_workload_stays_while_its_neighbour_moves() -> None:
    """Only `true` suspends."""
    placement = {**on("a", "b"), "replicaScheduling": divided()}
    told = story(cluster("a"), cluster("b"), policy(placement=placement))
    told.put(suspended(deployment()), suspended(deployment("api"), value="false"), configmap())
    told.run()

    assert ({}, {"a": 1, "b": 1}) == (told.placed(), told.placed("api-deployment"))


def test_a_lazy_policy_places_what_was_only_attached() -> None:
    """No policy has placed it yet, so there is nothing to be lazy about."""
    told = story(
        cluster("a"), cluster("b"), configmap(), policy(placement=on("a"), propagateDeps=True)
    )
    body = deployment()
    volumes = [{"name": "v", "configMap": {"name": "settings"}}]
    told.put({**body, "spec": {"replicas": 2, "template": {"spec": {"volumes": volumes}}}})
    told.run()
    own = policy(
        "own",
        selectors=[selector("ConfigMap")],
        placement=on("b"),
        activationPreference="Lazy",
    )
    told.put(own)
    told.run()

    assert {"b": 0} == told.placed("settings-configmap")
