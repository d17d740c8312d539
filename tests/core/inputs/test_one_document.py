"""What the schema judges and what is decoded are one document, nulls included."""

import json
from typing import Any

import pytest

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.shell.resources import load_schemas
from tests.builders import Body, deployment, metadata, policy, selector
from tests.stories import story

RULES = Rules(load_schemas(), ADMISSIONS, KINDS)
NULL_LABEL: dict[str, Any] = {"labelSelector": {"matchLabels": {"app": None}}}
OCM = "cluster.open-cluster-management.io/v1beta1"
FLEET = "placement.kubernetes-fleet.io/v1beta1"

IN_SELECTORS = [
    pytest.param(
        policy(selectors=[selector(**NULL_LABEL)]),
        "/spec/resourceSelectors/0/labelSelector/matchLabels/app",
        id="karmada",
    ),
    pytest.param(
        {
            "apiVersion": OCM,
            "kind": "Placement",
            "metadata": metadata("p", "default"),
            "spec": {"predicates": [{"requiredClusterSelector": NULL_LABEL}]},
        },
        "/spec/predicates/0/requiredClusterSelector/labelSelector/matchLabels/app",
        id="ocm",
    ),
    pytest.param(
        {
            "apiVersion": FLEET,
            "kind": "ClusterResourcePlacement",
            "metadata": metadata("p"),
            "spec": {
                "resourceSelectors": [
                    {"group": "", "version": "v1", "kind": "Namespace", **NULL_LABEL}
                ]
            },
        },
        "/spec/resourceSelectors/0/labelSelector/matchLabels/app",
        id="kubefleet",
    ),
]


def read(body: Body) -> FileValidation:
    """Inspect a file that holds one object."""
    return validate_file("x.yaml", "", json.dumps(body, indent=1).encode(), RULES)


@pytest.mark.parametrize(("body", "pointer"), IN_SELECTORS)
def test_a_null_in_a_selector_is_refused_where_it_stands(body: Body, pointer: str) -> None:
    """Without the entry more would be selected."""
    found = read(body)

    assert () == found.documents
    assert [(pointer, "schema-type")] == [(b.fault.field, b.fault.rule) for b in found.broken]
    lines = json.dumps(body, indent=1).splitlines()
    assert '"app": null' in lines[found.broken[0].fault.line - 1]


@pytest.mark.parametrize(("body", "pointer"), IN_SELECTORS)
def test_a_null_in_a_selector_stops_no_other_object(body: Body, pointer: str) -> None:
    """A pass reports it and places the rest."""
    told = story(body, deployment(), policy("other"))
    outcome = told.run(0)

    assert [pointer] == [fault.field for fault in outcome.faults]
    assert "status/resourcebindings.work.karmada.io/default/web-deployment.yaml" in told.files


def test_a_null_in_a_plain_field_is_dropped_before_decoding() -> None:
    """Judged and decoded alike: as if it were not written."""
    written = policy(placement={"clusterAffinity": {"clusterNames": None}})
    plain = policy(placement={"clusterAffinity": {}})

    assert read(plain).documents[0].body == read(written).documents[0].body


def test_a_null_of_a_workload_passes_through() -> None:
    """Its content is its member cluster's to judge."""
    body = {**deployment(), "spec": {"replicas": 1, "paused": None, "template": {"a": None}}}

    assert body == read(body).documents[0].body


def test_a_null_with_a_meaning_stays() -> None:
    """`null` says never there."""
    body: Body = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": metadata("reconciler"),
        "spec": {"feedback": {"assumeAfterSeconds": None}, "suspend": None},
    }

    assert {"feedback": {"assumeAfterSeconds": None}} == read(body).documents[0].body["spec"]


@pytest.mark.parametrize("value", [None, 1, True, {}, []])
@pytest.mark.parametrize("kind", ["Namespace", "ConfigMap"])
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_label_that_is_no_text_is_the_fault_of_its_object(
    field: str, kind: str, value: object
) -> None:
    """Not of what selects it."""
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "shop", field: {"tier": value}}}
    found = read(body)

    assert [(f"/metadata/{field}/tier", "workload-metadata")] == [
        (b.fault.field, b.fault.rule) for b in found.broken
    ]


def test_a_namespace_with_a_numeric_label_is_the_fault_not_the_placement() -> None:
    """The placement that selects it is decided without it."""
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"tier": 1}},
    }
    placement: Body = {
        "apiVersion": FLEET,
        "kind": "ClusterResourcePlacement",
        "metadata": metadata("p"),
        "spec": {
            "resourceSelectors": [
                {
                    "group": "",
                    "version": "v1",
                    "kind": "Namespace",
                    "labelSelector": {"matchLabels": {"tier": "1"}},
                }
            ]
        },
    }
    outcome = story(namespace, placement).run(0)

    assert ["/metadata/labels/tier"] == [fault.field for fault in outcome.faults]
