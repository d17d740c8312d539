"""What KubeFleet's API server and webhook make of a placement before it is read."""

import pytest

from reconciler.dialects.kubefleet.api.placement import decode_placement, mutated, with_defaults
from reconciler.model.fields import mapping
from tests.builders import Body, deployment
from tests.dialects.kubefleet.fleet import fixed, member, pick, placement, states
from tests.stories import story


def test_a_default_needs_its_parent() -> None:
    """The CRD fills what is missing in an object that is there, and makes none."""
    spec = with_defaults({"strategy": {"rollingUpdate": {"maxSurge": 1}}})

    limits = {"maxSurge": 1, "maxUnavailable": "25%", "unavailablePeriodSeconds": 60}
    assert {"type": "RollingUpdate", "rollingUpdate": limits} == spec["strategy"]
    assert "policy" not in spec


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(None, {"placementType": "PickAll"}, id="no policy"),
        pytest.param({"tolerations": []}, {"placementType": "PickAll"}, id="empty list"),
        pytest.param({"affinity": {}}, {"placementType": "PickAll", "affinity": {}}, id="object"),
        pytest.param(
            {"tolerations": [{"key": "a", "value": ""}]},
            {"placementType": "PickAll", "tolerations": [{"operator": "Equal", "key": "a"}]},
            id="empty text",
        ),
        pytest.param(
            pick(1, topologySpreadConstraints=[{}]),
            pick(
                1,
                topologySpreadConstraints=[
                    {"topologyKey": "", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
                ],
            ),
            id="zero value",
        ),
    ],
)
def test_a_policy_is_read_as_the_webhook_writes_it(policy: Body | None, expected: Body) -> None:
    """Empty lists and texts vanish, pointers to empty objects stay, scalars get a value."""
    assert expected == decode_placement(placement(policy)).policy


def test_external_gets_no_rolling_update() -> None:
    """Limits are filled in for the type that has them."""
    strategy = mapping(mutated({"strategy": {"type": "External"}}), "strategy")

    assert ["applyStrategy", "type"] == sorted(strategy)


def test_server_side_apply_does_not_force_by_default() -> None:
    """Its options are filled in, those of another type are not."""
    apply = {"type": "ServerSideApply"}
    strategy = decode_placement(placement(strategy={"applyStrategy": apply})).strategy

    assert {"force": False} == strategy.apply["serverSideApplyConfig"]


def test_a_placement_of_no_names_is_not_scheduled() -> None:
    """PickFixed without names leaves what is placed where it is."""
    told = story(member("a"), placement(fixed("a")), deployment())
    told.run(0)
    told.put(placement(fixed()))
    told.run(60)

    assert {"a": "Bound"} == states(told)
