"""A workload that fails over takes along what its policy preserves of its status."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.core.changes import Outcome
from reconciler.dialects.karmada.api.work.failover_behavior import StateRule
from reconciler.dialects.karmada.eviction.state_preservation import StatePreservation
from reconciler.errors import UserError
from reconciler.model.identity import ClusterName
from tests.builders import (
    Body,
    after,
    cluster,
    configuration,
    deployment,
    groups,
    metadata,
    policy,
    taint,
    text,
)
from tests.stories import Story, story

TOLERATED = 60
OVER = 10 + TOLERATED + 1
RULE: Body = {"aliasLabelName": "example.org/ready", "jsonPath": "{.readyReplicas}"}
A = ClusterName("a")


def behavior(purge_mode: str, *rules: Body) -> Body:
    """How a workload fails over, and what it takes along."""
    preserved = {"statePreservation": {"rules": list(rules)}} if rules else {}
    return {"purgeMode": purge_mode, **preserved}


def failover(purge_mode: str, *rules: Body) -> Body:
    """Failover of the application after a minute."""
    conditions = {"decisionConditions": {"tolerationSeconds": TOLERATED}}
    return {"application": {**conditions, **behavior(purge_mode, *rules)}}


def placed(*rules: Body, purge_mode: str = "Directly", on: bool = True) -> Story:
    """Web on a, with b to go to, delivered to folders."""
    switch = {"statePreservation": True} if on else {}
    found = policy(
        placement=groups(["a"], ["b"]),
        failover=failover(purge_mode, *rules),
        propagateDeps=True,
    )
    settings = configuration(
        karmada={"failover": switch},
        delivery={"folders": {}},
        feedback={"assumeAfterSeconds": None},
    )
    told = story(cluster("a"), cluster("b"), deployment(), found)
    told.put(settings, path="reconciler.yaml").run()
    return told


def says(told: Story, name: str, **status: object) -> Story:
    """Put what a cluster says of web into its folder."""
    body = {
        **deployment(),
        "metadata": metadata("web", "default", generation=1),
        "status": {"observedGeneration": 1, "updatedReplicas": 2, **status},
    }
    told.files[f"feedback/{name}/web.yaml"] = text(body)
    return told


def failed_over(*rules: Body, purge_mode: str = "Directly", on: bool = True) -> Story:
    """Web after it was unhealthy on a for too long."""
    told = placed(*rules, purge_mode=purge_mode, on=on)
    says(told, "a", readyReplicas=1).run(10)
    del told.files["feedback/a/web.yaml"]
    says(told, "a", readyReplicas=1).run(OVER)
    return told


def task(told: Story) -> Body:
    """The only eviction of web."""
    spec = cast(Body, told.binding()["spec"])
    [found] = cast(Sequence[Body], spec["gracefulEvictionTasks"])
    return found


def delivered(told: Story, name: str) -> Body:
    """The labels of web in the folder of a cluster, `{}` if it is not there."""
    path = f"delivery/{name}/default/deployments.apps/web.yaml"
    if path not in told.files:
        return {}
    from reconciler.manifests.text.reader import read

    [document] = read(told.files[path].encode(), path).documents
    return cast(Body, cast(Body, document.body["metadata"])["labels"])


def faults(outcome: Outcome) -> list[str]:
    """The rules of the faults."""
    return [fault.rule for fault in outcome.faults]


def test_a_workload_takes_along_what_its_status_says() -> None:
    """The task names the labels, and where the workload was."""
    told = failed_over(RULE)

    assert {"b": 2} == told.placed()
    assert {"example.org/ready": "1"} == task(told)["preservedLabelState"]
    assert ["a"] == task(told)["clustersBeforeFailover"]


def test_nothing_is_preserved_while_that_is_off() -> None:
    """Upstream's gate is off by default; the task is as it ever was."""
    told = failed_over(RULE, on=False)

    assert {"b": 2} == told.placed()
    assert {"preservedLabelState", "clustersBeforeFailover"}.isdisjoint(task(told))


def test_a_policy_without_rules_preserves_nothing() -> None:
    """Nor does the task say where the workload was."""
    assert {"preservedLabelState", "clustersBeforeFailover"}.isdisjoint(task(failed_over()))


@pytest.mark.parametrize(
    ("purge_mode", "labels"),
    [
        pytest.param("Directly", {"example.org/ready": "1"}, id="directly"),
        pytest.param("Gracefully", {}, id="gracefully"),
        pytest.param("Never", {}, id="never"),
    ],
)
def test_labels_are_delivered_after_a_direct_purge_only(
    purge_mode: str, labels: Mapping[str, str]
) -> None:
    """Upstream's rule; otherwise the old copy runs beside, and the state may move on."""
    told = failed_over(RULE, purge_mode=purge_mode)
    del told.files["feedback/a/web.yaml"]
    told.run(OVER + 1)

    assert labels.items() <= delivered(told, "b").items()
    assert bool(labels) == ("example.org/ready" in delivered(told, "b"))
    assert "example.org/ready" not in delivered(told, "a")


