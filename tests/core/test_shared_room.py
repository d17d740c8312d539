"""Where room is protected and somebody has a limit, no object is asked alone."""

import pytest

from reconciler.core.asked import AskedAlone
from reconciler.core.ledger import shares_room
from reconciler.dialects.contract import DependsOnOthers
from reconciler.model.identity import ObjectKey
from tests.builders import Body, cluster, configuration, deployment, policy
from tests.dialects.karmada.test_protected_room import room
from tests.stories import story

ON = configuration(capacity={"protect": True})
WEB = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param([room("a", "4")], False, id="off"),
        pytest.param([ON, cluster("a")], False, id="declared"),
        pytest.param(
            [ON, cluster("a", status={"kubernetesVersion": "v1"})], False, id="no-capacity"
        ),
        pytest.param([ON, cluster("a"), room("b", "4")], True, id="one-has-a-limit"),
    ],
)
def test_room_is_shared_where_a_cluster_has_a_limit(bodies: list[Body], expected: bool) -> None:  # noqa: FBT001  # a row
    """What others get counts there, and nowhere else."""
    told = story(*bodies, policy(), deployment())
    world = told.world()

    assert expected == shares_room(world)
    assert expected == isinstance(AskedAlone().part(world, WEB), DependsOnOthers)
