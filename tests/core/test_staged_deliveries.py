"""Staged deliveries through whole passes: which version which cluster gets, and when."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from reconciler.audit.previews.preview import preview
from reconciler.core.changes import Outcome
from reconciler.imports.importers import report_of
from reconciler.manifests.text.reader import read
from reconciler.model.fields import mapping
from reconciler.staging.staged_delivery import CONTENT
from reconciler.staging.view import held_in
from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    metadata,
    path_of,
    policy,
    taint,
    text,
)
from tests.dialects.kubefleet.fleet import APPROVAL, member, placement, stage, strategy, waits
from tests.dialects.ocm import worlds
from tests.stories import Story, story

RECORD = "status/stageddeliveries.reconciler.dev/web.yaml"
STAGES = {"a": "canary", "b": "prod", "c": "prod"}
FOLDERS: Body = {"folders": {"path": "clusters/{cluster}"}}
OPTIONS: Body = {"feedback": {"assumeAfterSeconds": None}, "delivery": FOLDERS}
THREE: Sequence[Body] = (stage("canary"), stage("prod", maxConcurrency=2))


def staged_delivery(name: str = "web", **spec: Any) -> Body:
    """One that stages all Deployments by the strategy of these tests."""
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "StagedDelivery",
        "metadata": metadata(name),
        "spec": {"selector": {"kind": "Deployment"}, "strategy": "careful", **spec},
    }


def version(image: str, *, replicas: int = 3) -> Body:
    """The Deployment in a version."""
    body: Any = deployment(replicas=replicas)
    body["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return cast(Body, body)


def begun(*stages: Body, clusters: Mapping[str, str] = STAGES, **spec: Any) -> Story:
    """Version 1 on every cluster, and a staged delivery that has seen it."""
    told = story(*(in_stage(name, where) for name, where in clusters.items()))
    told.put(configuration(**OPTIONS), policy(placement={}), version("1"))
    told.put(strategy(*stages), staged_delivery(**spec))
    told.run(0)
    for name in clusters:
        hear(told, name)
    told.run(1)
    return told


def in_stage(name: str, where: str, **more: Any) -> Body:
    """A cluster with the label of its stage."""
    return cluster(name, labels={"stage": where}, **more)


def managed(name: str, where: str, *taints: Body) -> Body:
    """A ManagedCluster with the label of its stage."""
    body: Any = worlds.cluster(name, *taints)
    labels = {**body["metadata"]["labels"], "stage": where}
    return {**body, "metadata": {**body["metadata"], "labels": labels}}


def delivered(told: Story, where: str) -> Body:
    """What a cluster is given, empty if nothing."""
    path = f"clusters/{where}/default/deployments.apps/web.yaml"
    return read(told.files[path].encode(), path).documents[0].body if path in told.files else {}


def images(told: Story) -> dict[str, str]:
    """The version in the folder of each cluster that has one, with its replicas."""
    found = {}
    for path in told.files:
        if path.startswith("clusters/") and path.endswith("/web.yaml"):
            body: Any = delivered(told, path.split("/")[1])
            image = body["spec"]["template"]["spec"]["containers"][0]["image"]
            found[path.split("/")[1]] = f"{image} x{body['spec']['replicas']}"
    return found


def hear(told: Story, where: str, *, ready: bool = True, failure: str = "") -> Story:
    """A cluster reports what it was given last."""
    body = delivered(told, where)
    count = cast(int, mapping(body, "spec")["replicas"])
    status: dict[str, object] = {"observedGeneration": 7, "replicas": count}
    status |= {"updatedReplicas": count, "availableReplicas": count if ready else 0}
    if failure:
        condition = {"type": "Progressing", "status": "False", "reason": failure}
        status["conditions"] = [condition]
    metadata = {**mapping(body, "metadata"), "uid": "1", "generation": 7}
    report = report_of({**body, "metadata": metadata, "status": status})
    told.files[f"feedback/{where}/web.yaml"] = text(report)
    return told


def run_of(told: Story) -> Any:
    """The run that the record has."""
    return cast(Any, told.output(RECORD)["status"]).get("run")


def reason(told: Story) -> str:
    """What the run waits for, or why it does not go on."""
    return str(run_of(told).get("reason", ""))


def order(told: Story, action: str, **more: object) -> Body:
    """An order of the present run."""
    return {"run": run_of(told)["id"], "generation": 1, "action": action, **more}


def rules(outcome: Outcome) -> list[str]:
    """The rules of what a pass tells."""
    return [fault.rule for fault in outcome.faults]


def test_stages_follow_one_another() -> None:
    """A change reaches the first stage, and the next one once that reports that it runs."""
    told = begun(*THREE)
    told.put(version("2")).run(10)

    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    assert "waits for a in stage canary" == reason(told)

    hear(told, "a").run(20)

    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)

    hear(told, "b").run(30)

    assert "waits for c in stage prod" == reason(told)

    hear(told, "c").run(40)

    assert "Finished" == run_of(told)["state"]


def test_a_report_of_the_version_before_is_none() -> None:
    """Only a report that bears the version counts."""
    told = begun(*THREE)
    before = told.files["feedback/a/web.yaml"]
    told.put(version("2")).run(10)
    told.files["feedback/a/web.yaml"] = before

    assert () == told.run(20).changes
    assert "2 x3" == images(told)["a"]


def test_reports_without_versions_are_told() -> None:
    """Whoever reports a leaves annotations out: no report of it is ever of a version."""
    told = begun(*THREE, stageDeadlineSeconds=60)
    told.put(version("2")).run(10)
    path = "feedback/a/web.yaml"
    report: Any = read(told.files[path].encode(), path).documents[0].body
    bare = {**report, "metadata": {**report["metadata"], "annotations": {}}}
    told.files[path] = text(bare)
    told.run(20)

    assert "waits for a in stage canary (reports of a bear no version)" == reason(told)
    told.run(70)
    assert "stage canary hears nothing of a (reports of a bear no version)" == reason(told)


def test_replicas_are_no_content() -> None:
    """A scale reaches every cluster at once, in a run as well as without one."""
    told = begun(*THREE)
    told.put(version("1", replicas=5)).run(10)

    assert run_of(told) is None
    assert {"a": "1 x5", "b": "1 x5", "c": "1 x5"} == images(told)

    told.put(version("2", replicas=5)).run(20)
    told.put(version("2", replicas=4)).run(30)

    assert {"a": "2 x4", "b": "1 x4", "c": "1 x4"} == images(told)
    assert 1 == run_of(told)["number"]


def test_so_many_at_once() -> None:
    """By number, in the order of the label that a stage names."""
    clusters = dict.fromkeys("abc", "all")
    told = begun(stage("all", sortingLabelKey="turn"), clusters=clusters)
    for name, turn in (("a", "3"), ("b", "1"), ("c", "2")):
        told.put(cluster(name, labels={"stage": "all", "turn": turn}))
    told.put(version("2")).run(10)

    assert {"a": "1 x3", "b": "2 x3", "c": "1 x3"} == images(told)

    hear(told, "b").run(20)

    assert {"a": "1 x3", "b": "2 x3", "c": "2 x3"} == images(told)


def test_what_time_alone_ends_is_foreseen() -> None:
    """A deadline, and a wait after a stage."""
    told = begun(stage("canary", afterStageTasks=[waits("30m")]), stage("prod"))

    (deadline,) = told.put(version("2")).run(10).waits
    assert (after(610), "it stops unless a has succeeded") == (deadline.until, deadline.then)

    (timed,) = hear(told, "a").run(20).waits
    assert (after(1820), "it goes on") == (timed.until, timed.then)
    assert timed.reason.endswith(" waits after stage canary")


def test_a_stage_may_be_followed_by_a_wait() -> None:
    """The pass says when it is over."""
    told = begun(stage("canary", afterStageTasks=[waits("10m")]), stage("prod"))
    told.put(version("2")).run(10)
    hear(told, "a")

    outcome = told.run(20)

    assert "waits for stage canary until 2026-11-20T12:10:20Z" == reason(told)
    assert outcome.recheck_at is not None
    assert () == told.run(619).changes
    told.run(620)
    assert "2 x3" == images(told)["b"]


@pytest.mark.parametrize("task", ["BeforeStage", "AfterStage"])
def test_a_stage_waits_for_approval(task: str) -> None:
    """An order that names run, generation, stage and task approves."""
    before = task == "BeforeStage"
    first = stage("canary", **({} if before else {"afterStageTasks": [APPROVAL]}))
    second = stage("prod", **({"beforeStageTasks": [APPROVAL]} if before else {}))
    told = begun(first, second)
    told.put(version("2")).run(10)
    hear(told, "a").run(20)
    where = "prod" if before else "canary"

    assert f"waits for approval {'before' if before else 'after'} stage {where}" == reason(told)

    told.put(staged_delivery(orders=[order(told, "Approve", stage=where, task=task)]))

    assert [] == rules(told.run(30))
    assert "2 x3" == images(told)["b"]
    assert () == told.run(31).changes


def test_an_order_counts_for_its_generation() -> None:
    """One of another generation is refused."""
    told = begun(stage("canary", beforeStageTasks=[APPROVAL]))
    told.put(version("2")).run(10)
    approval = order(told, "Approve", stage="canary", task="BeforeStage")
    told.put(staged_delivery(orders=[{**approval, "generation": 2}]))

    assert ["staged-order"] == rules(told.run(20))
    assert {"a": "1 x3", "b": "1 x3", "c": "1 x3"} == images(told)


@pytest.mark.parametrize(
    ("stage_name", "task", "why"),
    [
        pytest.param("prod", "BeforeStage", "asks for no approval before it", id="task"),
        pytest.param("nosuch", "AfterStage", 'no stage "nosuch"; only: canary, prod', id="stage"),
    ],
)
def test_an_approval_that_no_stage_asks_for_has_no_effect(
    stage_name: str, task: str, why: str
) -> None:
    """It is told at the manifest."""
    told = begun(stage("canary"), stage("prod", afterStageTasks=[APPROVAL]))
    told.put(version("2")).run(10)
    told.put(staged_delivery(orders=[order(told, "Approve", stage=stage_name, task=task)]))
    outcome = told.run(20)

    assert [("staged-order", 1, True)] == [
        (fault.rule, fault.line, why in fault.message) for fault in outcome.faults
    ]


def test_resuming_in_advance_resumes_nothing_later() -> None:
    """What stops the run by then nobody has seen."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.put(staged_delivery(orders=[order(told, "Resume")]))

    assert ["staged-order"] == rules(told.run(20))

    outcome = hear(told, "a", failure="ProgressDeadlineExceeded").run(30)

    assert "Stopped" == run_of(told)["state"]
    assert [" was not stopped when it came"] == [
        one.message[-29:] for one in outcome.faults if one.rule == "staged-order"
    ]

    again = [order(told, "Resume"), order(told, "Resume")]
    told.put(staged_delivery(orders=again)).run(40)

    assert "Updating" == run_of(told)["state"]


