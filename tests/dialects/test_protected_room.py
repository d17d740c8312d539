"""Room over all APIs: clusters of one name are one, and what one does not report has no limit."""

import pytest

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from tests.builders import DYNAMIC, configuration, deployment, divided, policy
from tests.dialects.karmada.test_protected_room import (
    DUPLICATED,
    priority_class,
    reserved,
    room,
    statically,
    urgent,
)
from tests.dialects.kubefleet.test_decide import placed as picked
from tests.dialects.kubefleet.test_decide import room as member
from tests.dialects.kubefleet.test_decide import selecting, web
from tests.dialects.ocm.worlds import binding, body, cluster, cluster_set, placement, replica_set
from tests.stories import Story, story

HUB_CONDITIONS = [
    {
        "type": name,
        "status": "True",
        "reason": "Told",
        "message": "",
        "lastTransitionTime": "2026-11-01T00:00:00Z",
    }
    for name in (
        "HubAcceptedManagedCluster",
        "ManagedClusterJoined",
        "ManagedClusterConditionAvailable",
    )
]


def managed(cpu: str = "4") -> Body:
    """A ManagedCluster with the amounts that a live hub has, those of pods among them."""
    amounts = {"cpu": cpu, "memory": "64Gi", "pods": "100"}
    status = {"conditions": HUB_CONDITIONS, "allocatable": amounts, "capacity": amounts}
    return cluster("a", status=status)


SOURCES = {"karmada": room("a", "4"), "kubefleet": member("a", "4", whole="4"), "ocm": managed()}
STRATEGIES = {
    "duplicated": DUPLICATED,
    "static": statically(a=1),
    "dynamic": DYNAMIC,
    "aggregated": divided("Aggregated"),
}
EVERYONE = {"selectorType": "LabelSelector", "labelSelector": {}}
ODD = {"cpu": "1", "ephemeral-storage": "1Gi", "example.com/gpu": "1"}
"""What no API but Karmada's own clusters could have a word for."""


def asking(name: str, requests: Body, replicas: int = 3, namespace: str = "default") -> Body:
    """A Deployment whose replicas ask for some resources."""
    found = deployment(name, namespace=namespace, replicas=replicas)
    spec = mapping(found, "spec")
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    template = {**mapping(spec, "template"), "spec": {"containers": containers}}
    return {**found, "spec": {**spec, "template": template}}


def seen_from(source: str, *found: Body, protect: bool) -> Story:
    """A repository whose one cluster is declared in an API, and projected for the others."""
    on = configuration(inventory={"project": True}, capacity={"protect": protect})
    return story(on, SOURCES[source], *found)


@pytest.mark.parametrize("protect", [False, True], ids=["free", "protected"])
@pytest.mark.parametrize("how", sorted(STRATEGIES))
@pytest.mark.parametrize("source", ["kubefleet", "ocm"])
def test_karmada_divides_where_another_api_reports_no_such_resource(
    source: str, how: str, *, protect: bool
) -> None:
    """Pods, storage and devices are not zero because an API has no word for them."""
    told = seen_from(
        source,
        asking("odd", ODD),
        policy(placement={"replicaScheduling": STRATEGIES[how]}),
        protect=protect,
    )
    told.run(0)

    assert {"a": 3} == told.placed("odd-deployment")


@pytest.mark.parametrize("source", ["kubefleet", "ocm"])
def test_what_another_api_reports_limits_karmada(source: str) -> None:
    """Four cpu hold no fifth, protected or not."""
    told = seen_from(
        source,
        asking("big", ODD, replicas=5),
        policy(placement={"replicaScheduling": DYNAMIC}),
        protect=True,
    )
    told.run(0)

    assert {} == told.placed("big-deployment")


