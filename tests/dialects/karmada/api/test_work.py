"""What Works report of each kind, how healthy that is, and that it counts as plain reports do."""

from collections.abc import Callable

import pytest

from reconciler.dialects.karmada.api.work import reflected_status
from reconciler.dialects.karmada.binding.works import work_name
from reconciler.imports.importers import Wanted
from reconciler.model.health import Health, health_of
from tests.builders import Body, cluster, configmap, configuration, deployment, live, policy, text
from tests.imports.imported import import_into
from tests.stories import Story, story

APPLIED = {"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": ""}
FAILED = {**APPLIED, "status": "False", "reason": "AppliedFailed", "message": "no such namespace"}
AT = {"lastTransitionTime": "2026-11-20T12:00:00Z"}


def work(
    name: str,
    workload: Body,
    health: str = "Healthy",
    *,
    available: int = 2,
    applied: Body = APPLIED,
    status: Body | None = None,
) -> Body:
    """What Karmada's agents say of the Work of a workload in a cluster."""
    metadata = workload["metadata"]
    assert isinstance(metadata, dict)
    group, _, version = str(workload["apiVersion"]).rpartition("/")
    kind, of = str(workload["kind"]), (metadata["namespace"], metadata["name"])
    found = {
        "identifier": {
            "ordinal": 0,
            "group": group,
            "version": version,
            "kind": kind,
            "resource": f"{kind.lower()}s",
            "namespace": of[0],
            "name": of[1],
        },
        "status": status or {"replicas": 2, "availableReplicas": available},
        "health": health,
    }
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {"name": work_name(kind, *of), "namespace": f"karmada-es-{name}"},
        "spec": {"workload": {"manifests": [workload]}},
        "status": {
            "conditions": [{**applied, **AT}],
            **({"manifestStatuses": [found]} if applied == APPLIED else {}),
        },
    }


def says(told: Story, name: str, body: Body, file: str = "work") -> Story:
    """Put what a cluster's agent reports into its folder."""
    told.files[f"feedback/{name}/{file}.yaml"] = text(body)
    return told


