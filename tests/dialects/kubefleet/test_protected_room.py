"""Room that is protected: a member gets what it can hold, and placements wait for room."""

import pytest

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from tests.builders import configuration, deployment, metadata, text
from tests.dialects.kubefleet.fleet import (
    GROUP,
    PLACEMENT,
    bindings,
    fixed,
    member,
    pick,
    states,
)
from tests.stories import Story, story

AGENT = {
    "type": "MemberAgent",
    "conditions": [
        {
            "type": name,
            "status": "True",
            "reason": "Told",
            "message": "",
            "lastTransitionTime": "2026-11-01T00:00:00Z",
        }
        for name in ("Joined", "Healthy")
    ],
    "lastReceivedHeartbeat": "2026-11-23T00:00:00Z",
}


def room(
    name: str, cpu: str = "2", *, whole: str = "64", seen: str = "2026-11-23T00:00:00Z"
) -> Body:
    """A member that reports so much cpu as available, of the whole that it has."""
    usage = {
        "capacity": {"cpu": whole},
        "allocatable": {"cpu": whole},
        "available": {"cpu": cpu},
        "observationTime": seen,
    }
    return member(name, status={"agentStatus": [AGENT], "resourceUsage": usage})


def web(name: str, replicas: int = 2) -> tuple[Body, Body]:
    """A namespace and its Deployment, which asks for a cpu each."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name)}
    return space, deployment(namespace=name, replicas=replicas, cpu="1")


def selecting(name: str, policy: Body | None = None) -> Body:
    """A placement of a namespace of its own name."""
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": name}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": PLACEMENT,
        "metadata": metadata(name),
        "spec": {"resourceSelectors": [selector], **({} if policy is None else {"policy": policy})},
    }


def protected(*found: Body) -> Story:
    """A repository where room is protected, with two applications, of which x is placed."""
    on = configuration(capacity={"protect": True})
    return story(on, *web("x"), *web("y"), selecting("x"), *found)


def placed(told: Story, name: str) -> list[str]:
    """The clusters of a placement."""
    folder = f"status/clusterresourcebindings.{GROUP}/"
    found = [told.output(path) for path in sorted(told.outputs) if path.startswith(folder)]
    return sorted(
        str(mapping(one, "spec")["targetCluster"])
        for one in found
        if mapping(mapping(one, "metadata"), "labels")["kubernetes-fleet.io/parent-CRP"] == name
    )


def reserved(told: Story, where: str) -> dict[str, str]:
    """What is reserved of a cluster, by placement."""
    path = f"status/clusterledgers.reconciler.dev/{where}.yaml"
    if path not in told.files:
        return {}
    listed = bodies(mapping(told.output(path), "status"), "reservations")
    return {str(one["object"]).rpartition(" ")[2]: str(one["resources"]) for one in listed}


POLICIES = [
    pytest.param(None, [], id="PickAll"),
    pytest.param(pick(1), [], id="PickN"),
    pytest.param(fixed("a"), [], id="PickFixed"),
]


@pytest.mark.parametrize(("policy", "expected"), POLICIES)
def test_the_second_is_refused_with_what_is_missing(
    policy: Body | None, expected: list[str]
) -> None:
    """And told as not fulfilled."""
    told = protected(room("a", "3"), selecting("y", policy))
    told.run(0)

    assert (["a"], expected) == (placed(told, "x"), placed(told, "y"))
    assert {"x": "cpu 2, pods 2"} == reserved(told, "a")
    snapshot = f"status/clusterschedulingpolicysnapshots.{GROUP}/y-0.yaml"
    status = mapping(told.output(snapshot), "status")
    assert ["False"] == [one["status"] for one in bodies(status, "conditions")]
    assert "missing cpu 1" in str(bodies(status, "targetClusters")[0]["reason"])
    assert not told.run(60).changes


@pytest.mark.parametrize(("policy", "expected"), POLICIES)
def test_it_is_placed_once_there_is_room(policy: Body | None, expected: list[str]) -> None:
    """The member reports that what is there takes no more than before."""
    told = protected(room("a", "3"), selecting("y", policy))
    told.run(0)
    body = {**deployment(namespace="x"), "status": {"replicas": 2, "availableReplicas": 2}}
    told.files["feedback/a/web.yaml"] = text(body)
    told.put(room("a", "4", seen="2026-11-23T00:01:00Z"))
    told.run(60)

    assert expected != placed(told, "y")
    assert {"y"} == reserved(told, "a").keys()


def test_a_cluster_with_room_is_picked_in_place_of_a_full_one() -> None:
    """PickN takes the greater name of two that are alike."""
    told = protected(room("a", "3"), room("b", "2"), selecting("y", pick(1)))
    told.run(0)

    assert (["a", "b"], []) == (placed(told, "x"), placed(told, "y"))
    told.put(room("a", "9"))
    told.run(60)
    assert ["a"] == placed(told, "y")


def test_where_all_fits_all_is_placed() -> None:
    """To the last cpu."""
    told = protected(room("a", "4"), selecting("y"))
    told.run(0)

    assert (["a"], ["a"]) == (placed(told, "x"), placed(told, "y"))


def test_another_observation_of_the_same_is_no_other_capacity() -> None:
    """Its moment is a heartbeat."""
    told = protected(room("a", "9"))
    told.run(0)
    body = {**deployment(namespace="x"), "status": {"replicas": 2}}
    told.files["feedback/a/web.yaml"] = text(body)
    told.put(room("a", "9", seen="2026-11-23T00:01:00Z"))
    told.run(60)

    assert {"x"} == reserved(told, "a").keys()
    assert {"a": "Bound"} == states(told)


def test_declared_members_have_no_limit() -> None:
    """Nor has one that tells nothing of what is available."""
    told = protected(member("a"), selecting("y"))
    told.run(0)

    assert (["a"], ["a"]) == (placed(told, "x"), placed(told, "y"))
    assert {} == reserved(told, "a")


def test_a_growth_that_does_not_fit_stays_on_the_earlier_resources() -> None:
    """Its rollout waits for room, and says what is missing."""
    told = protected(room("a", "4"))
    told.run(0)
    told.put(*web("x", replicas=5))
    told.run(60)

    (bound,) = bindings(told)
    assert "x-0-snapshot" == mapping(bound, "spec")["resourceSnapshotName"]
    messages = [one["message"] for one in bodies(mapping(bound, "status"), "conditions")]
    assert any("missing cpu 1" in str(one) for one in messages)
    assert {"x": "cpu 2, pods 2"} == reserved(told, "a")
    assert not told.run(120).changes

    told.put(room("a", "5"))
    told.run(180)
    (bound,) = bindings(told)
    assert "x-1-snapshot" == mapping(bound, "spec")["resourceSnapshotName"]
    assert {"x": "cpu 5, pods 5"} == reserved(told, "a")