@pytest.mark.parametrize("source", ["karmada", "ocm"])
def test_kubefleet_places_where_another_api_reports_no_such_resource(source: str) -> None:
    """A Karmada cluster without ephemeral-storage in its summary has no limit of it here."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    told = seen_from(source, space, asking("web", ODD, namespace="x"), selecting("x"), protect=True)
    told.run(0)

    assert ["a"] == picked(told, "x")


@pytest.mark.parametrize("source", ["karmada", "kubefleet"])
def test_open_cluster_management_places_on_projected_clusters(source: str) -> None:
    """Also by a prioritizer of a resource that the other API may not report."""
    by_memory = {
        "prioritizerPolicy": {
            "mode": "Exact",
            "configurations": [
                {
                    "scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"},
                    "weight": 1,
                }
            ],
        },
        "clusterSets": ["global"],
    }
    told = seen_from(
        source,
        body("ManagedClusterSet", "global", version="v1beta2", spec={"clusterSelector": EVERYONE}),
        binding("global"),
        placement("p", **by_memory),
        protect=True,
    )
    told.run(0)
    decision = next(path for path in told.outputs if "placementdecisions" in path)
    decided = bodies(mapping(told.output(decision), "status"), "decisions")

    assert ["a"] == [one["clusterName"] for one in decided]


ON = configuration(capacity={"protect": True})
DUPLICATE = policy(placement={"replicaScheduling": DUPLICATED})
SHOP = deployment("shop", namespace="shop", cpu="1")


def both(*found: Body) -> Story:
    """One cluster with three cpu, for Karmada and for KubeFleet, and a workload of each."""
    told = story(ON, DUPLICATE, room("a", "3"), member("a", "3"), deployment("z", cpu="1"))
    return told.put(*web("x"), selecting("x"), *found)


def test_placements_come_before_bindings_of_the_same_priority() -> None:
    """By their groups."""
    told = both()
    told.run(0)

    assert (["a"], {}) == (picked(told, "x"), told.placed("z-deployment"))
    assert {"x"} == reserved(told).keys()


def test_bindings_of_a_greater_priority_come_before_placements() -> None:
    """The placement waits."""
    told = both(priority_class(), urgent("z"))
    told.run(0)

    assert ([], {"a": 2}) == (picked(told, "x"), told.placed("z-deployment"))
    assert {"z"} == reserved(told).keys()


@pytest.mark.parametrize("first", ["karmada", "kubefleet"])
def test_a_newcomer_takes_nothing_from_who_is_there(first: str) -> None:
    """Whoever was placed by an earlier pass stays."""
    told = story(ON, DUPLICATE, room("a", "3"), member("a", "3"))
    apps = {"karmada": (deployment("z", cpu="1"),), "kubefleet": (*web("x"), selecting("x"))}
    told.put(*apps.pop(first)).run(0)
    told.put(*apps.popitem()[1], priority_class(), urgent("z") if first == "kubefleet" else ON)
    told.run(60)

    expected = ([], {"a": 2}) if first == "karmada" else (["a"], {})
    found = told.placed("z-deployment") if "z" in "".join(told.outputs) else {}
    assert expected == (picked(told, "x"), found)


def test_what_a_set_of_manifestworks_carries_is_reserved() -> None:
    """It is refused nothing, and comes after a binding of the same pass."""
    told = story(ON, DUPLICATE, room("a", "3"), cluster_set(), binding(), placement(), cluster("a"))
    told.put(replica_set(SHOP))
    told.run(0)
    assert {"shop": "cpu 2, pods 2"} == reserved(told)

    told.put(deployment("z", cpu="1"))
    told.run(60)
    assert {} == told.placed("z-deployment")


def test_a_new_template_of_a_set_is_reserved_as_a_whole() -> None:
    """What the earlier one brought is not known."""
    told = story(ON, room("a", "9"), cluster_set(), binding(), placement(), cluster("a"))
    told.put(replica_set(SHOP))
    told.run(0)
    told.put(replica_set(deployment("shop", namespace="shop", cpu="1", replicas=3)))
    told.run(60)

    assert {"shop": "cpu 3, pods 3"} == reserved(told)
