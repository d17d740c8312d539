"""What suspends an object: the same whether one object is asked about or all are looked at."""

import pytest

from reconciler.audit.fleet.suspensions import Suspensions, suspenders_of
from reconciler.manifests.admission import SUSPEND
from tests.builders import Body, cluster, configuration, deployment, policy, rebalancer, target
from tests.stories import story

SUSPENDED = {SUSPEND: "true"}


def annotated(body: Body) -> Body:
    """Return a manifest that suspends."""
    return {**body, "metadata": {**body["metadata"], "annotations": SUSPENDED}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("more", "count"),
    [
        pytest.param((), 0, id="nothing"),
        pytest.param((annotated(deployment()),), 2, id="workload"),
        pytest.param((annotated(policy()),), 3, id="policy"),
        pytest.param((annotated(deployment()), annotated(policy())), 3, id="both"),
        pytest.param((configuration(suspend=True),), 4, id="everything"),
    ],
)
def test_one_object_asked_alone_is_suspended_as_among_all(
    more: tuple[Body, ...], count: int
) -> None:
    """Of every input and output: its workload, its policy, everything."""
    told = story(cluster("a"), policy(), deployment(), rebalancer("all", target()))
    told.run(0)
    told.put(*more)
    world = told.world()
    every = Suspensions(world)
    found = {key: suspenders_of(world, key) for key in {*world.inputs, *world.outputs}}

    assert {key: every.of(key) for key in found} == found
    assert count <= sum(bool(one) for one in found.values())
