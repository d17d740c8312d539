"""A document that says half of what it is: a manifest with a mistake, or another program's."""

import pytest

from reconciler.audit.findings import finding_of
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.index import index_inputs
from tests.manifests.text.test_lists import faults, validated


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(
            "kind: Deployment\nmetadata: {name: a}\n", "identity-api-version", id="no-version"
        ),
        pytest.param("apiVersion: apps/v1\nmetadata: {name: a}\n", "identity-kind", id="no-kind"),
        pytest.param("kind: Deployment\n", "identity-api-version", id="known-kind-alone"),
        pytest.param("apiVersion: apps/v1\nreplicas: 1\n", "identity-kind", id="known-group-alone"),
        pytest.param("kind: Widget\nspec: {}\n", "identity-api-version", id="spec"),
        pytest.param("kind: List\nitems: []\n", "identity-api-version", id="list"),
        pytest.param("apiVersion: v1\nitems: []\n", "identity-kind", id="list-without-kind"),
        pytest.param("kind: Widget\nmetadata: {name: a}\n", "identity-api-version", id="metadata"),
    ],
)
def test_it_is_an_error_though_it_is_alone_in_its_file(text: str, rule: str) -> None:
    """A whole folder does not pass it over."""
    file = validated(text)
    index = index_inputs([file], KINDS)

    assert [rule] == [found for _, _, _, found in faults(file)]
    assert frozenset() == index.foreign
    assert ["error"] == [str(finding_of(one).severity) for one, _ in index.broken["a.yaml"]]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: 1\nproviders: []\n", id="grafana"),
        pytest.param("kind: pipeline\nname: default\n", id="drone"),
        pytest.param("apiVersion: v2\nname: chart\n", id="helm"),
        pytest.param("version: 1\n", id="neither"),
        pytest.param("apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n", id="kind"),
    ],
)
def test_other_programs_are_left_alone(text: str) -> None:
    """They use one of the words for something else."""
    file = validated(text)

    assert ([], 1) == (faults(file), file.ignored)
