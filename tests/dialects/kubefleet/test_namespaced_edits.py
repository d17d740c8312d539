"""What may change in a ResourcePlacement, which no webhook of KubeFleet watches."""

import pytest

from tests.builders import Body
from tests.dialects.kubefleet.fleet import clusters_of, fixed, namespaced_placement, pick, placed


def test_its_tolerations_may_go() -> None:
    """No webhook of upstream watches it, and its CRD has no such rule."""
    tolerant = {"tolerations": [{"key": "k", "operator": "Exists"}]}
    told = placed(namespaced_placement(pick(1, **tolerant)))

    assert () == told.put(namespaced_placement(pick(1))).run(60).faults


@pytest.mark.parametrize(
    ("after", "field"),
    [
        pytest.param(None, "/spec/policy", id="gone"),
        pytest.param(fixed("a"), "/spec/policy/placementType", id="type"),
    ],
)
def test_its_policy_stays(after: Body | None, field: str) -> None:
    """Its CRD refuses another type, and that it goes once it was written."""
    told = placed(namespaced_placement(pick(1)))
    [fault] = told.put(namespaced_placement(after)).run(60).faults

    assert ("placement-immutable", field) == (fault.rule, fault.field)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({"placementType": "PickAll"}, ["a", "b"], id="PickAll"),
        pytest.param(pick(1), ["b"], id="PickN"),
        pytest.param(fixed("a"), ["a"], id="PickFixed"),
    ],
)
def test_a_policy_of_any_type_may_come(policy: Body, expected: list[str]) -> None:
    """None is PickAll until then, but no rule of its CRD stands on what was absent."""
    told = placed(namespaced_placement())
    came = told.put(namespaced_placement(policy)).run(60)

    assert () == came.faults
    assert expected == clusters_of(told, "default")


def test_its_strategy_may_go() -> None:
    """The rule of its CRD stands on the type in it, so External may be left that way."""
    told = placed(namespaced_placement(strategy={"type": "External"}))
    assert () == told.put(namespaced_placement()).run(60).faults

    assert () == told.put(namespaced_placement(strategy={})).run(120).faults


def test_its_strategy_stays_external_where_it_is_given() -> None:
    """The type that it does not tell is RollingUpdate."""
    told = placed(namespaced_placement(strategy={"type": "External"}))
    [fault] = told.put(namespaced_placement(strategy={})).run(60).faults

    assert ("placement-immutable", "/spec/strategy/type") == (fault.rule, fault.field)


def test_a_policy_that_came_stays() -> None:
    """It counts from the pass that saw it."""
    told = placed(namespaced_placement())
    told.put(namespaced_placement(pick(1))).run(60)
    [fault] = told.put(namespaced_placement(fixed("a"))).run(120).faults

    assert ("placement-immutable", "/spec/policy/placementType") == (fault.rule, fault.field)
