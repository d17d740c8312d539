"""Policies that are followed through any changes are as if they were read for the first time."""

from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.karmada.api.policy import Policy, Template, decode_policy, template_of
from reconciler.dialects.karmada.detector import policies as known_policies
from reconciler.dialects.karmada.detector.policies import KnownPolicies, Policies
from reconciler.model.identity import ObjectKey
from reconciler.model.remembered import Versioned, patched
from reconciler.model.world import Manifest
from tests.builders import Body, deployment, manifest, policy, selector

NAMES = st.sampled_from(["a", "b", "c"])
PLACES = st.sampled_from(["default", "other", ""])
SELECTED = st.sampled_from(
    [
        selector(),
        selector(name="web"),
        selector(labelSelector={"matchLabels": {"team": "a"}}),
        selector(labelSelector={"matchExpressions": [{"key": "team", "operator": "Exists"}]}),
        selector(labelSelector={"matchExpressions": [{"key": "team", "operator": "Near"}]}),
        {"apiVersion": "apps/v1"},
    ]
)
BROKEN = {**policy("a"), "spec": {"resourceSelectors": [selector(labelSelector="team")]}}
POLICIES = st.builds(
    lambda name, namespace, selectors, priority, needs: policy(
        name, namespace=namespace, selectors=selectors, priority=priority, dependentOverrides=needs
    ),
    NAMES,
    PLACES,
    st.lists(SELECTED, min_size=1, max_size=3),
    st.integers(0, 1),
    st.lists(NAMES, max_size=2, unique=True),
)


def override(name: str, namespace: str) -> Body:
    """An override policy that a policy may wait for."""
    kind = "OverridePolicy" if namespace else "ClusterOverridePolicy"
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {"overrideRules": []},
    }


CHANGES = st.lists(
    st.tuples(st.booleans(), POLICIES | st.builds(override, NAMES, PLACES)),
    max_size=6,
)
TEMPLATES: Sequence[Template] = tuple(
    template_of(manifest(deployment(name, labels=labels)))
    for name in ("web", "api")
    for labels in ({}, {"team": "a"}, {"team": "b"})
)


def told(policies: Policies) -> list[object]:
    """What is asked of policies: which there are, what is wrong with others, and who claims."""
    every = (None, *sorted(policies.by_key))
    claims = [
        claimed and claimed.key
        for template in TEMPLATES
        for present in every
        for preempting in (False, True)
        for claimed in (policies.claim(template, present, preempting=preempting),)
    ]
    return [dict(policies.by_key), dict(policies.failed), policies.waiting, claims]


@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_following_is_reading_for_the_first_time(steps: list[list[tuple[bool, Body]]]) -> None:
    """In what order the faulty and the waiting ones are told, too."""
    known, inputs = KnownPolicies(), Versioned[ObjectKey, Manifest]({})
    for step in steps:
        inputs = after(inputs, step)

        assert told(KnownPolicies().follow(dict(inputs))) == told(known.follow(inputs))


def after(
    inputs: Versioned[ObjectKey, Manifest], step: list[tuple[bool, Body]]
) -> Versioned[ObjectKey, Manifest]:
    """The inputs once some objects were written, and others removed."""
    objects = {one.key: (stays, one) for stays, one in ((s, manifest(b)) for s, b in step)}
    came = {key: one for key, (stays, one) in objects.items() if stays}
    next_version = patched(inputs, came, [key for key in objects if key not in came])
    assert isinstance(next_version, Versioned)
    return next_version


def test_an_edit_decodes_the_policy_that_was_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    """And an override policy the ones that wait for it; all others are the very same."""
    decoded: list[str] = []

    def listened(found: Manifest, known: Mapping[ObjectKey, Manifest]) -> Policy:
        decoded.append(found.key.name)
        return decode_policy(found, known)

    monkeypatch.setattr(known_policies, "decode_policy", listened)
    bodies = [policy(f"p{number}") for number in range(20)]
    bodies.append(policy("waits", dependentOverrides=["o"]))
    objects = {one.key: one for one in map(manifest, bodies)}
    known = KnownPolicies()
    first = dict(known.follow(inputs := Versioned(objects)).by_key)
    put = partial(after, inputs)

    decoded.clear()
    second = known.follow(inputs := put([(True, policy("p7", priority=3))]))
    assert ["p7"] == decoded
    assert 20 == sum(second.by_key[key] is one for key, one in first.items())

    third = known.follow(after(inputs, [(True, override("o", "default"))]))
    assert (["p7", "waits"], ()) == (decoded, third.waiting)


@pytest.mark.usefixtures("contained")
def test_a_policy_that_cannot_be_decoded_is_told_until_it_is_mended() -> None:
    """What stands beside it is claimed all the while."""
    known, mended = KnownPolicies(), policy("a")
    broken = known.follow(inputs := after(Versioned({}), [(True, BROKEN), (True, policy("b"))]))
    key = manifest(mended).key

    assert ([key], ["b"]) == ([*broken.failed], [one.name for one in broken.by_key])
    assert ({}, 2) == (
        (now := known.follow(after(inputs, [(True, mended)]))).failed,
        len(now.by_key),
    )
