"""One WorkloadRebalancer means objects of all three APIs, by labels, policy, cluster and state."""

from collections.abc import Mapping
from typing import cast

import pytest

from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.fleet.placed_objects import PlacedObjects
from tests.builders import Body, deployment, rebalancer
from tests.stories import BINDINGS, Story
from tests.three_apis import LABELS, all_away, by_team

pytestmark = pytest.mark.cpu_seconds(30)  # many whole passes

BINDING, PLACEMENT, FLEET = "web-deployment", "p", "fleet-web"
BEFORE = {BINDING: {"beta": 2}, PLACEMENT: {"beta": 0}, FLEET: {"alpha": 0}}
AFTER = {BINDING: {"alpha": 2}, PLACEMENT: {"alpha": 0}, FLEET: {"gamma": 0}}


def where(told: Story) -> dict[str, dict[str, int]]:
    """Name of each object to where it is."""
    world = told.world()
    return {key.name: dict(placed_on(world, key)) for key in PlacedObjects(world)}


def observed(told: Story, name: str = "demo") -> dict[str, str]:
    """Kind of each target to its result."""
    items = cast(list[Mapping[str, Body]], told.rebalancer(name)["observedWorkloads"])
    return {str(item["workload"]["kind"]): str(item.get("result", "")) for item in items}


def moved_by(**selector: object) -> set[str]:
    """The objects that a rebalancer moves that selects them so."""
    told = all_away()
    told.put(rebalancer("demo", selector=selector))
    told.run(10)
    return {name for name, at in where(told).items() if at != BEFORE[name]}


def test_one_rebalancer_moves_objects_of_all_apis() -> None:
    """What has the label is scheduled afresh, whatever API places it."""
    told = all_away()
    assert BEFORE == where(told)
    told.put(by_team())
    told.run(10)

    assert AFTER == where(told)
    kinds = ("ClusterResourcePlacement", "Deployment", "Placement")
    assert dict.fromkeys(kinds, "Successful") == observed(told)


OCM_POLICY = {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement"}
FLEET_POLICY = {
    "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
    "kind": "ClusterResourcePlacement",
}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"onCluster": "beta"}, {BINDING, PLACEMENT}, id="on-cluster"),
        pytest.param({"onCluster": "alpha"}, {FLEET}, id="on-the-other"),
        pytest.param({"onCluster": "delta"}, set(), id="on-none"),
        pytest.param({"state": "AwayFromFirstAffinity"}, {BINDING}, id="away"),
        pytest.param({"state": "Unschedulable"}, set(), id="all-are-scheduled"),
        pytest.param({"namespace": "ns1"}, {PLACEMENT}, id="namespace"),
        pytest.param({"policy": {"name": "p", "namespace": "default"}}, {BINDING}, id="policy"),
        pytest.param(
            {"policy": {**OCM_POLICY, "name": "p", "namespace": "ns1"}}, {PLACEMENT}, id="placement"
        ),
        pytest.param({"policy": {**FLEET_POLICY, "name": "fleet-web"}}, {FLEET}, id="fleet"),
        pytest.param(
            {"labelSelector": {"matchLabels": LABELS}, "onCluster": "beta", "kind": "Placement"},
            {PLACEMENT},
            id="all-must-hold",
        ),
    ],
)
def test_a_selector_means_what_stands_so(
    selector: Mapping[str, object], expected: set[str]
) -> None:
    """By cluster, state, namespace and policy."""
    assert expected == moved_by(**selector)


def test_what_is_unschedulable_is_meant_until_it_is_not() -> None:
    """Replicas that had no room: the workload is meant, those that are placed are not."""
    told = all_away()
    told.put(deployment("large", replicas=500))
    told.run(5)
    told.put(rebalancer("demo", selector={"state": "Unschedulable"}))
    told.run(10)

    [item] = cast(list[Mapping[str, Body]], told.rebalancer()["observedWorkloads"])
    assert ("large", "Successful") == (str(item["workload"]["name"]), str(item["result"]))
    assert BEFORE == {name: at for name, at in where(told).items() if name in BEFORE}


def test_the_targets_of_a_generation_are_fixed_when_it_is_first_seen() -> None:
    """What comes onto the cluster later is not meant, and what has left it stays meant."""
    told = all_away()
    told.put(rebalancer("demo", selector={"onCluster": "beta"}, limits={"maxMoves": 1}))
    told.run(10)
    first = set(observed(told))
    told.put(deployment("late", replicas=1))
    for seconds in (11, 80, 150, 220):
        told.run(seconds)

    assert {"Deployment", "Placement"} == first
    assert dict.fromkeys(first, "Successful") == observed(told)
    listed = cast(list[object], told.rebalancer()["observedWorkloads"])
    assert len(listed) == len(first)


def test_what_cannot_be_read_is_nowhere_and_keeps_nobody() -> None:
    """A binding whose status is garbled is not meant; what stands on the cluster beside it is."""
    told = all_away()
    path = f"{BINDINGS}/default/{BINDING}.yaml"
    told.files[path] = told.files[path].replace("lastScheduledTime:", "lastScheduledTime: 7 #")
    told.put(rebalancer("demo", selector={"onCluster": "beta"}))
    told.run(10)

    assert {"Placement": "Successful"} == {
        kind: result for kind, result in observed(told).items() if kind != "Deployment"
    }


def test_limits_count_the_moves_of_all_apis_together() -> None:
    """Three moves in all, two a batch; in the order in which the targets are listed."""
    told = all_away(1)
    told.put(by_team(limits={"maxMoves": 2}))
    told.run(10)
    elsewhere = [name for name, at in where(told).items() if set(at) != set(BEFORE[name])]

    assert 2 == len(elsewhere)
    progress = cast(Mapping[str, int], told.rebalancer()["progress"])
    assert (2, 1) == (progress["movedReplicas"], progress["remainingReplicas"])

    told.run(70)
    assert {name: set(at) for name, at in AFTER.items()} == {
        name: set(at) for name, at in where(told).items()
    }


def test_what_exchanges_nothing_leaves_the_room_to_others() -> None:
    """A placement that stays counts for nothing, so that the batch has room for one that moves."""
    told = all_away(1)
    told.put(by_team("first"))
    told.run(10)
    told.put(by_team("again", limits={"maxMoves": 1}))
    told.run(20)

    assert set(observed(told, "again").values()) == {"Successful"}
