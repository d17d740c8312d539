"""What an output says of clusters that it lacks, as each API writes it."""

import pytest

from reconciler.core.dialects import dialect_of
from reconciler.model.body import Body

WHY = "0/2 clusters are available"


def condition(kind: str, status: str) -> Body:
    """Return an output with one condition."""
    return {"status": {"conditions": [{"type": kind, "status": status, "message": WHY}]}}


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        pytest.param("work.karmada.io", "Scheduled", id="karmada"),
        pytest.param("cluster.open-cluster-management.io", "PlacementSatisfied", id="ocm"),
        pytest.param(
            "placement.kubernetes-fleet.io", "ClusterResourcePlacementScheduled", id="kubefleet"
        ),
        pytest.param(
            "placement.kubernetes-fleet.io", "ResourcePlacementScheduled", id="kubefleet-namespaced"
        ),
    ],
)
def test_each_api_says_why_clusters_are_lacking(group: str, kind: str) -> None:
    """By its own condition where that is False, and by no other."""
    dialect = dialect_of(group)
    assert dialect is not None
    problem_of = dialect.view().problem_of
    found = [
        problem_of(condition(*one)) for one in ((kind, "False"), (kind, "True"), ("X", "False"))
    ]

    assert [WHY, "", ""] == found