def test_labels_go_with_the_eviction() -> None:
    """Once the new copy is healthy nothing remembers them."""
    told = failed_over(RULE)
    del told.files["feedback/a/web.yaml"]
    told.run(OVER + 1)
    says(told, "b", readyReplicas=2, availableReplicas=2).run(OVER + 30)

    assert "gracefulEvictionTasks" not in cast(Body, told.binding()["spec"])
    assert "example.org/ready" not in delivered(told, "b")


LOST = [
    pytest.param({**RULE, "jsonPath": "{.checkpoint}"}, "checkpoint is not found", id="missing"),
    pytest.param({**RULE, "jsonPath": "{.a[}"}, "must be a JSONPath", id="no-path"),
    pytest.param(
        {**RULE, "jsonPath": "{.readyReplicas} of 2"}, 'the value "1 of 2"', id="no-label-value"
    ),
    pytest.param({**RULE, "jsonPath": ".readyReplicas"}, '".readyReplicas"', id="no-braces"),
]


@pytest.mark.parametrize(("rule", "message"), LOST)
def test_a_workload_stays_while_its_state_would_be_lost(rule: Body, message: str) -> None:
    """As upstream, where the controller tries again; here a fault says why."""
    told = placed(RULE, rule)
    says(told, "a", readyReplicas=1).run(10)
    outcome = told.run(OVER)

    assert {"a": 2} == told.placed()
    [fault] = outcome.faults
    assert "failover-state" == fault.rule
    assert "default/web stays where it fails" in fault.message
    assert message in fault.message
    assert "PropagationPolicy.policy.karmada.io default/p" in fault.expected


def test_a_workload_goes_once_its_state_is_there() -> None:
    """The moment since which it is unhealthy is not forgotten."""
    told = placed({**RULE, "jsonPath": "{.unavailableReplicas}"})
    says(told, "a", readyReplicas=1).run(10)
    told.run(OVER)
    outcome = says(told, "a", unavailableReplicas=1).run(OVER + 5)

    assert {"b": 2} == told.placed()
    assert [] == faults(outcome)
    assert {"example.org/ready": "1"} == task(told)["preservedLabelState"]


def tainted(*rules: Body, reports: bool) -> tuple[Story, Outcome]:
    """Web on a, which gets a taint that nothing tolerates."""
    found = policy(
        placement=groups(["a"], ["b"]), failover={"cluster": behavior("Directly", *rules)}
    )
    told = story(cluster("a"), cluster("b"), deployment(), found)
    told.put(configuration(karmada={"failover": {"statePreservation": True}}))
    if reports:
        says(told, "a", readyReplicas=2)
    told.run()
    told.put(cluster("a", taints=[taint("gone", "NoExecute", at=after(5))]))
    return told, told.run(10)


def test_a_workload_of_a_failing_cluster_takes_its_state_along() -> None:
    """The task of the taint manager does not say where the workload was."""
    told, outcome = tainted(RULE, reports=True)

    assert [] == faults(outcome)
    assert {"example.org/ready": "2"} == task(told)["preservedLabelState"]
    assert "clustersBeforeFailover" not in task(told)


def test_a_cluster_whose_status_is_unknown_is_not_left() -> None:
    """Upstream: the status has not yet been collected."""
    told, outcome = tainted(RULE, reports=False)

    assert {"a": 2} == told.placed()
    [fault] = outcome.faults
    assert "/spec/failover/cluster/statePreservation" == fault.field
    assert "a has not reported its status yet" in fault.message


def test_a_cluster_is_left_whose_policy_preserves_nothing() -> None:
    """Whether it reports or not."""
    told, outcome = tainted(reports=False)

    assert ({"b": 2}, []) == (told.placed(), faults(outcome))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("{ .replicas }", "2", id="number"),
        pytest.param("{.ok}", "true", id="flag"),
        pytest.param("{.job.id}", "12345678", id="large-number"),
        pytest.param("{.items[*].name}", None, id="several"),
        pytest.param("{.items[?(@.name=='b')].name}-{.replicas}", "b-2", id="texts-together"),
        pytest.param("{.items[?(@.name=='c')].name}", "", id="filter-without-any"),
        pytest.param("{.none}", None, id="null"),
        pytest.param("fixed", "fixed", id="text"),
    ],
)
def test_what_a_rule_reads(path: str, expected: str | None) -> None:
    """A template of JSONPaths over the status; `None` is what no label can have."""
    status: Body = {
        "replicas": 2,
        "ok": True,
        "none": None,
        "job": {"id": 12345678},
        "items": [{"name": "a"}, {"name": "b"}],
    }
    kept = StatePreservation((StateRule("alias", path),), lambda _: status)
    if expected is None:
        with pytest.raises(UserError):
            kept.labels(A)
    else:
        assert {"alias": expected} == kept.labels(A)
