"""What exported Works say of a placement drives its conditions and its rollout."""

import pytest

from reconciler.core.reconcile import Memo, reconcile
from tests.builders import Body, after, configmap, configuration, deployment, text
from tests.dialects.kubefleet.fleet import (
    GROUP,
    bindings,
    condition,
    files,
    member,
    namespaced_placement,
    placement,
)
from tests.followed import linked
from tests.stories import Story, applied, story

MARK = "kubernetes-fleet.io"
AT = "2026-11-20T12:00:00Z"


def snapshot_of(told: Story, cluster: str = "a") -> str:
    """The snapshot that a cluster's binding is at."""
    specs = (body["spec"] for body in bindings(told))
    found = [one for one in specs if isinstance(one, dict) and one["targetCluster"] == cluster]
    return str(found[0]["resourceSnapshotName"])


def conditions(observed: int, statuses: dict[str, str], reason: str) -> list[Body]:
    """Conditions of a generation."""
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "",
            "observedGeneration": observed,
            "lastTransitionTime": AT,
        }
        for kind, status in statuses.items()
    ]


def work(
    snapshot: str,
    cluster: str = "a",
    name: str = "web-work",
    *,
    observed: int = 1,
    reason: str = "Reported",
    **statuses: str,
) -> Body:
    """A Work of the placement web with conditions, of its first generation."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": f"fleet-member-{cluster}",
            "generation": 1,
            "labels": {f"{MARK}/parent-CRP": "web"},
            "annotations": {f"{MARK}/parent-resource-snapshot-name": snapshot},
        },
        "spec": {},
        "status": {"conditions": conditions(observed, statuses, reason)},
    }


def says(told: Story, body: Body, cluster: str = "a", file: str = "work") -> Story:
    """Put what a cluster's agent reports into its folder."""
    told.files[f"feedback/{cluster}/{file}.yaml"] = text(body)
    return told


def placed(*names: str, strategy: Body | None = None) -> Story:
    """A Deployment on some clusters, of which nothing is assumed."""
    told = story(*map(member, names or ("a",)), placement(strategy=strategy), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": None}))
    told.run(0)
    return told


def said(told: Story, stage: str) -> tuple[object, object, object] | None:
    """Status, reason and message of a stage of the binding, `None` if it is not there."""
    status = bindings(told)[0]["status"]
    assert isinstance(status, dict)
    for one in status["conditions"]:
        if one["type"] == stage:
            return one["status"], one["reason"], one["message"]
    return None


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_works_say_that_all_is_applied_and_available(version: str) -> None:
    """In upstream's words, and in each version that kubectl may print."""
    told = placed()
    body = work(snapshot_of(told), Applied="True", Available="True")
    outcome = says(told, {**body, "apiVersion": f"{GROUP}/{version}"}).run(1)

    assert () == outcome.faults
    done = "All corresponding work objects are"
    assert ("True", "AllWorkHaveBeenApplied", f"{done} applied") == said(told, "Applied")
    assert ("True", "AllWorkAreAvailable", f"{done} available") == said(told, "Available")
    assert "True" == condition(told, "Available")["status"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"Applied": "False"}, "Work object web-work has failed to apply", id="failed"),
        pytest.param(
            {"Applied": "Unknown"},
            "Work object web-work has not yet completed the apply op",
            id="unknown",
        ),
        pytest.param({}, "Work object web-work has not yet completed the apply op", id="silent"),
        pytest.param(
            {"Applied": "True", "observed": 0},
            "Work object web-work has not yet completed the apply op",
            id="stale-generation",
        ),
    ],
)
def test_a_work_that_is_not_applied_is_named(body: dict[str, str], expected: str) -> None:
    """What is not applied is not asked for its availability."""
    told = placed()
    says(told, work(snapshot_of(told), **body)).run(1)  # type: ignore[arg-type]  # observed is a number

    assert ("False", "NotAllWorkHaveBeenApplied", expected) == said(told, "Applied")
    assert None is said(told, "Available")


def test_each_work_must_be_available() -> None:
    """That of a later part of the snapshot, too."""
    told = placed()
    snapshot = snapshot_of(told)
    says(told, work(snapshot, Applied="True", Available="True"))
    says(told, work(snapshot, name="web-1", Applied="True", Available="False"), file="more").run(1)
    expected = "Work object web-1 is not yet available"

    assert ("False", "NotAllWorkAreAvailable", expected) == said(told, "Available")