def placed() -> Story:
    """Web on the cluster a, of which nothing is assumed."""
    told = story(cluster("a"), policy(), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": None}))
    told.run()
    return told


def aggregated(told: Story, name: str = "web-deployment") -> object:
    """What a binding knows of its clusters."""
    status = told.binding(name)["status"]
    assert isinstance(status, dict)
    return status.get("aggregatedStatus")


def test_a_work_is_aggregated() -> None:
    """Its status and its health are those of the manifest in it."""
    told = says(placed(), "a", work("a", deployment()))
    outcome = told.run()

    assert () == outcome.faults
    assert [
        {
            "clusterName": "a",
            "status": {"replicas": 2, "availableReplicas": 2},
            "applied": True,
            "health": "Healthy",
        }
    ] == aggregated(told)
    assert "FullyAppliedSuccess" == told.condition("FullyApplied")["reason"]


def test_a_work_that_could_not_be_applied_says_why() -> None:
    """Nothing is known of its health then, as upstream has it."""
    told = says(placed(), "a", work("a", deployment(), applied=FAILED))
    told.run()

    assert [
        {
            "clusterName": "a",
            "appliedMessage": "no such namespace",
            "applied": False,
            "health": "Unknown",
        }
    ] == aggregated(told)
    assert "FullyAppliedFailed" == told.condition("FullyApplied")["reason"]


def test_a_work_without_statuses_tells_of_its_manifests() -> None:
    """A ConfigMap has no status; that it was applied is all there is to say."""
    told = story(cluster("a"), policy(selectors=[{"apiVersion": "v1", "kind": "ConfigMap"}]))
    told.put(configmap(), configuration(feedback={"assumeAfterSeconds": None}))
    told.run()
    body = work("a", configmap())
    status = body["status"]
    assert isinstance(status, dict)
    del status["manifestStatuses"]
    says(told, "a", body).run()

    assert [{"clusterName": "a", "applied": True, "health": "Unknown"}] == aggregated(
        told, "settings-configmap"
    )


def test_a_work_that_is_being_deleted_says_nothing() -> None:
    """As upstream, which leaves it out."""
    body = work("a", deployment())
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    metadata["deletionTimestamp"] = "2026-11-20T12:00:00Z"
    told = says(placed(), "a", body)
    told.run()

    assert None is aggregated(told)


def test_a_plain_report_counts_more_than_a_work() -> None:
    """It is nearer to the cluster."""
    told = says(placed(), "a", work("a", deployment(), "Unhealthy", available=0))
    report = live(deployment(), updatedReplicas=2, availableReplicas=2)
    says(told, "a", report, "web").run()

    assert "'health': 'Healthy'" in str(aggregated(told))


def test_what_is_left_of_a_work_is_forgotten() -> None:
    """The file is removed, and the cluster is silent again."""
    told = says(placed(), "a", work("a", deployment()))
    told.run()
    del told.files["feedback/a/work.yaml"]
    told.run()

    assert None is aggregated(told)


@pytest.mark.parametrize(
    ("folder", "body", "rules"),
    [
        pytest.param("a", work("a", deployment("other")), [], id="of-something-unknown"),
        pytest.param("b", work("a", deployment()), ["feedback-namespace"], id="wrong-folder"),
    ],
)
def test_a_work_about_something_else_disturbs_nothing(
    folder: str, body: Body, rules: list[str]
) -> None:
    """One of an unknown object is ignored, one in the folder of another cluster is a fault."""
    told = placed()
    before = told.binding()
    outcome = says(told, folder, body).run()

    assert rules == [fault.rule for fault in outcome.faults]
    assert before == told.binding()


def test_unhealthy_works_make_a_workload_leave() -> None:
    """Application failover waits as long for a Work as for a plain report."""
    groups = [{"affinityName": name, "clusterNames": [name]} for name in ("a", "b")]
    application = {"decisionConditions": {"tolerationSeconds": 60}}
    told = story(cluster("a"), cluster("b"), deployment())
    told.put(
        policy(
            placement={"clusterAffinities": groups},
            failover={"application": application},
            propagateDeps=True,
        )
    )
    told.run(0)
    says(told, "a", work("a", deployment(), "Unhealthy")).run(10)
    told.run(70)

    assert {"a": 2} == told.placed()

    told.run(71)

    assert {"b": 2} == told.placed()


CONDITION = {"type": "Any", "status": "True", "lastTransitionTime": "2026-11-20T12:00:00Z"}
CONDITIONS = [CONDITION]
BALANCED = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
REVISIONS = {"currentRevision": "a", "updateRevision": "b", "collisionCount": 1}
DISRUPTIONS = {
    "currentHealthy": 2,
    "desiredHealthy": 1,
    "disruptedPods": {"web-1": "2026-11-20T12:00:00Z"},
    "disruptionsAllowed": 1,
    "expectedPods": 2,
}
SETS = {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
DAEMONS = {
    "currentNumberScheduled": 3,
    "desiredNumberScheduled": 3,
    "numberAvailable": 2,
    "numberMisscheduled": 0,
    "numberReady": 2,
    "numberUnavailable": 1,
    "observedGeneration": 2,
    "updatedNumberScheduled": 3,
}
JOB = {
    "active": 0,
    "completionTime": "2026-11-20T12:00:00Z",
    "conditions": CONDITIONS,
    "failed": 1,
    "startTime": "2026-11-20T12:00:00Z",
    "succeeded": 0,
}
CRON = {"active": [{"name": "report-1"}], "lastScheduleTime": "2026-11-20T12:00:00Z"}
GENERATIONS = {"generation": 2, "resourceTemplateGeneration": 7}
NOTED = {"resourcetemplate.karmada.io/generation": "7"}


def report(api_version: str, kind: str, status: Body, **fields: object) -> Body:
    """A copy as its cluster holds it, of the second generation."""
    metadata = {"name": "x", "generation": 2, "annotations": NOTED}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        "status": status,
        **fields,
    }


@pytest.mark.parametrize(
    ("api_version", "kind", "kept", "dropped"),
    [
        pytest.param(
            "apps/v1",
            "Deployment",
            {**SETS, "unavailableReplicas": 0, "observedGeneration": 2, **GENERATIONS},
            {"collisionCount": 1, "conditions": CONDITIONS, "terminatingReplicas": 0},
            id="deployment",
        ),
        pytest.param(
            "apps/v1",
            "StatefulSet",
            {**SETS, "currentReplicas": 3, **GENERATIONS},
            {"observedGeneration": 2, "conditions": CONDITIONS, **REVISIONS},
            id="stateful-set",
        ),
        pytest.param(
            "apps/v1",
            "DaemonSet",
            {**DAEMONS, **GENERATIONS},
            {"collisionCount": 1, "conditions": CONDITIONS},
            id="daemon-set",
        ),
        pytest.param(
            "batch/v1",
            "Job",
            JOB,
            {"ready": 1, "terminating": 0, "uncountedTerminatedPods": {}, "completedIndexes": "1"},
            id="job",
        ),
        pytest.param(
            "policy/v1",
            "PodDisruptionBudget",
            DISRUPTIONS,
            {"observedGeneration": 2, "conditions": CONDITIONS},
            id="pod-disruption-budget",
        ),
        pytest.param(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"currentReplicas": 2, "desiredReplicas": 3},
            {"currentMetrics": [], "lastScaleTime": "x", "conditions": CONDITIONS},
            id="autoscaler",
        ),
        pytest.param("networking.k8s.io/v1", "Ingress", BALANCED, {}, id="ingress"),
        pytest.param("batch/v1", "CronJob", CRON, {}, id="cron-job"),
        pytest.param(
            "v1", "Pod", {"phase": "Running", "conditions": CONDITIONS, "podIP": "x"}, {}, id="pod"
        ),
        pytest.param(
            "v1",
            "PersistentVolumeClaim",
            {"phase": "Bound", "accessModes": [], "conditions": CONDITIONS},
            {},
            id="claim",
        ),
        pytest.param(
            "apps/v1",
            "ReplicaSet",
            {**SETS, "observedGeneration": 2, "conditions": CONDITIONS},
            {},
            id="replica-set",
        ),
        pytest.param(
            "example.io/v1", "Db", {"phase": "up"}, {"conditions": CONDITIONS}, id="custom-is-ours"
        ),
        pytest.param(
            "autoscaling/v1",
            "HorizontalPodAutoscaler",
            {"currentReplicas": 2, "currentCPUUtilizationPercentage": 7},
            {},
            id="another-version-has-no-rule",
        ),
    ],
)
def test_what_is_kept(api_version: str, kind: str, kept: Body, dropped: Body) -> None:
    """Of a copy with every field that its kind may have."""
    assert kept == reflected_status(report(api_version, kind, {**kept, **dropped}))


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        pytest.param({"spec": {"type": "LoadBalancer"}}, BALANCED, id="balanced"),
        pytest.param({"spec": {"type": "ClusterIP"}}, {}, id="another-type"),
        pytest.param({}, BALANCED, id="its-type-is-not-told"),
    ],
)
def test_of_services_only_load_balancers_are_kept(spec: Body, kept: Body) -> None:
    """Reports may lack a spec; then what is there counts, and an empty one does not."""
    assert kept == reflected_status(report("v1", "Service", {**BALANCED, "conditions": []}, **spec))
    assert {} == reflected_status(report("v1", "Service", {"loadBalancer": {}}))


