"""Taints that policies bring, eviction by them, and workloads that leave where they fail."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.api.cluster import decode_cluster
from reconciler.dialects.karmada.eviction import Action, assess_tasks, evict
from reconciler.manifests.admission import TAINTS_ADDED_AT
from reconciler.model.fields import mapping
from reconciler.model.fields import text as fields_text
from reconciler.model.moments import parse_moment
from tests.builders import (
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    metadata,
    policy,
    text,
)
from tests.core.test_law_memo import told_of
from tests.stories import Story, applied, story

NOW = parse_moment("2026-11-20T12:00:00Z")
ADDED = "2026-11-20T11:59:00Z"
NOT_READY = "cluster.karmada.io/not-ready"


def binding(
    applied: str = "{}", tasks: tuple[Mapping[str, object], ...] = (), generation: int = 1
) -> Binding:
    """A Deployment with four replicas on cluster a."""
    return decode_binding(
        {
            "metadata": {
                "name": "web-deployment",
                "generation": generation,
                "annotations": {"policy.karmada.io/applied-placement": applied},
            },
            "spec": {
                "replicas": 4,
                "clusters": [{"name": "a", "replicas": 4}],
                "gracefulEvictionTasks": list(tasks),
            },
        }
    )


@pytest.mark.parametrize(
    ("key", "applied", "default_seconds", "action", "until"),
    [
        pytest.param(NOT_READY, "{}", None, Action.EVICT, None, id="no-default"),
        pytest.param(NOT_READY, "{}", 300, Action.AFTER, "2026-11-20T12:04:00Z", id="default"),
        pytest.param(NOT_READY, "{}", 60, Action.EVICT, None, id="default-just-over"),
        pytest.param("other", "{}", 300, Action.EVICT, None, id="other-taint-has-no-default"),
        pytest.param(
            NOT_READY,
            f'{{"clusterTolerations":[{{"key":"{NOT_READY}","operator":"Exists"}}]}}',
            300,
            Action.NONE,
            None,
            id="placement-names-it",
        ),
        pytest.param(NOT_READY, "{nonsense", 300, Action.ERROR, None, id="unreadable"),
    ],
)
def test_default_toleration(
    key: str, applied: str, default_seconds: int | None, action: Action, until: str | None
) -> None:
    """Not-ready clusters are left after a while, unless the placement says otherwise."""
    taint = {"key": key, "effect": "NoExecute", "timeAdded": ADDED}
    cluster = decode_cluster({"metadata": {"name": "a"}, "spec": {"taints": [taint]}})
    found = evict(binding(applied), [cluster], NOW, default_toleration_seconds=default_seconds)

    assert [action] == [decision.action for decision in found.decisions]
    assert found.until == (None if until is None else parse_moment(until))


@pytest.mark.parametrize(
    ("age_seconds", "kept"),
    [pytest.param(600, 1, id="last-second"), pytest.param(601, 0, id="just-over")],
)
def test_task_ends_strictly_after_its_time(age_seconds: int, kept: int) -> None:
    """A task that is exactly as old as its time stays, and is dropped a second later."""
    created = (NOW - timedelta(seconds=age_seconds)).isoformat()
    task = {"fromCluster": "b", "creationTimestamp": created}
    found = assess_tasks(binding(tasks=(task,)), NOW)

    assert kept == len(found.tasks)
    assert found.until == (NOW + timedelta(seconds=1) if kept else None)


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
        pytest.param("feedback/a/p.yaml", cluster("x"), "feedback-namespace", id="cluster"),
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


RECORD = "status/clusters.cluster.karmada.io/{}.yaml"
SLOW = {"key": "slow", "effect": "NoSchedule"}
NOTE = "reconciler.dev/policy-taints"


def condition(kind: str, status: str) -> Body:
    """A condition of a cluster."""
    moment = "2026-01-01T00:00:00Z"
    return {
        "type": kind,
        "status": status,
        "reason": "Told",
        "message": "",
        "lastTransitionTime": moment,
    }


def with_disk(name: str, status: str, taints: Sequence[Body] = ()) -> Body:
    """A ready cluster whose disk is in some state."""
    ready = cluster_status()
    conditions = [*ready["conditions"], condition("DiskPressure", status)]  # type: ignore[misc]  # a list
    return cluster(name, taints=taints, status={**ready, "conditions": conditions})


def taint_policy(name: str = "slow", taint: Body = SLOW, **spec: object) -> Body:
    """A policy that taints clusters under pressure until that is over."""
    match = {"conditionType": "DiskPressure", "operator": "In"}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": name},
        "spec": {
            "taints": [taint],
            "addOnConditions": [{**match, "statusValues": ["True"]}],
            "removeOnConditions": [{**match, "statusValues": ["False"]}],
            **spec,
        },
    }


def kept(told: Story, name: str = "a") -> Body:
    """What the status file of a cluster keeps of policies."""
    path = RECORD.format(name)
    if path not in told.files:
        return {}
    annotations = mapping(mapping(told.output(path), "metadata"), "annotations")
    found: Body = json.loads(fields_text(annotations, NOTE) or "{}")
    return found


def placed_of(told: Story, name: str) -> set[str]:
    """Where a workload is."""
    return set(told.placed(f"{name}-deployment"))


def test_a_taint_comes_and_goes_with_a_condition() -> None:
    """What comes meanwhile goes elsewhere; what was there stays."""
    told = story(with_disk("a", "True"), with_disk("b", "False"), policy(), taint_policy())
    told.put(deployment("early"))
    told.run(0)
    assert {"b"} == placed_of(told, "early")
    assert ["slow"] == [one["key"] for one in kept(told)["added"]]  # type: ignore[attr-defined]  # a list

    told.put(with_disk("a", "False"), deployment("late"))
    told.run(60)

    assert {} == kept(told)
    assert {"a", "b"} == placed_of(told, "late")


def test_a_taint_stays_when_its_condition_merely_ceases() -> None:
    """So does one whose policy goes; its date is that of its coming."""
    told = story(with_disk("a", "True"), with_disk("b", "False"), policy(), taint_policy())
    told.run(0)
    first = kept(told)

    told.put(with_disk("a", "Unknown"), deployment())
    told.run(60)
    told.drop(taint_policy())
    told.run(120)

    assert first == kept(told)
    assert {"b"} == placed_of(told, "web")


def test_a_taint_that_a_person_wrote_goes_too() -> None:
    """In the file of the person it stays; taken out there, nothing of it is kept."""
    told = story(with_disk("a", "False", [SLOW]), policy(), deployment(), taint_policy())
    told.run(0)

    assert {"a"} == placed_of(told, "web")
    assert {"removed": ["slow:NoSchedule"]} == kept(told)
    assert "slow" in told.files["cluster/a.yaml"]

    told.put(with_disk("a", "False"))
    told.run(60)

    assert {} == kept(told)


def test_a_declared_cluster_has_no_condition_to_go_by() -> None:
    """Its manifest has no status."""
    always = [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}]
    told = story(cluster("a"), policy(), deployment(), taint_policy(addOnConditions=always))
    told.run(0)

    assert {"a"} == placed_of(told, "web")
    assert {} == kept(told)


def test_a_policy_is_for_the_clusters_that_it_targets() -> None:
    """By their names here."""
    told = story(with_disk("a", "True"), with_disk("b", "True"), policy(), deployment())
    told.put(taint_policy(targetClusters={"clusterNames": ["b"]}))
    told.run(0)

    assert {"a"} == placed_of(told, "web")


@pytest.mark.parametrize(
    "garbled", ["", "[]", '{"added": 1}', '{"added": [{"key": 1}], "removed": 2}']
)
def test_what_a_person_garbled_is_put_right(garbled: str) -> None:
    """The taint comes again."""
    told = story(with_disk("a", "True"), policy(), taint_policy())
    told.run(0)
    path = RECORD.format("a")
    garbage = f"    {NOTE}: {json.dumps(garbled)}"
    line = re.compile(rf"^    {NOTE}: .*$", re.MULTILINE)
    told.files[path], count = line.subn(garbage, told.files[path])
    assert 1 == count
    told.run(60)

    assert ["slow"] == [one["key"] for one in kept(told)["added"]]  # type: ignore[attr-defined]  # a list


def test_passes_with_a_memory_taint_as_those_without() -> None:
    """Whatever comes and goes."""
    memo, told = Memo(), story(with_disk("b", "False"), policy(), deployment())
    changes = (
        [with_disk("a", "True"), taint_policy()],
        [deployment("api")],
        [with_disk("a", "False")],
        [taint_policy(addOnConditions=[])],
        [with_disk("a", "True", [SLOW])],
    )
    for change in changes:
        told.put(*change)
        for _ in range(2):
            world = told.world()
            warm = reconcile(world, told.now, memo=memo)

            assert told_of(reconcile(world, told.now)) == told_of(warm)
            told.files = applied(told.files, warm)
            told.now = told.now.replace(minute=told.now.minute + 1)
    assert TAINTS_ADDED_AT in told.files[RECORD.format("a")]
