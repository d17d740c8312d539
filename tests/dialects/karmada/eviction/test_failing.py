"""Clusters report; a workload leaves those where it is unhealthy for too long."""

import pytest

from reconciler.core.changes import Outcome
from tests.builders import Body, after, cluster, configuration, deployment, metadata, policy, text
from tests.stories import Story, story

TOLERATED = 60


def failover(**application: object) -> Body:
    """Application failover after a minute."""
    conditions = {"tolerationSeconds": TOLERATED}
    return {"application": {"decisionConditions": conditions, **application}}


def report(available: int, *, generation: int = 1, replicas: int = 2) -> Body:
    """What a cluster says of web."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata("web", "default", generation=generation),
        "spec": {"replicas": replicas},
        "status": {
            "observedGeneration": 1,
            "replicas": 2,
            "updatedReplicas": 2,
            "availableReplicas": available,
        },
    }


def placed() -> Story:
    """Web on a, with b to go to, as the first pass leaves it."""
    groups = [{"affinityName": name, "clusterNames": [name]} for name in ("a", "b")]
    found = policy(placement={"clusterAffinities": groups}, failover=failover(), propagateDeps=True)
    told = story(cluster("a"), cluster("b"), deployment(), found)
    told.run()
    return told


def says(told: Story, body: Body, name: str = "a") -> Story:
    """Put a cluster's report into its folder."""
    told.files[f"feedback/{name}/web.yaml"] = text(body)
    return told


def test_a_report_is_aggregated() -> None:
    """Nothing is assumed any more of a cluster that reports."""
    told = says(placed(), report(2))
    told.run()
    status = told.binding()["status"]

    assert "FullyAppliedSuccess" == told.condition("FullyApplied")["reason"]
    assert "'health': 'Healthy'" in str(status)
    assert "'availableReplicas': 2" in str(status)


def test_an_unhealthy_workload_leaves_after_the_toleration_and_not_before() -> None:
    """The moment counts from the pass that saw it first, and is strict."""
    told = says(placed(), report(0))
    first = told.run(10)

    assert after(10 + TOLERATED + 1) == first.recheck_at

    told.run(10 + TOLERATED)

    assert {"a": 2} == told.placed()

    outcome = told.run(10 + TOLERATED + 1)

    assert {"b": 2} == told.placed()
    assert "evicted (a: the workload is unhealthy there)" == str(outcome.decisions[0].cause)
    [task] = told.binding()["spec"]["gracefulEvictionTasks"]  # type: ignore[index]
    assert ("a", "ApplicationFailure", 600) == (
        task["fromCluster"],
        task["reason"],
        task["gracePeriodSeconds"],
    )


def test_a_workload_that_recovers_in_time_stays() -> None:
    """Health resets the clock; the next failure counts anew."""
    told = says(placed(), report(0))
    told.run(10)
    says(told, report(2)).run(40)
    says(told, report(1)).run(50)
    told.run(10 + TOLERATED + 1)

    assert {"a": 2} == told.placed()


def test_a_silent_cluster_keeps_its_moment() -> None:
    """A report that disappears proves nothing."""
    told = says(placed(), report(0))
    told.run(10)
    del told.files["feedback/a/web.yaml"]
    told.run(20)

    assert {"a": 2} == told.placed()

    says(told, report(0)).run(10 + TOLERATED + 1)

    assert {"b": 2} == told.placed()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(report(2, generation=2), id="not-observed"),
        pytest.param(report(1), id="not-all-available"),
        pytest.param(report(2, replicas=3), id="not-all-updated"),
    ],
)
def test_what_counts_as_unhealthy(body: Body) -> None:
    """The rules of the native interpreter for a Deployment."""
    told = says(placed(), body)
    told.run()

    assert "'health': 'Unhealthy'" in str(told.binding()["status"])


def test_failover_that_is_off_evicts_nobody() -> None:
    """`karmada.failover.enabled: false` is upstream's default."""
    told = says(placed(), report(0))
    told.put(configuration(karmada={"failover": {"enabled": False}}), path="reconciler.yaml")
    told.run(10)
    told.run(1000)

    assert {"a": 2} == told.placed()


def test_a_policy_without_application_failover_evicts_nobody() -> None:
    """It reports, and that is all."""
    told = story(cluster("a"), cluster("b"), deployment(), policy())
    told.run()
    says(told, report(0)).run(10)
    outcome: Outcome = told.run(1000)

    assert {"a": 2, "b": 2} == told.placed()
    assert () == outcome.decisions


def test_never_keeps_the_old_copy_for_good() -> None:
    """`purgeMode: Never` suppresses the deletion."""
    told = placed()
    groups = [{"affinityName": name, "clusterNames": [name]} for name in ("a", "b")]
    told.put(
        policy(
            placement={"clusterAffinities": groups},
            failover=failover(purgeMode="Never"),
            propagateDeps=True,
        )
    )
    told.run()
    says(told, report(0)).run(10)
    told.run(100)
    told.run(100_000)

    assert {"b": 2} == told.placed()
    assert "'suppressDeletion': True" in str(told.binding()["spec"])


@pytest.mark.parametrize(
    ("path", "body", "rule"),
    [
        pytest.param("feedback/web.yaml", report(2), "feedback-path", id="no-cluster"),
        pytest.param("feedback/UPPER/web.yaml", report(2), "feedback-path", id="no-name"),
        pytest.param("feedback/a/p.yaml", policy("x"), "feedback-kind", id="policy"),
        pytest.param("feedback/a/p.yaml", cluster("x"), "feedback-kind", id="cluster"),
    ],
)
def test_what_a_report_may_not_be(path: str, body: Body, rule: str) -> None:
    """It takes no effect and is told."""
    told = placed()
    told.files[path] = text(body)
    outcome = told.run()

    assert [rule] == [fault.rule for fault in outcome.faults]
    assert {"a": 2} == told.placed()


def test_a_report_that_becomes_unreadable_keeps_its_last_good_version() -> None:
    """Across passes, as for every file."""
    told = says(placed(), report(0))
    told.run(10)
    told.files["feedback/a/web.yaml"] = text(report(0)) + "\n---\n: ["
    outcome = told.run(10 + TOLERATED + 1)

    assert {"b": 2} == told.placed()
    assert {"feedback/a/web.yaml"} == {fault.path for fault in outcome.faults}
