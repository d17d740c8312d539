"""A workload that fails over takes along what its policy preserves, and is told what is in vain."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.core.asked import AskedAlone
from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.karmada.api.binding_spec import StateRule
from reconciler.dialects.karmada.api.names import Failover
from reconciler.dialects.karmada.api.policy import decode_policy
from reconciler.dialects.karmada.eviction import StatePreservation
from reconciler.dialects.karmada.view.references import preserved_in_vain
from reconciler.errors import UserError
from reconciler.manifests.text.reader import read
from reconciler.model.identity import ClusterName
from reconciler.model.records import replace
from tests.builders import (
    Body,
    after,
    cluster,
    configuration,
    deployment,
    groups,
    manifest,
    metadata,
    policy,
    taint,
    text,
)
from tests.core.asked.held_alone import hold_alone
from tests.stories import Story, applied, linked, story

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


def copies(told: Story) -> dict[str, Body]:
    """The clusters that have web in their folder, with its labels."""
    return {name: delivered(told, name) for name in "ab" if delivered(told, name)}


def test_a_direct_purge_takes_the_old_copy_away_before_the_new_one_comes() -> None:
    """That it is gone is what its cluster says: it reports it no longer."""
    told = failed_over(RULE)

    assert {} == copies(told)

    del told.files["feedback/a/web.yaml"]
    told.run(OVER + 20)

    assert {"b"} == copies(told).keys()


def test_a_new_copy_that_runs_already_stays() -> None:
    """Though the old cluster reports its copy once more."""
    told = failed_over()
    del told.files["feedback/a/web.yaml"]
    told.run(OVER + 20)
    says(told, "a", readyReplicas=1)
    told.run(OVER + 30)

    assert {"b"} == copies(told).keys()


def test_an_old_copy_is_waited_for_no_longer_than_the_eviction_lasts() -> None:
    """Ten minutes; upstream waits with the task, too."""
    told = failed_over(RULE)
    told.run(OVER + 600)

    assert {} == copies(told)

    told.run(OVER + 601)

    assert {"b"} == copies(told).keys()
    assert "example.org/ready" not in delivered(told, "b")


def test_a_graceful_purge_waits_for_nothing() -> None:
    """The old copy stays beside the new one."""
    assert {"a", "b"} == copies(failed_over(purge_mode="Gracefully")).keys()


@pytest.mark.parametrize(
    ("rules", "seconds"),
    [
        pytest.param([], 60, id="nothing-carried"),
        pytest.param([RULE], 601, id="labels-carried"),
    ],
)
def test_labels_are_not_withdrawn_since_a_silent_cluster_is_assumed_to_run(
    rules: list[Body], seconds: int
) -> None:
    """Nobody saw them in force; an eviction that carries none ends by what is assumed."""
    told = failed_over(*rules)
    settings = configuration(
        karmada={"failover": {"statePreservation": True}}, delivery={"folders": {}}
    )
    told.put(settings, path="reconciler.yaml")
    del told.files["feedback/a/web.yaml"]
    told.run(OVER + seconds - 1)

    assert "gracefulEvictionTasks" in cast(Body, told.binding()["spec"])

    told.run(OVER + seconds)

    assert "gracefulEvictionTasks" not in cast(Body, told.binding()["spec"])


WHY = "a: the workload is unhealthy there"


@pytest.mark.parametrize(
    ("purge_mode", "rules", "cause", "coming"),
    [
        pytest.param(
            "Directly",
            [RULE],
            f"{WHY}; its copy goes at once; the new copy gets example.org/ready=1",
            ["it is kept off a, then it may come back to a"],
            id="directly",
        ),
        pytest.param(
            "Gracefully",
            [RULE],
            WHY,
            ["a keeps its copy while others take over, then the copy on a is removed"],
            id="gracefully",
        ),
        pytest.param(
            "Never",
            [],
            f"{WHY}; its copy stays until a person lifts `suppressDeletion`",
            [],
            id="never",
        ),
    ],
)
def test_a_failover_says_what_becomes_of_the_copies(
    purge_mode: str, rules: list[Body], cause: str, coming: list[str]
) -> None:
    """What is ordinary is not told: the old copy goes once the new one is healthy."""
    told = placed(*rules, purge_mode=purge_mode)
    says(told, "a", readyReplicas=1).run(10)
    outcome = told.run(OVER)

    assert [f"evicted ({cause})"] == [str(one.cause) for one in outcome.decisions]
    assert coming == [f"{one.reason}, then {one.then}" for one in outcome.waits]


Reported = Mapping[str, Mapping[str, object]]
"""Cluster to the status of web that it reports."""

FAILING: Sequence[tuple[int, Reported]] = (
    (10, {"a": {"readyReplicas": 1}}),
    (OVER - 1, {"a": {"readyReplicas": 1}}),
    (OVER, {"a": {"readyReplicas": 1}}),
    (OVER + 1, {"a": {}}),
    (OVER + 10, {"a": {"readyReplicas": 2}}),
    (OVER + 20, {}),
    (OVER + 25, {"a": {"readyReplicas": 2}}),
    (OVER + 30, {"b": {"readyReplicas": 1}}),
    (OVER + 40, {"b": {"readyReplicas": 2, "availableReplicas": 2}}),
)


@pytest.mark.parametrize("purge_mode", ["Directly", "Gracefully", "Never"])
@pytest.mark.parametrize("rules", [[], [RULE], [{**RULE, "jsonPath": "{.none}"}]])
def test_followed_and_asked_alone_a_failover_is_the_same(
    purge_mode: str, rules: list[Body]
) -> None:
    """Pass by pass, delivered files included, whatever clusters report meanwhile."""
    told, memo, asking = placed(*rules, purge_mode=purge_mode), Memo(), AskedAlone()
    world = None
    for seconds, reported in FAILING:
        for name in "ab":
            told.files.pop(f"feedback/{name}/web.yaml", None)
            if name in reported:
                says(told, name, **reported[name])
        now, world = after(seconds), linked(told.world(), world)
        warm, cold = reconcile(world, now, memo=memo), reconcile(told.world(), now)

        assert replace(cold, explanations={}) == replace(warm, explanations={})
        assert {} == hold_alone(world, now, asking)

        told.files = applied(told.files, warm)
        again = reconcile(told.world(), now)

        assert () == again.changes


ON = Failover(state_preservation=True)


def fields(purge_mode: str, failover: Failover, *paths: str) -> list[str]:
    """Where a policy preserves in vain what these paths lead to, below its failover."""
    rules = [{"aliasLabelName": "x", "jsonPath": path} for path in paths]
    behavior = {"purgeMode": purge_mode, "statePreservation": {"rules": rules}}
    body = policy(failover={"application": behavior, "cluster": {}})
    found = preserved_in_vain(decode_policy(manifest(body), {}), failover)
    return [one.pointer.removeprefix("/spec/failover/application") for one in found]


@pytest.mark.parametrize(
    ("purge_mode", "failover", "paths", "expected"),
    [
        pytest.param("Directly", ON, ["{.replicas}"], [], id="reaches-the-new-copy"),
        pytest.param("Directly", Failover(), ["{.a[}"], ["/statePreservation"], id="off"),
        pytest.param("Gracefully", ON, ["{.replicas}"], ["/purgeMode"], id="old-copy-stays"),
        pytest.param("Never", ON, ["{.replicas}"], ["/purgeMode"], id="old-copy-stays-for-good"),
        pytest.param(
            "Directly",
            ON,
            ["{.replicas}", "{..replicas}", "{.a"],
            [f"/statePreservation/rules/{position}/jsonPath" for position in (1, 2)],
            id="unreadable",
        ),
        pytest.param("Gracefully", Failover(), [], [], id="nothing-preserved"),
    ],
)
def test_what_is_preserved_in_vain(
    purge_mode: str, failover: Failover, paths: list[str], expected: list[str]
) -> None:
    """The switch comes first, then how the old copy goes, then the rules."""
    assert expected == fields(purge_mode, failover, *paths)
