"""Lists whose items are told apart by keys."""

from typing import Any

from reconciler.manifests.schemas.violations import Violation
from tests.manifests.shipped_schemas import schemas

EACH = "One item for each name."


def scores(*names: str) -> dict[str, Any]:
    """Scores of these names."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {"name": "cost", "namespace": "a"},
        "status": {"scores": [{"name": name, "value": 1} for name in names]},
    }


def test_items_of_a_list_have_keys_of_their_own() -> None:
    """Each later one is in the wrong."""
    said = 'must have a name of its own, "cpu" is in an item before it.'
    found = [
        Violation(f"/status/scores/{i}", "list-key", f"status.scores[{i}] {said}", EACH)
        for i in (1, 3)
    ]

    assert tuple(found) == schemas().judge(scores("cpu", "cpu", "memory", "cpu")).violations


def test_items_with_other_keys_may_be_alike_otherwise() -> None:
    """Only the keys count."""
    assert () == schemas().judge(scores("cpu", "memory")).violations


def test_several_keys_count_together() -> None:
    """A namespace may be managed by two sets."""
    pairs = (("a", "x"), ("b", "x"), ("a", "x"))
    managed = [{"clusterSet": one, "name": name} for one, name in pairs]
    body = {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "a"},
        "status": {"managedNamespaces": managed},
    }

    (found,) = schemas().judge(body).violations
    assert (
        "status.managedNamespaces[2] must have a clusterSet and name of its own,"
        ' "a" and "x" are in an item before it.'
    ) == found.message
