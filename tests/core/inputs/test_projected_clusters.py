"""Which clusters each API sees, where a repository lets them see each other's."""

import re
from collections.abc import Mapping

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.inputs.world import SWITCH_BRAKED
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.projection.project import ClusterReadiness, condition
from tests.builders import Body, cluster, configuration, deployment, policy
from tests.stories import Story, story

PROJECTING = configuration(inventory={"project": True})
MANAGED = ("cluster.open-cluster-management.io", "ManagedCluster")
MEMBER = ("cluster.kubernetes-fleet.io", "MemberCluster")
KARMADA = ("cluster.karmada.io", "Cluster")


def managed(name: str, **labels: str) -> Body:
    """A declared ManagedCluster."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": labels},
        "spec": {"hubAcceptsClient": True},
    }


def member(name: str) -> Body:
    """A declared MemberCluster."""
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": {"name": name},
        "spec": {"identity": {"kind": "ServiceAccount", "name": "agent"}},
    }


def pick_all() -> Body:
    """A ClusterResourcePlacement that wants every cluster."""
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "base"},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "x"}],
            "policy": {"placementType": "PickAll"},
        },
    }


def seen(told: Story) -> Mapping[str, list[str]]:
    """The names of the clusters that each API sees."""
    world = told.world()
    return {
        kind: [m.key.name for m in world.of_kind(group, kind)]
        for group, kind in (KARMADA, MANAGED, MEMBER)
    }


def allowed_by(outcome: Outcome) -> str:
    """The digest that a fault names."""
    (fault,) = (one for one in outcome.faults if one.rule == SWITCH_BRAKED)
    found = re.search(r"sha256:[0-9a-f]+", fault.expected)
    assert found is not None
    return found[0]


def fleet_places(told: Story) -> set[str]:
    """Where KubeFleet wants its placement."""
    specs = (
        mapping(one.body, "spec")
        for key, one in told.world().outputs.items()
        if key.kind == "ClusterResourceBinding"
    )
    return {str(spec["targetCluster"]) for spec in specs if spec["state"] != "Unscheduled"}


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param(
            [cluster("a"), cluster("b")],
            {"Cluster": ["a", "b"], "ManagedCluster": ["a", "b"], "MemberCluster": ["a", "b"]},
            id="one-kind-serves-all",
        ),
        pytest.param(
            [cluster("a"), managed("b")],
            {"Cluster": ["a"], "ManagedCluster": ["b"], "MemberCluster": ["a", "b"]},
            id="its-own-or-all-others",
        ),
        pytest.param(
            [cluster("a"), managed("b"), member("c")],
            {"Cluster": ["a"], "ManagedCluster": ["b"], "MemberCluster": ["c"]},
            id="each-its-own",
        ),
        pytest.param(
            [], {"Cluster": [], "ManagedCluster": [], "MemberCluster": []}, id="none-at-all"
        ),
    ],
)
def test_an_api_sees_its_own_clusters_or_those_of_all_others(
    bodies: list[Body], expected: Mapping[str, list[str]]
) -> None:
    """Sorted by name."""
    assert expected == seen(story(PROJECTING, *bodies))


def test_without_the_setting_each_api_sees_its_own_alone() -> None:
    """So no fleet moves by an upgrade."""
    told = story(cluster("a"))

    assert {"Cluster": ["a"], "ManagedCluster": [], "MemberCluster": []} == seen(told)


def test_of_one_name_the_first_api_counts() -> None:
    """Karmada's cluster says what KubeFleet sees of `a`, not that of Open Cluster Management."""
    told = story(PROJECTING, cluster("a", labels={"of": "karmada"}), managed("a", of="ocm"))

    found = told.world().find(ObjectKey(*MEMBER, "", "a"))

    assert found is not None
    assert {"of": "karmada"} == found.body["metadata"]["labels"]  # type: ignore[index]  # a mapping


def test_a_cluster_of_another_api_is_no_resource_to_select() -> None:
    """What people wrote stays what they wrote: nothing is added to it."""
    told = story(PROJECTING, cluster("a"))

    assert {KARMADA, ("reconciler.dev", "ReconcilerConfiguration")} == {
        key[:2] for key in told.world().inputs
    }


def test_the_first_own_cluster_waits_where_something_would_be_lost() -> None:
    """KubeFleet keeps to the clusters that it saw, until exactly this switch is allowed."""
    told = story(PROJECTING, cluster("a"), cluster("b"), pick_all())
    told.run(0)
    assert {"a", "b"} == fleet_places(told)
    told.put(member("c"))
    outcome = told.run(10)

    assert {"a", "b"} == fleet_places(told)
    told.run(10)
    assert {"a", "b"} == fleet_places(told)

    told.put(configuration(inventory={"project": True}, safety={"allow": allowed_by(outcome)})).run(
        10
    )

    assert ["c"] == seen(told)["MemberCluster"]
    assert {"c"} == fleet_places(told)


def test_own_clusters_for_all_of_them_switch_at_once() -> None:
    """Nothing is lost, so nothing waits."""
    told = story(PROJECTING, cluster("a"), pick_all())
    told.run(0)

    outcome = told.put(member("a"), member("b")).run(10)

    assert () == outcome.faults
    assert ["a", "b"] == seen(told)["MemberCluster"]


def test_where_nothing_is_placed_nothing_waits() -> None:
    """A repository that begins with one API goes on with two."""
    told = story(PROJECTING, cluster("a"), policy(), deployment())
    told.run(0)

    assert () == told.put(member("c")).run(10).faults
    assert ["c"] == seen(told)["MemberCluster"]


def test_a_quantity_that_cannot_be_read_is_a_fault_of_that_cluster() -> None:
    """The others are seen as before."""
    odd = {**cluster("a"), "status": {"resourceSummary": {"allocatable": {"cpu": "much"}}}}
    told = story(PROJECTING, odd, cluster("b"))

    assert ["b"] == seen(told)["MemberCluster"]
    assert {"Cluster.cluster.karmada.io a"} == {one.subject for one in told.world().faults}


def test_a_cluster_that_cannot_say_what_it_serves_serves_everything() -> None:
    """A ManagedCluster with a status tells of no APIs; Karmada places there all the same."""
    well = condition("ManagedClusterConditionAvailable", ClusterReadiness("True", "", "", ""))
    known = {**managed("a"), "status": {"conditions": [well], "allocatable": {"cpu": "4"}}}
    told = story(PROJECTING, known, policy(), deployment())
    told.run(0)

    assert {"a": 2} == told.placed()
