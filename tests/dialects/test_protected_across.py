"""Room that is protected over all APIs: clusters of one name are one cluster."""

import pytest

from reconciler.model.body import Body
from tests.builders import configuration, deployment, policy
from tests.dialects.karmada.test_protected_room import (
    DUPLICATED,
    priority_class,
    reserved,
    room,
    urgent,
)
from tests.dialects.kubefleet.test_protected_room import placed as picked
from tests.dialects.kubefleet.test_protected_room import room as member
from tests.dialects.kubefleet.test_protected_room import selecting, web
from tests.dialects.ocm.sets import replica_set
from tests.dialects.ocm.worlds import binding, cluster, cluster_set, placement
from tests.stories import Story, story

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
