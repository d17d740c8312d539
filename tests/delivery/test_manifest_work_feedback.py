"""ManifestWorks that bring what other APIs decided, and come back with what an agent says."""

import pytest

from reconciler.dialects.ocm.workstatus.work_status import FINALIZER, status_of_work
from reconciler.manifests.text.reader import read
from reconciler.model.fields import without
from tests.builders import Body, cluster, configuration, deployment, policy, text, text_of
from tests.dialects.kubefleet.fleet import condition, member, placement
from tests.stories import Story, story

SILENT = configuration(delivery={"manifestworks": {}}, feedback={"assumeAfterSeconds": None})
HEALTHY = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}


def reported(told: Story, name: str, status: Body | None) -> Story:
    """Let the agent of a cluster report each ManifestWork that is delivered to it.

    `status` is that of every Deployment there; with `None` no object could be applied.
    """
    live = {**deployment(), "status": status}
    for path in [path for path in told.files if path.startswith(f"manifestworks/{name}/")]:
        work = read(told.files[path].encode(), path).documents[0].body
        spec, metadata = work["spec"], work["metadata"]
        assert isinstance(spec, dict)
        assert isinstance(metadata, dict)
        done = {
            "type": "Applied",
            "status": "False" if status is None else "True",
            "reason": "AppliedManifest",
            "message": "no such namespace" if status is None else "",
            "lastTransitionTime": text_of(told.now),
        }
        manifests = [
            {"resourceMeta": meta(number, one), "conditions": [done]}
            for number, one in enumerate(spec["workload"]["manifests"])
        ]
        known = {"conditions": [done], "resourceStatus": {"manifests": manifests}}
        applied = {**work, "metadata": {**metadata, "finalizers": [FINALIZER]}, "status": known}
        found = status_of_work(applied, lambda _: live, raw=False, at=text_of(told.now))
        file = f"feedback/{name}/{metadata['name']}.yaml"
        told.files[file] = text({**work, "status": found})
    return told


def meta(number: int, manifest: Body) -> Body:
    """How an agent names a manifest."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    own = manifest["metadata"]
    assert isinstance(own, dict)
    kind = str(manifest["kind"])
    named = {"name": own["name"], "namespace": own.get("namespace", "")}
    types = {"group": group, "version": version, "kind": kind, "resource": f"{kind.lower()}s"}
    return {"ordinal": number, **types, **named}


def placed_by_karmada() -> Story:
    """A Deployment on one cluster of Karmada's."""
    told = story(cluster("a"), policy(), deployment(), SILENT)
    told.run(0)
    return told


@pytest.mark.parametrize(
    ("status", "health"),
    [
        pytest.param(HEALTHY, "Healthy", id="all-run"),
        pytest.param({**HEALTHY, "availableReplicas": 1}, "Unhealthy", id="one-is-missing"),
        pytest.param({"replicas": 2}, "Unhealthy", id="none-runs"),
    ],
)
def test_feedback_of_a_manifest_work_is_the_health_of_what_karmada_placed(
    status: Body, health: str
) -> None:
    """The ManifestWork asks its agent for the numbers that health follows from."""
    told = reported(placed_by_karmada(), "a", status)
    outcome = told.run(10)

    assert () == outcome.faults
    entry = {"clusterName": "a", "status": status, "applied": True, "health": health}
    assert [entry] == told.binding()["status"]["aggregatedStatus"]  # type: ignore[index]  # of JSON


def test_what_an_agent_could_not_apply_is_told_of_karmadas_binding() -> None:
    """With its words."""
    told = reported(placed_by_karmada(), "a", None)
    told.run(10)
    status = told.binding()["status"]
    assert isinstance(status, dict)

    assert [
        {
            "clusterName": "a",
            "appliedMessage": "no such namespace",
            "applied": False,
            "health": "Unknown",
        }
    ] == status["aggregatedStatus"]


@pytest.mark.parametrize(
    ("status", "applied", "available"),
    [
        pytest.param(HEALTHY, "True", "True", id="all-run"),
        pytest.param({"replicas": 2}, "True", "False", id="none-runs"),
        pytest.param(None, "False", "Unknown", id="not-applied"),
    ],
)
def test_manifest_works_say_how_far_a_placement_of_kubefleet_is(
    status: Body | None, applied: str, available: str
) -> None:
    """As far as they say it of single resources."""
    told = story(member("a"), placement(), deployment(), SILENT)
    told.run(0)
    reported(told, "a", status).run(10)

    assert applied == condition(told, "Applied")["status"]
    assert available == stage(told, "Available")


def stage(told: Story, kind: str) -> object:
    """Status of a stage of the placement, Unknown if it is not told."""
    try:
        return condition(told, kind)["status"]
    except StopIteration:
        return "Unknown"


def test_without_what_is_wanted_nothing_is_known_to_be_healthy() -> None:
    """All replicas that are there run, yet there may be fewer than there should be."""
    told = reported(placed_by_karmada(), "a", {**HEALTHY, "replicas": 1, "availableReplicas": 1})
    for path in [path for path in told.files if path.startswith("feedback/a/")]:
        told.files[path] = text(
            without(read(told.files[path].encode(), path).documents[0].body, ("spec",))
        )
    told.run(10)

    assert "'health': 'Unknown'" in str(told.binding()["status"])
