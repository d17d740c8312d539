"""Decoding: defaults of the CRD, the proposal's spelling, and what admission refuses."""

from collections.abc import Mapping

import pytest

from reconciler.dialects.ocm.api.admission import OCM_ADMISSIONS
from reconciler.dialects.ocm.api.placement import (
    PLACEMENTS,
    AddOnScore,
    Coordinate,
    decode_placement,
)
from tests.manifests.shipped_schemas import schemas

METADATA = {"name": "p", "namespace": "n"}


@pytest.mark.parametrize(
    ("spec", "field", "expected"),
    [
        pytest.param({}, "mode", "Additive", id="mode-without-policy"),
        pytest.param({"prioritizerPolicy": {"mode": None}}, "mode", "Additive", id="null-mode"),
        pytest.param({"prioritizerPolicy": {"mode": ""}}, "mode", "", id="empty-mode-stays"),
        pytest.param({}, "group_length", 0, id="no-strategy"),
        pytest.param({"decisionStrategy": {}}, "group_length", 0, id="no-group-strategy"),
        pytest.param(
            {"decisionStrategy": {"groupStrategy": {}}}, "group_length", "100%", id="all-of-them"
        ),
        pytest.param({"numberOfClusters": None}, "number_of_clusters", None, id="all-that-fit"),
    ],
)
def test_defaults_apply_where_the_parent_is(
    spec: Mapping[str, object], field: str, expected: object
) -> None:
    """As the API server fills them in."""
    found = decode_placement({"metadata": METADATA, "spec": spec})

    assert expected == getattr(found, field)


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        pytest.param({"name": "Steady"}, Coordinate("BuiltIn", "Steady"), id="name"),
        pytest.param(
            {"name": "Balance", "scoreCoordinate": {"type": "BuildIn", "buildIn": "Steady"}},
            Coordinate("BuiltIn", "Steady"),
            id="coordinate-comes-before-name",
        ),
        pytest.param(
            {"scoreCoordinate": {"type": "", "builtIn": "Steady"}},
            Coordinate("BuiltIn", "Steady"),
            id="empty-type",
        ),
        pytest.param(
            {
                "scoreCoordinate": {
                    "type": "AddOn",
                    "addOn": {"resourceName": "r", "scoreName": "s"},
                }
            },
            Coordinate("AddOn", "", AddOnScore("r", "s")),
            id="add-on",
        ),
    ],
)
def test_spelling_of_the_proposal(
    configuration: Mapping[str, object], expected: Coordinate
) -> None:
    """Placement v1alpha1 passes its schema, and means what today's means."""
    body = {
        "apiVersion": f"{PLACEMENTS}/v1alpha1",
        "kind": "Placement",
        "metadata": METADATA,
        "spec": {"prioritizerPolicy": {"configurations": [configuration]}},
    }
    [found] = decode_placement(body).configurations

    assert () == schemas().judge(body).violations
    assert (expected, 1) == (found.coordinate, found.weight)


def test_today_the_old_spelling_is_refused() -> None:
    """Placement v1beta1 has no type BuildIn; the sentence names what there is."""
    coordinate = {"type": "BuildIn", "builtIn": "Steady"}
    body = {
        "apiVersion": f"{PLACEMENTS}/v1beta1",
        "kind": "Placement",
        "metadata": METADATA,
        "spec": {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": coordinate}]}},
    }

    assert [True] == [
        "BuiltIn" in violation.expected for violation in schemas().judge(body).violations
    ]


@pytest.mark.parametrize(
    ("kind", "body", "rules"),
    [
        pytest.param("Placement", {"spec": {"numberOfClusters": 0}}, [], id="none-is-fine"),
        pytest.param(
            "Placement", {"spec": {"numberOfClusters": -1}}, ["placement-number"], id="negative"
        ),
        pytest.param(
            "Placement", {"metadata": {"name": "p" * 64}}, ["placement-name"], id="long-name"
        ),
        pytest.param(
            "ManagedClusterSetBinding",
            {"metadata": METADATA, "spec": {"clusterSet": "other"}},
            ["set-binding-name"],
            id="binding-of-another-name",
        ),
        pytest.param(
            "AddOnPlacementScore",
            {"status": {"validUntil": "tomorrow"}},
            ["score-unreadable"],
            id="unreadable-moment",
        ),
        pytest.param(
            "ManagedCluster",
            {"status": {"allocatable": {"cpu": "many"}, "capacity": {"cpu": "1"}}},
            ["cluster-unreadable"],
            id="unreadable-amount",
        ),
    ],
)
def test_admission(kind: str, body: Mapping[str, object], rules: list[str]) -> None:
    """What would crash upstream, or lose decisions, never takes effect."""
    assert rules == [violation.rule for violation in OCM_ADMISSIONS[PLACEMENTS, kind](body)]