def test_an_order_of_an_earlier_run_is_history() -> None:
    """It says nothing."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    orders = [order(told, "Stop")]
    told.put(version("3"), staged_delivery(orders=orders))

    assert [] == rules(told.run(20))
    assert 2 == run_of(told)["number"]


@pytest.mark.parametrize("run", ["1-0", "2-0", "3-6edc2a34", "x", "9" * 40])
def test_an_order_of_no_run_is_told(run: str) -> None:
    """Of an earlier number with another id, of the present one, and of one to come."""
    told = begun(*THREE)
    stop = {"run": run, "generation": 1, "action": "Stop"}
    told.put(version("2"), staged_delivery(orders=[stop])).run(10)
    told.put(version("3"))
    outcome = told.run(20)

    assert [f'this order has no effect: there is no run "{run}"'] == [
        one.message for one in outcome.faults
    ]
    assert "Updating" == run_of(told)["state"]


def test_a_failing_canary_stops_the_run() -> None:
    """Until a person resumes it, in spite of what failed."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    hear(told, "a", ready=False).run(20)

    assert "waits for a in stage canary" == reason(told)

    hear(told, "a", ready=False, failure="ProgressDeadlineExceeded")

    assert ["staged-stopped"] == rules(told.run(30))
    assert "stage canary failed on 1 cluster: a: ProgressDeadlineExceeded" == reason(told)
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    assert () == told.run(10_000).changes

    told.put(staged_delivery(orders=[order(told, "Resume")]))

    assert [] == rules(told.run(10_001))
    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)


