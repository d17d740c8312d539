"""Evictions from a placement, and the budget that they keep to, in passes."""

from collections.abc import Mapping
from typing import cast

import pytest

from reconciler.core.reconcile import Memo, reconcile
from tests.builders import Body, configuration, deployment, text
from tests.dialects.kubefleet.fleet import (
    GROUP,
    budget,
    eviction,
    files,
    member,
    pick,
    placement,
    targets,
)
from tests.dialects.kubefleet.rollout.test_works import says, snapshot_of, work
from tests.stories import Story, applied, linked, story

PICK_ALL: Body = {"placementType": "PickAll"}
KEPT_AWAY = ({"key": "drain", "effect": "NoSchedule"},)


def placed(policy: Body, *names: str, available: bool = True) -> Story:
    """Web on some clusters, which report that it is available there, or nothing."""
    told = story(*map(member, names), placement(policy), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": None}))
    told.run(0)
    for name in targets(told) if available else ():
        says(told, work(snapshot_of(told, name), name, Applied="True", Available="True"), name)
    if available:
        told.run(1)
    return told


def came_of(told: Story, name: str = "once") -> dict[str, tuple[str, str]]:
    """Type to status and message of an eviction's conditions."""
    for body in files(told, "clusterresourceplacementevictions"):
        if cast(Mapping[str, str], body["metadata"])["name"] == name:
            status = cast(Mapping[str, list[Mapping[str, str]]], body["status"])
            return {one["type"]: (one["status"], one["message"]) for one in status["conditions"]}
    raise AssertionError(f"{name} was not judged")


def why(told: Story, name: str = "once") -> str:
    """The last of what an eviction's conditions say."""
    return [message for _, message in came_of(told, name).values()][-1]


def test_an_eviction_takes_a_cluster_away() -> None:
    """The next one comes in its place, and the commit says by what: by the taint, too."""
    told = placed(pick(1), "a", "b")
    (old,) = targets(told)
    told.put(member(old, taints=KEPT_AWAY), eviction(old))
    outcome = told.run(10)

    assert [{"a": "b", "b": "a"}[old]] == targets(told)
    assert ["evicted (ClusterResourcePlacementEviction once), clusters changed"] == [
        str(one.cause) for one in outcome.decisions
    ]
    assert {
        "Valid": ("True", "Eviction is valid"),
        "Executed": (
            "True",
            "Eviction is allowed, no ClusterResourcePlacementDisruptionBudget specified",
        ),
    } == came_of(told)


def test_an_eviction_is_executed_once() -> None:
    """What came of it stays, and so does what is placed afterwards."""
    told = placed(pick(1), "a", "b")
    (old,) = targets(told)
    told.put(member(old, taints=KEPT_AWAY), eviction(old))
    told.run(10)
    told.put(member(old), member({"a": "b", "b": "a"}[old], taints=KEPT_AWAY))
    moved = targets(told)
    told.run(20)

    assert moved == targets(told)
    assert () == told.run(30).changes


def test_a_cluster_that_may_be_chosen_again_is() -> None:
    """Nothing keeps it away but a taint."""
    told = placed(PICK_ALL, "a", "b")
    told.put(eviction("a"))
    told.run(10)

    assert ["a", "b"] == targets(told)
    assert "True" == came_of(told)["Executed"][0]


def test_a_cluster_that_is_kept_away_stays_empty() -> None:
    """And no other one gets what all have."""
    told = placed(PICK_ALL, "a", "b")
    told.put(member("a", taints=KEPT_AWAY), eviction("a"))
    told.run(10)

    assert ["b"] == targets(told)


COUNTS = "by specified ClusterResourcePlacementDisruptionBudget, availablePlacements"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param({"minAvailable": 1}, f"allowed {COUNTS}: 2, totalPlacements: 2", id="enough"),
        pytest.param({"minAvailable": 2}, f"blocked {COUNTS}: 2, totalPlacements: 2", id="least"),
        pytest.param({"maxUnavailable": 1}, f"allowed {COUNTS}: 2, totalPlacements: 2", id="one"),
        pytest.param({"maxUnavailable": 0}, f"blocked {COUNTS}: 2, totalPlacements: 2", id="none"),
        pytest.param(
            {"minAvailable": "51%"}, f"blocked {COUNTS}: 2, totalPlacements: 2", id="rounded-up"
        ),
        pytest.param({}, f"blocked {COUNTS}: 2, totalPlacements: 2", id="without-limit"),
    ],
)
def test_a_budget_is_kept(limits: dict[str, object], expected: str) -> None:
    """By the number of bindings that are available, of those that are wanted."""
    told = placed(pick(2), "a", "b")
    told.put(budget(limits), member("a", taints=KEPT_AWAY), eviction("a"))
    told.run(10)

    assert f"Eviction is {expected}" == why(told)
    assert (["a", "b"] if "blocked" in expected else ["b"]) == targets(told)


def test_a_blocked_eviction_is_not_tried_again() -> None:
    """A new one is needed."""
    told = placed(pick(2), "a", "b")
    told.put(budget({"minAvailable": 2}), eviction("a"))
    told.run(10)
    told.put(budget({"minAvailable": 1}), member("a", taints=KEPT_AWAY))
    told.run(20)

    assert ["a", "b"] == targets(told)

    told.put(eviction("a", name="again"))
    told.run(30)
    assert ["b"] == targets(told)


