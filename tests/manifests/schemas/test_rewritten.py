"""Policies are judged as Karmada's webhook writes them back; other kinds as they are written."""

from collections.abc import Mapping

import pytest

from tests.builders import Body, metadata, policy
from tests.manifests.shipped_schemas import schemas

WEB: Body = {"apiVersion": "apps/v1", "kind": "Deployment"}


def spec(**more: object) -> Body:
    """A policy with this spec."""
    return {**policy(), "spec": {"resourceSelectors": [WEB], "placement": {}, **more}}


def affinity(**selector: object) -> Body:
    """A policy that names clusters by a selector."""
    return spec(placement={"clusterAffinity": selector})


def override(**rule: object) -> Body:
    """An OverridePolicy of one rule."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata("web", "default"),
        "spec": {"overrideRules": [rule]},
    }


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(spec(resourceSelectors=[{"kind": "Deployment"}]), id="no-api-version"),
        pytest.param(spec(resourceSelectors=[{"apiVersion": "apps/v1"}]), id="no-kind"),
        pytest.param(spec(resourceSelectors=[{}]), id="selector-of-nothing"),
        pytest.param(spec(preemption=""), id="empty-preemption"),
        pytest.param(spec(conflictResolution=""), id="empty-conflict-resolution"),
        pytest.param(spec(activationPreference=""), id="empty-activation"),
        pytest.param(spec(failover={"cluster": {"purgeMode": ""}}), id="empty-purge-mode"),
        pytest.param(
            spec(placement={"replicaScheduling": {"replicaSchedulingType": ""}}), id="empty-type"
        ),
        pytest.param(
            affinity(labelSelector={"matchExpressions": [{"key": "a"}]}), id="no-operator"
        ),
        pytest.param(override(targetCluster={}), id="rule-without-overriders"),
    ],
)
def test_what_is_empty_is_accepted(body: Body) -> None:
    """An optional text that is empty is gone, a required one that is absent is empty."""
    assert () == schemas().judge(body).violations


@pytest.mark.parametrize(
    ("body", "at", "rule"),
    [
        pytest.param(
            spec(schedulePriority={"priorityClassName": "x"}),
            "/spec/schedulePriority/priorityClassSource",
            "schema-enum",
            id="required-choice",
        ),
        pytest.param(
            spec(placement={"clusterAffinities": [{}]}),
            "/spec/placement/clusterAffinities/0/affinityName",
            "schema-length",
            id="required-length",
        ),
        pytest.param(
            {**policy(), "spec": {"placement": {}}}, "/spec", "schema-required", id="required-list"
        ),
        pytest.param(
            spec(resourceSelectors=[]), "/spec/resourceSelectors", "schema-items", id="empty-list"
        ),
        pytest.param(
            {**override(targetCluster={}), "kind": "ClusterOverridePolicy"},
            "/spec/overrideRules/0",
            "schema-required",
            id="kind-that-no-webhook-writes",
        ),
    ],
)
def test_bounds_and_choices_still_refuse(body: Body, at: str, rule: str) -> None:
    """What is empty must be among them; lists are not filled in."""
    found = schemas().judge(body).violations

    assert [(at, rule)] == [(violation.pointer, violation.rule) for violation in found]


def test_labels_keep_their_empty_texts() -> None:
    """An entry of a map is no field."""
    body = affinity(labelSelector={"matchLabels": {"env": ""}})
    judged = schemas().judge(body)

    assert ((), body) == (judged.violations, judged.body)


def test_an_absent_text_is_decoded_as_an_empty_one() -> None:
    """The document that was judged is the one that is decoded."""
    body = schemas().judge(spec(resourceSelectors=[{"kind": "Deployment"}])).body
    found = body["spec"]

    assert isinstance(found, Mapping)
    assert [{"apiVersion": "", "kind": "Deployment"}] == found["resourceSelectors"]