@pytest.mark.parametrize("more", [{"taints": [taint(effect="NoExecute")]}, None])
def test_a_canary_that_is_lost_before_it_succeeds_stops_the_run(
    more: Mapping[str, Any] | None,
) -> None:
    """Whatever took the object off it: it will never report that the version runs."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    if more is None:
        del told.files[path_of(cluster("a"))]
    else:
        told.put(in_stage("a", "canary", **more))

    assert ["staged-stopped"] == rules(told.run(20))
    assert reason(told) == (
        "stage canary failed on 1 cluster: a: default/web left it before it reported that the new "
        "version runs"
    )
    assert {"b": "1 x3", "c": "1 x3"}.items() <= images(told).items()

    told.put(staged_delivery(orders=[order(told, "Resume")]))

    assert [] == rules(told.run(30))
    assert {"b": "2 x3", "c": "2 x3"}.items() <= images(told).items()


@pytest.mark.parametrize("name", ["canary", "other"])
def test_a_stage_that_has_begun_is_not_left_by_other_labels_or_stages(name: str) -> None:
    """Nothing goes on before its clusters succeed; the strategy may have another stage by then."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.put(in_stage("a", "none"), strategy(stage(name), THREE[1])).run(20)

    assert "waits for a in stage canary" == reason(told)
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)

    hear(told, "a").run(30)
    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)