def test_generations_are_kept_as_far_as_they_are_told() -> None:
    """An annotation that is no number tells nothing, and without a status there is none."""
    bare = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    noted = {"annotations": {"resourcetemplate.karmada.io/generation": "many"}}

    assert {"replicas": 3} == reflected_status({**bare, "status": {"replicas": 3}})
    assert {"replicas": 3} == reflected_status(
        {**bare, "metadata": noted, "status": {"replicas": 3}}
    )
    assert {} == reflected_status(report("apps/v1", "Deployment", {}))


NOT_READY = {"type": "Ready", "status": "False"}


def observed(**status: object) -> Body:
    """A status of the present generation."""
    return {"observedGeneration": 2, **status}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "status", "health"),
    [
        pytest.param(
            "apps/v1",
            "Deployment",
            {"replicas": 2},
            observed(updatedReplicas=2, availableReplicas=2),
            Health.HEALTHY,
            id="deployment",
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            {"replicas": 2},
            observed(updatedReplicas=1, availableReplicas=2),
            Health.UNHEALTHY,
            id="deployment-not-updated",
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            {},
            observed(updatedReplicas=2, availableReplicas=1),
            Health.UNHEALTHY,
            id="deployment-less-available-than-updated",
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            {},
            {"observedGeneration": 1},
            Health.UNHEALTHY,
            id="deployment-of-another-generation",
        ),
        pytest.param(
            "apps/v1",
            "StatefulSet",
            {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
            observed(updatedReplicas=1, availableReplicas=3),
            Health.HEALTHY,
            id="stateful-set-partitioned",
        ),
        pytest.param(
            "apps/v1",
            "StatefulSet",
            {"replicas": 3},
            observed(updatedReplicas=3, availableReplicas=2),
            Health.UNHEALTHY,
            id="stateful-set-not-available",
        ),
        pytest.param(
            "apps/v1",
            "ReplicaSet",
            {"replicas": 2},
            observed(availableReplicas=1),
            Health.UNHEALTHY,
            id="replica-set",
        ),
        pytest.param(
            "apps/v1",
            "DaemonSet",
            {},
            observed(updatedNumberScheduled=2, desiredNumberScheduled=2, numberAvailable=2),
            Health.HEALTHY,
            id="daemon-set",
        ),
        pytest.param(
            "apps/v1",
            "DaemonSet",
            {},
            observed(updatedNumberScheduled=1, desiredNumberScheduled=2, numberAvailable=2),
            Health.UNHEALTHY,
            id="daemon-set-not-updated",
        ),
        pytest.param("v1", "Service", {"type": "ClusterIP"}, {}, Health.HEALTHY, id="service"),
        pytest.param(
            "v1", "Service", {"type": "LoadBalancer"}, {}, Health.UNHEALTHY, id="no-load-balancer"
        ),
        pytest.param(
            "v1", "Service", {"type": "LoadBalancer"}, BALANCED, Health.HEALTHY, id="balanced"
        ),
        pytest.param("networking.k8s.io/v1", "Ingress", {}, BALANCED, Health.HEALTHY, id="ingress"),
        pytest.param(
            "networking.k8s.io/v1",
            "Ingress",
            {},
            {"loadBalancer": {"ingress": [{}]}},
            Health.UNHEALTHY,
            id="ingress-without-address",
        ),
        pytest.param(
            "v1", "PersistentVolumeClaim", {}, {"phase": "Bound"}, Health.HEALTHY, id="claim"
        ),
        pytest.param(
            "v1", "PersistentVolumeClaim", {}, {"phase": "Lost"}, Health.UNHEALTHY, id="claim-lost"
        ),
        pytest.param("v1", "Pod", {}, {"phase": "Succeeded"}, Health.HEALTHY, id="pod-done"),
        pytest.param(
            "v1", "Pod", {}, {"phase": "Running"}, Health.UNHEALTHY, id="pod-that-is-not-ready"
        ),
        pytest.param(
            "v1",
            "Pod",
            {},
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            Health.HEALTHY,
            id="pod-ready",
        ),
        pytest.param(
            "v1",
            "Pod",
            {},
            {"phase": "Running", "conditions": [NOT_READY, {**NOT_READY, "status": "True"}]},
            Health.UNHEALTHY,
            id="pod-whose-first-condition-counts",
        ),
        pytest.param(
            "policy/v1", "PodDisruptionBudget", {}, DISRUPTIONS, Health.HEALTHY, id="budget"
        ),
        pytest.param(
            "policy/v1",
            "PodDisruptionBudget",
            {},
            {**DISRUPTIONS, "currentHealthy": 0},
            Health.UNHEALTHY,
            id="budget-unmet",
        ),
        pytest.param("batch/v1", "Job", {}, JOB, Health.UNKNOWN, id="job-has-no-rule"),
        pytest.param("batch/v1", "CronJob", {}, CRON, Health.UNKNOWN, id="cron-job-has-none"),
        pytest.param(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {},
            {"desiredReplicas": 3},
            Health.UNKNOWN,
            id="autoscaler-has-none",
        ),
        pytest.param("v1", "ConfigMap", {}, {}, Health.UNKNOWN, id="others-have-none"),
    ],
)
def test_how_healthy_it_is(
    api_version: str, kind: str, spec: Body, status: Body, health: Health
) -> None:
    """A kind without a rule is neither healthy nor unhealthy."""
    assert health is health_of(report(api_version, kind, status, spec=spec))


