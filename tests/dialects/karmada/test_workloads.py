"""What a replica needs, beyond upstream's vectors: numbers, and content that is none."""

import pytest

from reconciler.dialects.karmada.api.workload import ReplicaRequirements, demand_of
from tests.builders import Body


def container(**resources: object) -> Body:
    """A container with these resources."""
    return {"name": "main", "resources": resources}


def demand(pod: object, replicas: object = 1) -> ReplicaRequirements | None:
    """The demand of a Deployment with this pod."""
    return demand_of(
        "apps/v1", "Deployment", {"spec": {"replicas": replicas, "template": {"spec": pod}}}
    )


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        pytest.param("500m", "500m", id="text"),
        pytest.param(2, "2", id="integer"),
        pytest.param(0.5, "500m", id="decimal"),
        pytest.param("1e-4", "1m", id="rounded-up"),
    ],
)
def test_quantities_may_be_numbers(amount: object, expected: str) -> None:
    """YAML has no quotes to tell them apart."""
    pod = {"containers": [container(requests={"cpu": amount})]}

    assert ReplicaRequirements(1, {"resourceRequest": {"cpu": expected}}) == demand(pod)


@pytest.mark.parametrize("amount", ["much", "", None, True, [], "-1", 0])
def test_what_is_no_quantity_counts_as_absent(amount: object) -> None:
    """The member cluster judges it."""
    assert ReplicaRequirements(1, None) == demand(
        {"containers": [container(requests={"cpu": amount})]}
    )


@pytest.mark.parametrize("pod", [None, "?", [], {"containers": "?"}, {"containers": [7, None]}])
def test_content_that_is_no_pod_asks_for_nothing(pod: object) -> None:
    """Nothing raises."""
    assert ReplicaRequirements(1, None) == demand(pod)


@pytest.mark.parametrize("replicas", [-1, 2**31, "3", 1.5, True, None])
def test_replicas_that_no_api_server_admits_count_zero(replicas: object) -> None:
    """A pass must not stop for one workload."""
    assert ReplicaRequirements(0, None) == demand({}, replicas)


def test_limits_fill_requests_and_init_containers_count_alone() -> None:
    """The greater of the sum and each init container, plus the overhead."""
    pod = {
        "containers": [
            container(limits={"cpu": "1", "memory": "1Gi"}, requests={"cpu": "200m"}),
            container(requests={"cpu": "300m"}),
        ],
        "initContainers": [container(requests={"cpu": "700m"})],
        "overhead": {"cpu": "50m"},
    }

    assert ReplicaRequirements(1, {"resourceRequest": {"cpu": "750m", "memory": "1Gi"}}) == demand(
        pod
    )


def test_kinds_without_replicas_have_no_demand() -> None:
    """Also known kinds of another version."""
    assert demand_of("v1", "ConfigMap", {}) is None
    assert demand_of("apps/v1beta1", "Deployment", {"spec": {"replicas": 3}}) is None


def test_a_priority_class_is_no_requirement() -> None:
    """It stands in the pod template, and says nothing about what a replica needs."""
    pod = {
        "priorityClassName": "high",
        "containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}],
    }
    body = {"spec": {"replicas": 2, "template": {"spec": pod}}}
    found = demand_of("apps/v1", "Deployment", body)

    assert found is not None
    assert {"resourceRequest": {"cpu": "1"}} == found.requirements