def test_a_wait_after_a_stage_outlasts_its_clusters() -> None:
    """They have succeeded, and what is waited for is told by nobody else."""
    told = begun(stage("canary", afterStageTasks=[waits("10m")]), stage("prod"))
    told.put(version("2")).run(10)
    hear(told, "a").run(20)
    told.put(in_stage("a", "canary", taints=[taint(effect="NoExecute")])).run(30)

    assert "waits for stage canary until 2026-11-20T12:10:20Z" == reason(told)
    assert "1 x3" == images(told)["b"]


def test_what_was_unhealthy_before_is_no_failure() -> None:
    """It did not become worse."""
    told = begun(*THREE)
    hear(told, "a", ready=False).run(5)
    told.put(version("2")).run(10)
    hear(told, "a", ready=False).run(20)

    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)


def test_as_many_may_fail_as_the_threshold_allows() -> None:
    """One less than that."""
    told = begun(*THREE, failureThreshold=2)
    told.put(version("2")).run(10)
    hear(told, "a", failure="ProgressDeadlineExceeded").run(20)

    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)


@pytest.mark.parametrize("heard", [True, False])
def test_the_deadline_stops_what_is_silent_or_not_healthy(*, heard: bool) -> None:
    """Silence passes nothing."""
    told = begun(*THREE, stageDeadlineSeconds=60)
    told.put(version("2")).run(10)
    if heard:
        hear(told, "a", ready=False)

    assert rules(told.run(69)) == []
    assert ["staged-stopped"] == rules(told.run(70))
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)