BROKEN = {
    "lastTransitionTime": "2026-11-20T12:00:00Z",
    "message": "Job has reached the specified backoff limit",
    "reason": "BackoffLimitExceeded",
    "status": "True",
    "type": "Failed",
}
FAILED_JOB = {"conditions": [BROKEN], "failed": 7, "startTime": "2026-11-20T11:00:00Z"}
NIGHTLY = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "nightly", "namespace": "default"},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example/job:1"}]}}},
}


def nightly() -> Story:
    """A Job on the cluster a, of which nothing is assumed."""
    told = story(cluster("a"), policy(selectors=[{"apiVersion": "batch/v1", "kind": "Job"}]))
    told.put(NIGHTLY, configuration(feedback={"assumeAfterSeconds": None}))
    told.run()
    return told


def job_work() -> Body:
    """The Work of the Job, as its agent reports it."""
    body = work("a", NIGHTLY, "Unknown")
    status = body["status"]
    assert isinstance(status, dict)
    (of_job,) = status["manifestStatuses"]
    return {**body, "status": {**status, "manifestStatuses": [{**of_job, "status": FAILED_JOB}]}}


def imported(told: Story, body: Body, wanted: Wanted) -> Story:
    """What an import makes of a live object."""
    plan = import_into(told.files, [body], wanted)
    told.files |= {path: data.decode() for path, data in plan.files.items()}
    return told


