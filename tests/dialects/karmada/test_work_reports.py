"""What an export of Works says of workloads does what plain reports do."""

import pytest

from reconciler.dialects.karmada.binding.works import work_name
from tests.builders import Body, cluster, configmap, configuration, deployment, live, policy, text
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