def test_a_rollback_gives_each_cluster_what_it_had() -> None:
    """Until the next change of the object, which begins another run."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    hear(told, "a").run(20)
    told.put(staged_delivery(orders=[order(told, "Rollback")]))

    assert ["staged-held"] == rules(told.run(30))
    assert {"a": "1 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    assert () == told.run(40).changes

    told.put(version("2", replicas=4)).run(45)

    assert {"a": "1 x4", "b": "1 x4", "c": "1 x4"} == images(told)

    told.put(version("3"))

    assert [] == rules(told.run(50))
    assert {"a": "3 x3", "b": "1 x3", "c": "1 x3"} == images(told)


def test_a_change_in_the_middle_is_the_next_run() -> None:
    """Each cluster had what it has by then."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.put(version("3")).run(20)

    assert {"a": "3 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    assert 2 == run_of(told)["number"]

    told.put(staged_delivery(orders=[order(told, "Rollback")])).run(30)

    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)


def test_a_change_that_is_taken_back_ends_the_run() -> None:
    """Only clusters that have something else are updated."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.put(version("1")).run(20)

    assert {"a": "1 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    hear(told, "a").run(30)
    assert "Finished" == run_of(told)["state"]


def test_a_cluster_that_fails_leaves_its_work_to_one_on_the_version_of_its_stage() -> None:
    """What comes up elsewhere is the old version where the stage has not begun."""
    told = story(*(in_stage(n, w, status=cluster_status(pods=100)) for n, w in STAGES.items()))
    divided = {"replicaScheduling": DYNAMIC, "clusterAffinity": {"clusterNames": ["a", "b"]}}
    told.put(configuration(**OPTIONS), policy(placement=divided), version("1", replicas=4))
    told.put(strategy(*THREE), staged_delivery())
    told.run(0)
    told.put(version("2", replicas=4)).run(10)

    assert {"a": "2 x2", "b": "1 x2"} == images(told)

    told.put(policy(placement={**divided, "clusterAffinity": {"clusterNames": ["a", "c"]}}))
    told.run(20)

    assert "1 x" in images(told)["c"]
    assert "2 x" in images(told)["a"]


def test_a_cluster_that_comes_to_a_stage_that_has_begun_gets_the_new_version() -> None:
    """As its mates do."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.put(in_stage("d", "canary")).run(20)

    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3", "d": "2 x3"} == images(told)


def test_clusters_in_no_stage_keep_what_they_have() -> None:
    """The run says that it waits for them, and once nothing else is left, that is a fault."""
    told = begun(stage("canary"))
    told.put(version("2"))
    assert [] == rules(told.run(10))
    hear(told, "a")

    assert ["staged-strategy"] == rules(told.run(20))
    assert "waits for b, c in no stage of the strategy" == reason(told)
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)

    told.put(strategy(*THREE))

    assert [] == rules(told.run(30))
    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)


@pytest.mark.parametrize("stages", [[], [stage("elsewhere")]])
def test_a_run_without_a_cluster_in_a_stage_is_told(stages: Sequence[Body]) -> None:
    """It would wait for ever."""
    told = begun(*stages)
    told.put(version("2"))

    found = [one.message for one in told.run(10).faults]

    assert [f"the run {run_of(told)['id']} waits for a, b, c in no stage of careful"] == found


def test_a_plan_names_the_clusters_of_each_stage_and_those_in_none() -> None:
    """Before the merge that begins the run."""
    told = begun(*THREE, clusters={**STAGES, "d": "none"})
    base = told.world()
    merged = told.put(version("2")).world()
    steps = [one.clause for one in preview(base, merged, after(10)).progress]
    name = steps[0].removeprefix("run ").split(" ")[0]

    stages = "stage canary (1 cluster: a), stage prod (2 clusters: b, c)"
    outside = "in no stage, so nothing changes there (1 cluster: d)"

    assert [f"run {name} begins: {stages}, {outside}", "stage canary begins"] == steps


