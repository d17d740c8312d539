"""A placement that a person suspends stays as it is, whatever its API, and rebalancers wait."""

from collections.abc import Callable
from typing import cast

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.manifests.admission import SUSPEND
from reconciler.model.identity import ObjectKey
from tests.builders import Body, deployment, rebalancer
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.kubefleet.fleet import member, pick, placement
from tests.dialects.ocm import worlds
from tests.dialects.ocm.worlds import GROUP as OCM
from tests.stories import Story, story

CRP = placement(pick(1))
PLACEMENT = worlds.placement(numberOfClusters=1)


def kubefleet() -> Story:
    """Web on `a`, which is to leave."""
    told = story(member("a"), CRP, deployment())
    told.run(0)
    told.run(100)
    return told.put(member("a", leaving=True), member("b"))


def ocm() -> Story:
    """A placement on `a`, which is tainted now."""
    told = story(worlds.cluster_set(), worlds.binding(), worlds.cluster("a"), PLACEMENT)
    told.run(0)
    taint = {"key": "gone", "effect": "NoSelect"}
    return told.put(worlds.cluster("a", taint), worlds.cluster("b"))


CASES = [
    pytest.param(
        kubefleet, CRP, ObjectKey(FLEET, "ClusterResourcePlacement", "", "web"), id="fleet"
    ),
    pytest.param(ocm, PLACEMENT, ObjectKey(OCM, "Placement", "ns1", "p"), id="ocm"),
]


def suspended(body: Body, value: str = "true") -> Body:
    """The same manifest with the annotation."""
    metadata = cast(Body, body["metadata"])
    return {**body, "metadata": {**metadata, "annotations": {SUSPEND: value}}}


def placements(told: Story) -> dict[str, str]:
    """All that is written of placements."""
    return {path: data for path, data in told.outputs.items() if "placement" in path}


def demand(key: ObjectKey, body: Body) -> Body:
    """A rebalancer of the placement."""
    scope = {"namespace": key.namespace} if key.namespace else {}
    reference = {"apiVersion": body["apiVersion"], "kind": key.kind, "name": key.name}
    return rebalancer("demo", {**reference, **scope})


@pytest.mark.parametrize(("begun", "body", "key"), CASES)
def test_a_suspended_placement_stays_as_it_is(
    begun: Callable[[], Story], body: Body, key: ObjectKey
) -> None:
    """What would move it does not, and does once it is resumed."""
    told = begun().put(suspended(body))
    before = placements(told)
    resting = told.run(500)
    assert ((), before) == (resting.decisions, placements(told))

    [decision] = told.put(suspended(body, "false")).run(600).decisions

    assert [key, ("b",)] == [decision.key, tuple(name for name, _ in decision.after)]


@pytest.mark.parametrize(("begun", "body", "key"), CASES)
def test_a_rebalancer_of_a_suspended_placement_waits(
    begun: Callable[[], Story], body: Body, key: ObjectKey
) -> None:
    """It has neither succeeded nor failed until the placement is resumed."""
    told = begun().put(suspended(body), demand(key, body))
    told.run(500)
    [waiting] = cast(list[dict[str, str]], told.rebalancer()["observedWorkloads"])
    told.put(body).run(600)
    [done] = cast(list[dict[str, str]], told.rebalancer()["observedWorkloads"])

    assert ("", "Successful") == (waiting.get("result", ""), done.get("result", ""))


@pytest.mark.parametrize(("begun", "body", "key"), CASES)
def test_the_explanation_names_the_annotation(
    begun: Callable[[], Story], body: Body, key: ObjectKey
) -> None:
    """No cluster was judged."""
    told = begun().put(suspended(body))
    world = told.world()
    explanation = reconcile(world, told.now, asked=frozenset({key})).explanations[key]()

    assert not explanation.judged
    assert f"{SUSPEND} is true" in explanation.result
