"""Nodes and pods of a member cluster, told as its room."""

import pytest

from reconciler.errors import UsageError
from reconciler.imports.importers import with_rooms
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from tests.imports.hubs import live, objects
from tests.imports.imported import EMPTY, import_into
from tests.imports.karmada_hub import karmada_hub

CLUSTER = karmada_hub(0)[0]


def node(name: str, cpu: str, **spec: object) -> Body:
    """Return a node."""
    return live("v1", "Node", name, spec=spec, status={"allocatable": {"cpu": cpu, "pods": "110"}})


def pod(name: str, cpu: str, on: str = "", phase: str = "Running") -> Body:
    """Return a pod that asks for some cpu."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], **({"nodeName": on} if on else {})}
    return live("v1", "Pod", name, namespace="default", spec=spec, status={"phase": phase})


def summary(*bodies: Body) -> Body:
    """Return the resource summary that the cluster has by these nodes and pods."""
    found = with_rooms(objects([CLUSTER, *bodies]), EMPTY, "member1")
    assert 1 == len(found)
    return mapping(mapping(found[0].body, "status"), "resourceSummary")


def test_nodes_add_up_but_for_those_that_take_nothing() -> None:
    """A cordoned node has no room for anything new."""
    found = summary(node("a", "4"), node("b", "2500m"), node("c", "64", unschedulable=True))

    assert {"cpu": "6500m", "pods": "220"} == found["allocatable"]


def test_pods_take_what_they_ask_for() -> None:
    """Those that run are allocated, those that wait allocating; those that ended are over."""
    found = summary(
        node("a", "4"),
        node("c", "64", unschedulable=True),
        pod("p", "500m", on="a"),
        pod("q", "1", on="a"),
        pod("r", "1", on="c"),
        pod("s", "2"),
        pod("t", "8", on="a", phase="Succeeded"),
    )

    assert {"cpu": "1500m", "pods": "2"} == found["allocated"]
    assert {"cpu": "2", "pods": "1"} == found["allocating"]


def test_without_pods_what_is_allocated_stays() -> None:
    """Nodes alone say nothing of it."""
    assert {"cpu": "12", "memory": "31Gi", "pods": "97"} == summary(node("a", "4"))["allocated"]


def test_the_cluster_may_stand_in_the_repository() -> None:
    """A member's own export has none."""
    world = import_into({}, [CLUSTER]).world
    found = with_rooms(objects([node("a", "4")]), world, "member1")

    assert ["Cluster"] == [one.key.kind for one in found]


def test_a_declared_cluster_keeps_room_for_everything() -> None:
    """A status with nothing but its room would say that it is not ready."""
    declared = {name: value for name, value in CLUSTER.items() if name != "status"}

    with pytest.raises(UsageError, match="Cluster member1 has no status"):
        with_rooms(objects([declared, node("a", "4")]), EMPTY, "member1")


def test_nodes_of_no_cluster_are_refused() -> None:
    """The sentence names what is missing."""
    with pytest.raises(UsageError, match='there is no Cluster "member7"'):
        with_rooms(objects([node("a", "4")]), EMPTY, "member7")