def test_without_its_strategy_nothing_goes_on() -> None:
    """And that is a fault."""
    told = begun(*THREE)
    told.drop(strategy(*THREE)).put(version("2"))

    assert ["staged-strategy"] == rules(told.run(10))
    assert {"a": "1 x3", "b": "1 x3", "c": "1 x3"} == images(told)


def test_a_staged_delivery_that_is_deleted_leaves_each_cluster_with_what_it_has() -> None:
    """Until the next change, which reaches all of them at once."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.drop(staged_delivery())

    assert ["staged-held"] == rules(told.run(20))
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    assert () == told.run(30).changes

    told.put(version("3"))

    assert [] == rules(told.run(40))
    assert {"a": "3 x3", "b": "3 x3", "c": "3 x3"} == images(told)
    assert RECORD not in told.files


@pytest.mark.parametrize("name", ["", "also"])
def test_the_run_of_one_that_is_deleted_is_stopped(name: str) -> None:
    """The fault is at the file whose change ends it, and says what that will do."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.drop(staged_delivery())
    if name:
        told.put(staged_delivery(name))
    outcome = told.run(20)
    does = "begins another run" if name else "reaches all clusters at once"

    assert [(path_of(version("2")), f"the next change of content, which {does}")] == [
        (one.path, one.expected) for one in outcome.faults
    ]
    assert "Stopped" == run_of(told)["state"]
    assert "the StagedDelivery web was deleted" == reason(told)
    assert () == told.run(30).changes


@pytest.mark.parametrize("changed", [True, False])
def test_what_is_selected_no_more_keeps_what_its_clusters_have(*, changed: bool) -> None:
    """Where they have the same, it is forgotten."""
    told = begun(*THREE)
    if changed:
        told.put(version("2")).run(10)
    before = images(told)
    told.put(staged_delivery(selector={"kind": "StatefulSet"}))
    outcome = told.run(20)

    assert not outcome.traces
    assert (["staged-held"] if changed else []) == rules(outcome)
    assert before == images(told)
    assert () == told.run(30).changes
    if changed:
        assert ("Left", "Deployment default/web is not selected any more") == (
            run_of(told)["state"],
            reason(told),
        )


def test_a_set_with_a_strategy_of_its_own_leaves_the_run() -> None:
    """Two clusters have another version, so that the run is not finished."""
    told = story(*(managed(name, where) for name, where in STAGES.items()))
    told.put(configuration(**OPTIONS), worlds.cluster_set(), worlds.binding(), worlds.placement())
    told.put(strategy(*THREE), staged_delivery(selector={"kind": "ManifestWorkReplicaSet"}))
    told.put(worlds.replica_set(version("1"))).run(0)
    told.put(worlds.replica_set(version("2"))).run(10)
    before = told.world()
    told.put(worlds.replica_set(version("2"), strategy=worlds.progressive()))
    asked = preview(before, told.world(), after(20))
    held = [one.message for one in told.run(20).faults if one.rule == "staged-held"]

    why = "ManifestWorkReplicaSet ns1/shop is rolled out by itself now"
    left = f"run {run_of(told)['id']} is left, and its clusters keep what they have: {why}"
    assert [left] == [one.clause for one in asked.progress]
    assert ("Left", why) == (run_of(told)["state"], reason(told))
    assert [True] == [one.startswith(f"{why}: clusters keep") for one in held]
    (clause,) = set(held_in(told.world()).popitem()[1].values())
    assert clause.startswith("another change: the StagedDelivery web stages it no more; it has")
    assert () == told.run(30).changes


def test_a_plan_says_what_is_released() -> None:
    """A label takes it out of the selector, and is a change of content that reaches all at once."""
    told = begun(*THREE, selector={"labelSelector": {"matchLabels": {"app": "web"}}})
    body: Any = version("1")
    labelled = {**body, "metadata": {**body["metadata"], "labels": {"app": "web"}}}
    told.put(labelled).run(10)
    before = told.world()
    told.put(version("2"))
    asked = preview(before, told.world(), after(20))

    said = (
        "changes of Deployment default/web are not held back any more: it is not selected, or gone"
    )
    assert [said] == [one.clause for one in asked.progress]