def test_what_cannot_be_tracked_is_ready_after_a_while() -> None:
    """The rollout waits for `unavailablePeriodSeconds` then."""
    told = placed()
    body = work(snapshot_of(told), reason="WorkNotTrackable", Applied="True", Available="True")
    says(told, body).run(1)
    expected = "The availability of work object web-work is not trackable"

    assert ("True", "NotAllWorkAreAvailabilityTrackable", expected) == said(told, "Available")


def test_works_of_an_earlier_snapshot_say_that_the_present_one_is_being_applied() -> None:
    """However well the earlier one runs."""
    told = placed()
    says(told, work("web-9-snapshot", Applied="True", Available="True")).run(1)

    assert ("False", "ApplyInProgress", "Resources are being applied") == said(told, "Applied")


def test_works_of_another_placement_say_nothing() -> None:
    """They know their placement by a label."""
    told = placed()
    body = work(snapshot_of(told), Applied="True")
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    metadata["labels"] = {f"{MARK}/parent-CRP": "other"}
    before = told.outputs
    says(told, body).run(1)

    assert before == told.outputs


def test_works_of_a_placement_in_a_namespace_name_it() -> None:
    """A placement of the same name elsewhere is another one."""
    told = story(member("a"), namespaced_placement(), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": None}))
    told.run(0)
    body = work("web-0-snapshot", Applied="True", Available="True")
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    metadata["annotations"] = {}
    before = told.outputs
    says(told, body).run(1)

    assert before == told.outputs

    metadata["labels"][f"{MARK}/parent-placement-namespace"] = "default"
    says(told, body).run(2)
    status = files(told, "resourcebindings")[0]["status"]
    assert isinstance(status, dict)

    assert {"AllWorkHaveBeenApplied", "AllWorkAreAvailable"} <= {
        one["reason"] for one in status["conditions"]
    }


def test_a_rollout_goes_on_once_works_are_available() -> None:
    """One cluster after the other, each waiting for the Works of the one before."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    told = placed("a", "b", strategy=rolling)
    first = snapshot_of(told)
    for name in ("a", "b"):
        says(told, work(first, name, Applied="True", Available="True"), name)
    told.run(1)
    told.put(configmap())
    told.run(100)
    second = {snapshot_of(told, "a"), snapshot_of(told, "b")} - {first}

    assert 1 == len(second)

    for name in ("a", "b"):
        says(told, work(snapshot_of(told, name), name, Applied="True", Available="True"), name)
    told.run(200)

    assert second == {snapshot_of(told, "a"), snapshot_of(told, "b")}


def test_a_rollout_goes_on_when_what_cannot_be_tracked_was_applied_long_enough() -> None:
    """Time alone makes it ready, a second after the period: the pass says when."""
    rolling = {"maxUnavailable": 1, "maxSurge": 0, "unavailablePeriodSeconds": 60}
    told = placed("a", "b", strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    first = snapshot_of(told)
    told.put(configmap())
    for name in ("a", "b"):
        body = work(first, name, reason="WorkNotTrackable", Applied="True", Available="True")
        says(told, body, name)
    told.run(10)
    waited = [told.run(69).recheck_at, told.run(70).recheck_at]

    assert [after(71)] * 2 == waited
    assert {first} == {snapshot_of(told, "a"), snapshot_of(told, "b")}

    told.run(71)

    assert 2 == len({snapshot_of(told, "a"), snapshot_of(told, "b")})


def test_a_work_that_goes_leaves_the_cluster_silent() -> None:
    """Nothing is remembered of it."""
    told = placed()
    says(told, work(snapshot_of(told), Applied="True", Available="True")).run(1)
    del told.files["feedback/a/work.yaml"]
    told.run(2)

    assert None is said(told, "Applied")


def test_a_warm_pass_follows_works() -> None:
    """As one says more, another one comes, and one goes."""
    told, memo, world = placed(), Memo(), None
    snapshot = snapshot_of(told)
    first, second = "feedback/a/work.yaml", "feedback/a/more.yaml"
    edits = (
        {first: text(work(snapshot, Applied="True", Available="False"))},
        {first: text(work(snapshot, Applied="True", Available="True"))},
        {second: text(work(snapshot, name="web-1", Applied="False"))},
        {second: ""},
    )
    for edit in edits:
        told.files |= edit
        world = linked(told.world(), world)
        warm, cold = reconcile(world, told.now, memo=memo), reconcile(world, told.now)

        assert cold.changes
        assert cold.changes == warm.changes

        told.files = applied(told.files, warm)
        world = linked(told.world(), world)

        assert () == reconcile(world, told.now, memo=memo).changes