@pytest.mark.parametrize(
    "reported",
    [
        pytest.param(lambda told: says(told, "a", {**NIGHTLY, "status": FAILED_JOB}), id="by-hand"),
        pytest.param(lambda told: says(told, "a", job_work()), id="a-work-by-hand"),
        pytest.param(
            lambda told: imported(told, {**NIGHTLY, "status": FAILED_JOB}, Wanted(cluster="a")),
            id="imported",
        ),
        pytest.param(lambda told: imported(told, job_work(), Wanted()), id="an-imported-work"),
    ],
)
def test_a_failed_job_is_seen(reported: Callable[[Story], Story]) -> None:
    """Whoever reports it: its health is unknown, but its conditions are there."""
    told = reported(nightly())
    told.run()

    assert [
        {"clusterName": "a", "status": FAILED_JOB, "applied": True, "health": "Unknown"}
    ] == aggregated(told, "nightly-job")


def test_a_binding_without_clusters_says_nothing_of_being_applied() -> None:
    """As upstream, where Works make the condition: nobody applies what is nowhere."""
    told = story(policy())
    told.put({**NIGHTLY, "apiVersion": "apps/v1", "kind": "Deployment"})
    told.run()
    status = told.binding("nightly-deployment")["status"]
    assert isinstance(status, dict)

    assert ["Scheduled"] == [one["type"] for one in status["conditions"]]


def test_a_binding_that_lost_its_clusters_says_so() -> None:
    """It points to no aggregatedStatus, since there is none."""
    told = story(cluster("a"), policy())
    told.put({**NIGHTLY, "apiVersion": "apps/v1", "kind": "Deployment"})
    told.run()
    told.put(policy(placement={"clusterAffinity": {"clusterNames": ["nowhere"]}}))
    told.run()
    binding = told.binding("nightly-deployment")
    status = binding["status"]
    assert isinstance(status, dict)
    (condition,) = [one for one in status["conditions"] if one["type"] == "FullyApplied"]

    expected = ("FullyAppliedFailed", "No cluster is left that could apply it")
    assert expected == (condition["reason"], condition["message"])
    assert "aggregatedStatus" not in status