def test_a_namespace_that_is_written_as_well_is_no_change() -> None:
    """Clusters get it all the same."""
    told = begun(*THREE)
    body: Any = version("1")
    bare = {**body, "metadata": {"name": "web"}}

    told.put(bare, path=path_of(version("1"))).run(10)

    assert None is run_of(told)


def test_one_that_comes_back_goes_on() -> None:
    """What clusters have differs, so that another run begins."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.drop(staged_delivery()).run(20)
    told.put(staged_delivery())

    assert [] == rules(told.run(30))
    hear(told, "a").run(40)
    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)


def test_an_object_has_one_staged_delivery() -> None:
    """The one that has it already; the other says so."""
    told = begun(*THREE)
    told.put(staged_delivery("also"))

    assert ["staged-twice"] == rules(told.run(10))
    told.put(version("2")).run(20)
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("name", ["also", "zone"])
def test_what_another_one_left_is_held_until_it_changes(name: str, *, stays: bool) -> None:
    """Whatever its name, and whether the first one is removed or selects it no more."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    if stays:
        told.put(staged_delivery(selector={"kind": "StatefulSet"}), staged_delivery(name))
    else:
        told.drop(staged_delivery()).put(staged_delivery(name))

    assert ["staged-held"] == rules(told.run(20))
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    hear(told, "a")
    assert () == told.run(30).changes

    told.put(version("3"))

    assert [] == rules(told.run(40))
    assert {"a": "3 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    hear(told, "a").run(50)
    assert {"a": "3 x3", "b": "3 x3", "c": "3 x3"} == images(told)


def test_one_that_is_renamed_and_edited_at_once_begins_with_what_clusters_have() -> None:
    """No cluster gets the version between."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.drop(staged_delivery()).put(staged_delivery("also"), version("3"))

    assert [] == rules(told.run(20))
    assert {"a": "3 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    assert RECORD not in told.files


def test_what_a_placement_rolls_out_is_left_to_it() -> None:
    """KubeFleet has rollouts of its own."""
    told = story(member("a"), placement(), deployment(), strategy(*THREE), staged_delivery())
    told.put(configuration(**OPTIONS))
    told.run(0)

    assert ["staged-by-itself"] == rules(told.run(1))


def test_a_version_that_cannot_be_read_holds_everything() -> None:
    """The files of clusters stay as they are, and the fault says why."""
    told = begun(*THREE)
    told.trees.clear()
    told.put(version("2"))

    assert {"delivery-not-rendered"} == set(rules(told.run(10)))
    assert {"a": "1 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    assert reason(told).endswith("which cannot be read")


def test_the_objects_of_one_change_go_together() -> None:
    """A cluster gets all of them, and is done once all of them run."""
    told = begun(*THREE)
    second = deployment("api", replicas=3)
    told.put(second).run(2)
    edited: Any = deployment("api", replicas=3)
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = "2"
    told.put(version("2"), edited).run(10)
    hear(told, "a").run(20)

    assert "waits for a in stage canary" == reason(told)


def test_copies_bear_their_version() -> None:
    """By which reports are told apart; where nothing is staged they bear none."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    marks = {name: mapping(delivered(told, name), "metadata")["annotations"] for name in "abc"}
    told_versions = {name: one[CONTENT] for name, one in marks.items()}  # type: ignore[index]  # annotations

    assert told_versions["a"] != told_versions["b"] == told_versions["c"]


def test_an_eviction_goes_on_while_a_stage_waits() -> None:
    """Placement is no content."""
    told = begun(*THREE)
    told.put(version("2")).run(10)
    told.put(in_stage("b", "prod", taints=[taint(effect="NoExecute")])).run(20)

    assert {"a": "2 x3", "c": "1 x3"}.items() <= images(told).items()


def overriding(value: str, *, clusters: Sequence[str] = ()) -> Body:
    """An OverridePolicy by which web has an annotation, on some clusters or on all."""
    change = {"operator": "add", "value": {"tuned": value}}
    target = {"targetCluster": {"clusterNames": list(clusters)}} if clusters else {}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata("tuned", "default"),
        "spec": {"overrideRules": [{**target, "overriders": {"annotationsOverrider": [change]}}]},
    }