def test_evictions_of_one_commit_share_the_budget() -> None:
    """What the first takes away is not available to the second."""
    told = placed(pick(3), "a", "b", "c")
    taken = [member(name, taints=KEPT_AWAY) for name in ("a", "b")]
    told.put(
        budget({"maxUnavailable": 1}), *taken, eviction("b", name="y"), eviction("a", name="x")
    )
    told.run(10)

    assert ["b", "c"] == targets(told)
    assert f"Eviction is blocked {COUNTS}: 2, totalPlacements: 3" == why(told, "y")


def test_what_is_not_available_is_told_by_reports() -> None:
    """Nothing is, where no cluster reports."""
    told = placed(pick(2), "a", "b", available=False)
    told.put(budget({"minAvailable": 1}), eviction("a"))
    told.run(10)

    assert f"Eviction is blocked {COUNTS}: 0, totalPlacements: 2" == why(told)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            eviction("a", placement_name="gone"),
            "Failed to find ClusterResourcePlacement targeted by eviction",
            id="no-placement",
        ),
        pytest.param(
            eviction("z"),
            "Failed to find scheduler decision for placement in cluster targeted by eviction",
            id="not-there",
        ),
    ],
)
def test_an_invalid_eviction_does_nothing(body: Body, expected: str) -> None:
    """It says why."""
    told = placed(PICK_ALL, "a")
    told.put(body)
    told.run(10)

    assert {"Valid": ("False", expected)} == came_of(told)
    assert () == told.run(20).changes


def test_an_eviction_waits_for_a_placement_that_cannot_be_read() -> None:
    """It may name what people meant."""
    told = story(member("a"), deployment())
    told.run(0)
    told.files["placement.yaml"] = text(placement(PICK_ALL)).replace("PickAll", "PickMost")
    told.put(eviction("a"))
    told.run(10)

    assert [] == files(told, "clusterresourceplacementevictions")


def test_an_eviction_waits_for_a_budget_that_cannot_be_read() -> None:
    """Or else it would be allowed by mistake."""
    told = placed(PICK_ALL, "a", "b")
    told.files["budget.yaml"] = text(budget({"minAvailable": -1}))
    told.put(member("a", taints=KEPT_AWAY), eviction("a"))
    told.run(10)

    assert ["a", "b"] == targets(told)

    told.files["budget.yaml"] = text(budget({"minAvailable": 1}))
    told.run(20)
    assert ["b"] == targets(told)


def test_an_eviction_of_a_suspended_placement_waits() -> None:
    """Nothing moves there."""
    told = placed(PICK_ALL, "a")
    metadata = {"name": "web", "annotations": {"reconciler.dev/suspend": "true"}}
    told.put({**placement(PICK_ALL), "metadata": metadata}, eviction("a"))
    told.run(10)

    assert [] == files(told, "clusterresourceplacementevictions")


def test_an_eviction_cannot_be_pointed_elsewhere() -> None:
    """It is a fault, and what came of it stays."""
    told = placed(PICK_ALL, "a", "b")
    told.put(eviction("a"))
    told.run(10)
    before = came_of(told)
    told.put(member("b", taints=KEPT_AWAY), eviction("b"))
    outcome = told.run(20)

    assert ["eviction-immutable"] == [fault.rule for fault in outcome.faults]
    assert (["a", "b"], before) == (targets(told), came_of(told))


def test_an_eviction_whose_status_cannot_be_read_waits() -> None:
    """It may have been executed."""
    told = placed(pick(1), "a", "b")
    (old,) = targets(told)
    told.put(eviction(old))
    told.run(10)
    told.files[f"status/clusterresourceplacementevictions.{GROUP}/once.yaml"] = "{"
    told.put(member(old, taints=KEPT_AWAY))
    told.run(20)

    assert [old] == targets(told)


def test_the_status_of_an_eviction_goes_with_its_file() -> None:
    """One of the same name is a new one then."""
    told = placed(PICK_ALL, "a")
    told.put(eviction("a"))
    told.run(10)
    told.drop(eviction("a"))
    told.run(20)

    assert [] == files(told, "clusterresourceplacementevictions")


def test_a_warm_pass_follows_evictions_and_budgets() -> None:
    """As they come, change and go."""
    told, memo, world = placed(pick(2), "a", "b", "c"), Memo(), None
    once, limit = text(eviction("a")), text(budget({"minAvailable": 5}))
    edits = (
        {"x.yaml": "", "y.yaml": ""},
        {"y.yaml": limit},
        {"x.yaml": once},
        {"y.yaml": ""},
        {"x.yaml": text(eviction("a", name="again"))},
        {"x.yaml": ""},
    )
    for edit in edits:
        told.files |= edit
        world = linked(told.world(), world)
        warm, cold = reconcile(world, told.now, memo=memo), reconcile(world, told.now)

        assert cold.changes == warm.changes

        told.files = applied(told.files, warm)
        world = linked(told.world(), world)

        assert () == reconcile(world, told.now, memo=memo).changes
