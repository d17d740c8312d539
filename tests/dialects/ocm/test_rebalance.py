"""A WorkloadRebalancer that names a Placement: decided afresh, at once, and once."""

from collections.abc import Callable
from typing import cast

import pytest

from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind
from tests.builders import path_of, rebalancer
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    binding,
    cluster,
    cluster_set,
    placement,
    score,
)
from tests.stories import Story, story

HUB = (cluster_set(), binding(), cluster("a"), cluster("b"))
DECISION = f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml"
STEADY = {**BY_SCORE, "mode": "Additive"}
FILE = path_of(placement())
DISABLE = f"{GROUP}/experimental-scheduling-disable"
SUSPEND = "reconciler.dev/suspend"


def demand(version: str = "v1beta1", name: str = "p", namespace: str = "ns1") -> Body:
    """A rebalancer of one placement."""
    reference = {"apiVersion": f"{GROUP}/{version}", "kind": "Placement", "name": name}
    return rebalancer("again", {**reference, "namespace": namespace})


def chosen(told: Story) -> list[str]:
    """The clusters of the placement's first decision."""
    status = cast(Body, told.output(DECISION)["status"])
    return [item["clusterName"] for item in cast(list[dict[str, str]], status["decisions"])]


def result(told: Story) -> str:
    """How the rebalance of the one workload stands."""
    [workload] = cast(list[dict[str, str]], told.rebalancer("again")["observedWorkloads"])
    return workload.get("result", "")


def waits(told: Story) -> str:
    """What the rebalance of the one workload waits for."""
    [workload] = cast(list[dict[str, str]], told.rebalancer("again")["observedWorkloads"])
    return workload.get("waitsFor", "")


def with_metadata(**metadata: object) -> Body:
    """The placement with more metadata."""
    body = placement()
    return {**body, "metadata": {**cast(Body, body["metadata"]), **metadata}}


def settled_on_a() -> Story:
    """A placement that stays on `a` by Steady though `b` has the better score by now."""
    policy = placement(numberOfClusters=1, prioritizerPolicy=STEADY)
    told = story(*HUB, policy, score("a", 10), score("b", 0))
    told.run(0)
    told.put(score("b", 50))
    told.run(1000)
    assert ["a"] == chosen(told)
    return told


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_rebalance_forgets_the_decision(version: str) -> None:
    """Steady does not hold; the rebalancer is named, and the scores without which it moves nothing.

    A later pass leaves the result.
    """
    told = settled_on_a().put(demand(version))
    [decision] = told.run(1001).decisions

    assert (["b"], "Successful") == (chosen(told), result(told))
    scores = Cause(CauseKind.SCORES_CHANGED)
    assert Cause(CauseKind.REBALANCED, "WorkloadRebalancer again", (scores,)) == decision.cause
    assert () == told.run().changes


def test_rebalance_does_not_wait_for_the_period() -> None:
    """New scores act at once."""
    policy = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE)
    told = story(*HUB, policy, score("a", 10), score("b", 0))
    told.run(0)
    told.put(score("b", 50), demand()).run(1)

    assert ["b"] == chosen(told)


def test_no_select_if_new_treats_every_cluster_as_new() -> None:
    """The cluster that was spared so far is left."""
    told = story(*HUB, placement(numberOfClusters=1))
    told.run(0)
    told.put(cluster("a", {"key": "full", "effect": "NoSelectIfNew"})).run(1)
    assert ["a"] == chosen(told)
    told.put(demand()).run(2)

    assert ["b"] == chosen(told)


def test_rebalance_that_changes_nothing_is_successful() -> None:
    """The placement's files are left alone."""
    told = story(*HUB, placement(numberOfClusters=1))
    told.run(0)
    before = dict(told.files)
    told.put(demand())
    outcome = told.run(1)

    assert ([True], "Successful") == ([d.stays for d in outcome.decisions], result(told))
    assert [path for path in before if before[path] != told.files[path]] == [
        "status/reconciler.yaml"
    ]


def test_unknown_placement_is_failed() -> None:
    """It is not there, and never was."""
    told = story(*HUB, placement(), demand(name="other"))
    told.run(0)

    assert "Failed" == result(told)


def break_file(told: Story) -> None:
    """Break the file of the placement."""
    told.files[FILE] = "kind: Placement\na: [\n"


def break_decision(told: Story) -> None:
    """Break the file of its decisions."""
    told.files[DECISION] = "<<<<<<< ours\n"


BLOCKED: tuple[tuple[str, Callable[[Story], object], str], ...] = (
    (
        "switched-off",
        lambda told: told.put(with_metadata(annotations={DISABLE: "true"})),
        f"{DISABLE} is true ({FILE}:1)",
    ),
    (
        "suspended",
        lambda told: told.put(with_metadata(annotations={SUSPEND: "true"})),
        f"{SUSPEND} is true ({FILE}:1)",
    ),
    (
        "deleting",
        lambda told: told.put(with_metadata(deletionTimestamp="2026-11-20T12:00:00Z")),
        f"it is being deleted ({FILE}:1)",
    ),
    (
        "faulty",
        lambda told: told.put(placement(numberOfClusters="one")),
        f"it is faulty ({FILE}:1)",
    ),
    ("not-understood", break_file, f"its file cannot be understood ({FILE}:3)"),
    ("frozen", break_decision, f"one of its files cannot be read ({FILE}:1)"),
)


@pytest.mark.parametrize(("act", "why"), [pytest.param(a, w, id=i) for i, a, w in BLOCKED])
def test_a_rebalancer_says_what_a_placement_lacks(act: Callable[[Story], object], why: str) -> None:
    """In its record, with file and line; the result stays open."""
    told = story(*HUB, placement())
    told.run(0)
    act(told)
    told.put(demand()).run(1)

    assert ("", why) == (result(told), waits(told))


def test_placement_that_is_switched_off_waits() -> None:
    """The rebalance happens when scheduling is on again."""
    switch = {f"{GROUP}/experimental-scheduling-disable": "true"}
    off = {**placement(), "metadata": {"name": "p", "namespace": "ns1", "annotations": switch}}
    told = story(*HUB, off, demand())
    told.run(0)
    assert "" == result(told)
    told.put(placement()).run(1)

    assert ("Successful", "") == (result(told), waits(told))


def test_faulty_placement_waits() -> None:
    """A file that cannot be read is not rebalanced by its last good version."""
    told = story(*HUB, placement(numberOfClusters=1))
    told.run(0)
    told.put(placement(numberOfClusters="one"), demand()).run(1)

    assert ("", ["a"]) == (result(told), chosen(told))


def test_unreadable_decision_keeps_everything() -> None:
    """What stands in it is not known, so the placement neither moves nor is rebalanced."""
    told = settled_on_a()
    told.files[DECISION] = "<<<<<<< ours\n"
    told.put(demand()).run(1001)

    assert ("<<<<<<< ours\n", "") == (told.files[DECISION], result(told))