def tuned(told: Story) -> dict[str, object]:
    """The annotation that each cluster is given."""
    found: dict[str, Any] = {name: mapping(delivered(told, name), "metadata") for name in "abc"}
    return {name: one["annotations"].get("tuned") for name, one in found.items()}


def test_overrides_reach_all_clusters_at_once() -> None:
    """Unless they are staged, too; then they begin a run as a template does."""
    told = begun(*THREE)
    told.put(overriding("1")).run(10)
    assert {"a": "1", "b": "1", "c": "1"} == tuned(told)

    told.put(staged_delivery(onChange="overrides")).run(20)
    assert run_of(told) is None

    told.put(overriding("2")).run(30)
    assert {"a": "2", "b": "1", "c": "1"} == tuned(told)

    told.put(version("2")).run(40)
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)
    hear(told, "a").run(50)
    assert {"a": "2", "b": "2", "c": "2"} == tuned(told)
    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)


def test_an_override_by_name_means_a_file_without_namespace() -> None:
    """Which is in the namespace default, as for what is delivered."""
    nameless = {**version("1"), "metadata": metadata("web")}
    selected: Any = overriding("1")
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    selected["spec"]["resourceSelectors"] = [selector]
    told = begun(*THREE, onChange="overrides")
    told.put(nameless, path=path_of(version("1"))).run(2)

    told.put(selected).run(10)
    assert {"a": "1", "b": None, "c": None} == tuned(told)


def test_an_override_that_comes_or_goes_is_staged() -> None:
    """Each cluster goes by those of its version."""
    told = begun(*THREE, onChange="overrides")
    told.put(overriding("1")).run(10)
    assert {"a": "1", "b": None, "c": None} == tuned(told)

    hear(told, "a").run(20)
    for name in "bc":
        hear(told, name)
    told.run(30)
    told.drop(overriding("1")).run(40)
    assert {"a": None, "b": "1", "c": "1"} == tuned(told)

    generation = {**order(told, "Rollback"), "generation": 1}
    told.put(staged_delivery(onChange="overrides", orders=[generation])).run(50)
    assert {"a": "1", "b": "1", "c": "1"} == tuned(told)


def test_an_override_that_cannot_be_read_holds_everything() -> None:
    """As a template does."""
    told = begun(*THREE)
    told.put(overriding("1"), staged_delivery(onChange="overrides")).run(10)
    told.trees.clear()
    told.put(overriding("2"))

    assert {"delivery-not-rendered"} == set(rules(told.run(20)))
    assert {"a": "1", "b": "1", "c": "1"} == tuned(told)


@pytest.mark.parametrize("transport", ["works", "manifestworks"])
def test_other_transports_that_carry_manifests_are_staged(transport: str) -> None:
    """Each object of theirs has the version of its cluster."""
    root = f"{transport}/{{cluster}}"
    carried = {"path": root, **({"hubsWithoutControllers": True} if transport == "works" else {})}
    told = story(*(in_stage(name, where) for name, where in STAGES.items()))
    told.put(configuration(delivery={transport: carried}), policy(placement={}), version("one"))
    told.put(strategy(*THREE), staged_delivery())
    told.run(0)
    told.put(version("two")).run(10)
    found = {
        path.split("/")[1]: "image: two" in content
        for path, content in told.files.items()
        if path.startswith(f"{transport}/") and "image: " in content
    }

    assert {"a": True, "b": False, "c": False} == found
