"""What a binding does not say, since Go leaves it out where it is empty."""

from typing import Any

import pytest

from tests.builders import Body, cluster, deployment, policy
from tests.stories import BINDINGS, story

EMPTY_OPERATOR = {"clusterTolerations": [{"key": "a", "operator": ""}]}
NO_MAXIMUM = [
    {"spreadByField": "cluster", "maxGroups": 1},
    {"spreadByField": "region", "minGroups": 1, "maxGroups": 0},
]


@pytest.mark.parametrize(
    ("placement", "rest", "name"),
    [
        pytest.param({}, {"propagateDeps": False}, "propagateDeps", id="flag"),
        pytest.param({"spreadConstraints": NO_MAXIMUM}, {}, "maxGroups: 0", id="number"),
        pytest.param(EMPTY_OPERATOR, {}, "operator", id="text"),
        pytest.param({"clusterTolerations": []}, {}, "clusterTolerations", id="list"),
        pytest.param({}, {"schedulerName": ""}, 'schedulerName: ""', id="before-a-default"),
    ],
)
def test_what_is_empty_in_a_policy_is_not_in_its_bindings(
    placement: Body, rest: dict[str, Any], name: str
) -> None:
    """The policy is stored without it, and the binding copies what is stored."""
    told = story(cluster(), policy(placement=placement, **rest), deployment())
    told.run(0)

    assert name not in told.files[f"{BINDINGS}/default/web-deployment.yaml"]


def test_no_replicas_are_left_out() -> None:
    """Neither the binding nor its clusters say `replicas: 0`."""
    told = story(cluster(), policy(), deployment(replicas=0))
    told.run(0)

    assert {"a": 0} == told.placed()
    assert "replicas: 0" not in told.files[f"{BINDINGS}/default/web-deployment.yaml"]
