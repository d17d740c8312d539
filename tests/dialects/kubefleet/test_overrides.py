"""Overrides of KubeFleet: what of them no vector shows."""

import re

import pytest

from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior
from reconciler.dialects.kubefleet.overrides import (
    MemberLabels,
    Override,
    OverrideTarget,
    apply_overrides,
    decode_override,
    overrides_of_cluster,
    overrides_of_placement,
    target_of,
    with_variables,
)
from reconciler.errors import UserError
from reconciler.model.identity import ClusterName, ObjectKey
from tests.builders import Body, configmap
from tests.dialects.kubefleet.fleet import GROUP

NAME = "${MEMBER-CLUSTER-NAME}"
LABEL = "${MEMBER-CLUSTER-LABEL-KEY-"
EAST = MemberLabels(ClusterName("east"), {"east": "self", "zone": ""})
EVERY: Body = {"clusterSelector": {"clusterSelectorTerms": []}}
SETTINGS: Body = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}
SHOP: Body = {"group": "", "version": "v1", "kind": "Namespace", "name": "default"}


def add(path: str, value: object = "1") -> Body:
    """A patch that adds a value."""
    return {"op": "add", "path": path, "value": value}


def override(*patches: Body, selectors: tuple[Body, ...] = (SETTINGS,), **spec: object) -> Override:
    """A ResourceOverride in `default` for every cluster."""
    policy = {"overrideRules": [{**EVERY, "jsonPatchOverrides": list(patches)}]}
    key = ObjectKey(GROUP, "ResourceOverride", "default", "o")
    return decode_override(
        key, {"resourceSelectors": list(selectors), "policy": policy, **spec}, "o-0"
    )


def fleet_wide(*patches: Body, **spec: object) -> Override:
    """A ClusterResourceOverride of the Namespace `default`, for every cluster."""
    policy = {"overrideRules": [{**EVERY, "jsonPatchOverrides": list(patches)}]}
    key = ObjectKey(GROUP, "ClusterResourceOverride", "", "o")
    return decode_override(
        key, {"clusterResourceSelectors": [SHOP], "policy": policy, **spec}, "o-0"
    )


def applied(*overrides: Override) -> Body | None:
    """The ConfigMap as overrides leave it on the cluster east."""
    body = configmap()
    return apply_overrides(body, target_of(body), overrides, EAST, namespaced=True)


def of_placement(placement: str, *overrides: Override) -> list[Override]:
    """Those of some overrides that concern a placement of the ConfigMap."""
    target = target_of(configmap())
    return overrides_of_placement(overrides, placement, [target], lambda one: bool(one.namespace))


def test_the_name_of_a_cluster_may_be_part_of_the_key_of_a_label() -> None:
    """Names are replaced first."""
    patch = with_variables(add("/data/at", f"{LABEL}{NAME}}}"), EAST)

    assert "self" == patch["value"]


def test_variables_are_replaced_in_keys_and_below() -> None:
    """The path is left alone."""
    patch = with_variables(add(f"/data/{NAME}", {NAME: [f"in {NAME}"]}), EAST)

    assert add(f"/data/{NAME}", {"east": ["in east"]}) == patch


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(f"{LABEL}x}}", "label key x not found on cluster east", id="no-such-label"),
        pytest.param(f"{LABEL}x", f'input "{LABEL}x" is missing the closing', id="not-closed"),
        pytest.param({"a": f"{LABEL}zone"}, 'label key zone" not found', id="closed-by-the-value"),
    ],
)
def test_a_variable_without_a_value_is_an_error(value: object, message: str) -> None:
    """The brace that closes it may be one of the JSON itself."""
    with pytest.raises(UserError, match=re.escape(message)):
        with_variables(add("/data/at", value), EAST)


def test_a_selector_that_is_listed_twice_applies_twice() -> None:
    """In the place where it stands."""
    twice = override(add("/data/x/-"), selectors=(SETTINGS, SETTINGS))
    found = applied(override(add("/data", {"x": []})), twice)

    assert found is not None
    assert {"x": ["1", "1"]} == found["data"]


def test_an_override_of_a_namespace_applies_to_all_that_is_in_it() -> None:
    """And before those of the namespace itself."""
    own, fleet = override(add("/data/from", "own")), fleet_wide(add("/data", {"from": "fleet"}))
    picked = overrides_of_cluster([own, fleet], EAST)
    found = applied(*picked)

    assert [fleet, own] == picked
    assert found is not None
    assert {"from": "own"} == found["data"]


def test_what_is_deleted_stays_so() -> None:
    """Whatever a later override says."""
    policy = {"overrideRules": [{**EVERY, "overrideType": "Delete"}]}

    assert applied(override(policy=policy), override(add("/data", {}))) is None


@pytest.mark.parametrize(
    ("placement", "own", "fleet"),
    [
        pytest.param({"name": "web"}, ["web"], ["web"], id="cluster-scope"),
        pytest.param(
            {"name": "web", "scope": "Namespaced"}, ["default/web"], ["web"], id="namespaced-scope"
        ),
    ],
)
def test_an_override_may_be_for_one_placement(
    placement: Body, own: list[str], fleet: list[str]
) -> None:
    """Only a ResourceOverride can be for one of a namespace."""
    names = ["web", "default/web", "other"]
    mine, theirs = override(placement=placement), fleet_wide(placement=placement)

    assert own == [name for name in names if of_placement(name, mine)]
    assert fleet == [name for name in names if of_placement(name, theirs)]


def test_an_override_of_another_namespace_concerns_nothing_here() -> None:
    """Though the name is the same."""
    target = OverrideTarget("", "v1", "ConfigMap", "shop", "settings")

    assert [] == overrides_of_placement([override()], "web", [target], lambda _: True)


def test_an_override_without_a_policy_cannot_be_picked() -> None:
    """No admission lets it through."""
    with pytest.raises(UnexpectedBehavior, match="the override o-0 has no policy"):
        overrides_of_cluster([override(policy=None)], EAST)
