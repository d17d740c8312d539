"""A rebalancer has KubeFleet choose as if nothing were placed."""

from collections.abc import Mapping

import pytest

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.dialect import KUBEFLEET
from reconciler.model.decision import CauseKind
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Settings
from reconciler.rebalance.target import Reference, Target
from tests.builders import NOW, Body, deployment, rebalancer
from tests.dialects.kubefleet.fleet import PLACEMENT, member, pick, placement, states
from tests.stories import Story, story

KEY = ObjectKey(GROUP, PLACEMENT, "", "web")
REFERENCE = Reference(f"{GROUP}/v1beta1", PLACEMENT, "", "web")
ALL_AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
ONE_BY_ONE = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
PREFER_NEW = {
    "affinity": {
        "clusterAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 9, "preference": {"labelSelector": {"matchLabels": {"new": "yes"}}}}
            ]
        }
    }
}


def moved_story(strategy: Body, number: int = 2) -> Story:
    """Web on the best of a and b; then x and y join, which it prefers."""
    wanted = placement(pick(number, **PREFER_NEW), strategy=strategy)
    told = story(member("a"), member("b"), wanted, deployment())
    for seconds in (0, 60, 120, 180):
        told.run(seconds)
    told.put(member("x", labels={"new": "yes"}), member("y", labels={"new": "yes"}))
    told.run(200)
    return told


def demand(of: str = "web") -> Body:
    """A rebalancer of a placement."""
    return rebalancer("demo", {"apiVersion": f"{GROUP}/v1beta1", "kind": PLACEMENT, "name": of})


def test_clusters_are_chosen_as_if_nothing_were_placed() -> None:
    """Those that the fresh choice does not keep leave, and the next pass leaves it so."""
    told = moved_story(ALL_AT_ONCE)
    assert {"a": "Bound", "b": "Bound"} == states(told)
    told.put(demand())
    [decision] = told.run(300).decisions

    assert (CauseKind.REBALANCED, "WorkloadRebalancer demo") == (
        decision.cause.kind,
        decision.cause.detail,
    )
    assert {"x": "Bound", "y": "Bound"} == states(told)
    for seconds in (301, 400, 500):
        assert () == told.run(seconds).decisions
    assert {"x": "Bound", "y": "Bound"} == states(told)
    assert "Successful" in told.files["status/workloadrebalancers.apps.karmada.io/demo.yaml"]


def test_what_the_fresh_choice_keeps_stays() -> None:
    """One of two moves, the binding of the other is the same."""
    told = moved_story(ALL_AT_ONCE)
    told.drop(member("y"))
    told.put(demand()).run(300)

    assert {"b": "Bound", "x": "Bound"} == states(told)


def test_rollout_limits_are_kept() -> None:
    """With one unavailable at most, clusters are exchanged one after the other."""
    told = moved_story(ONE_BY_ONE)
    told.put(demand()).run(300)
    seen = [states(told)]
    for seconds in (360, 420, 480, 540):
        told.run(seconds)
        seen.append(states(told))

    assert {"x": "Bound", "y": "Bound"} == seen[-1]
    for found in seen:
        assert 1 <= list(found.values()).count("Bound")
        assert 2 >= sum(state in ("Bound", "Unscheduled") for state in found.values())


def test_topology_is_spread_anew() -> None:
    """A placement that took one cluster a zone before zones changed is spread over the new ones."""
    constraint = {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1}]}
    wanted = placement(pick(2, **constraint), strategy=ALL_AT_ONCE)
    told = story(*(member(name, labels={"zone": zone}) for name, zone in ("ax", "by")), wanted)
    told.run(0)
    told.run(60)
    told.put(member("b", labels={"zone": "x"}), member("c", labels={"zone": "y"}))
    told.run(100)
    assert {"a", "b"} == set(states(told))
    told.put(demand()).run(200)

    assert {"b", "c"} == set(states(told))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param(REFERENCE, Target(KEY), id="placement"),
        pytest.param(Reference(f"{GROUP}/v1", PLACEMENT, "", "web"), Target(KEY), id="version"),
        pytest.param(Reference("v1", PLACEMENT, "", "web"), None, id="group"),
        pytest.param(Reference(f"{GROUP}/v1beta1", PLACEMENT, "", "api"), None, id="nobody"),
        pytest.param(Reference(f"{GROUP}/v1beta1", PLACEMENT, "ns", "web"), None, id="namespace"),
        pytest.param(Reference("apps/v1", "Deployment", "default", "web"), None, id="workload"),
    ],
)
def test_target(reference: Reference, expected: Target | None) -> None:
    """Group, kind and name decide."""
    world = story(member("a"), placement(), deployment()).world()

    assert expected == KUBEFLEET.prepare(world, Settings(), NOW).target(reference)


@pytest.mark.parametrize("broken", ["input", "output"])
def test_a_placement_that_cannot_be_settled_waits(broken: str) -> None:
    """Its file is faulty, or what stands in its outputs cannot be read."""
    told = story(member("a"), placement(), deployment())
    told.run(0)
    folder = "clusterresourceplacement/web" if broken == "input" else "status/clusterresourceb"
    path = next(path for path in told.files if path.startswith(folder))
    told.files[path] = told.files[path].replace("Name", "Nome").replace('"policy', '"polity')
    told.files[path] += "---\nkind: [\n"
    if broken == "input":
        told.files[path] = told.files[path].replace("resourceSelectors", "selectors")

    found = KUBEFLEET.prepare(told.world(), Settings(), NOW).target(REFERENCE)
    why = {
        "input": f"it is faulty ({path}:1)",
        "output": "what stands in its outputs cannot be read (clusterresourceplacement/web.yaml:1)",
    }
    assert Target(KEY, waits_for=why[broken]) == found


def test_trigger_of_another_object_changes_nothing() -> None:
    """Only the placement that is named is chosen anew."""
    told = moved_story(ALL_AT_ONCE)
    world = told.world()
    fleets = KUBEFLEET.prepare(world, Settings(), told.now)
    other = ObjectKey(GROUP, PLACEMENT, "", "other")
    triggers: Mapping[ObjectKey, RescheduleTrigger] = {other: RescheduleTrigger(told.now, "demo")}

    assert fleets.plan({}, frozenset(), {}) == fleets.plan(triggers, frozenset(), {})


def test_a_rebalancer_of_nobody_fails() -> None:
    """As for a workload without a binding."""
    told = moved_story(ALL_AT_ONCE)
    told.put(demand(of="nobody"))
    told.run(300)

    assert "Failed" in told.files["status/workloadrebalancers.apps.karmada.io/demo.yaml"]
    assert {"a": "Bound", "b": "Bound"} == states(told)
