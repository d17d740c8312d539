"""What people are told where APIs see each other's clusters."""

from pathlib import Path

import pytest

from tests.builders import cluster, configuration, path_of, text
from tests.cli.history import answer
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
PLACEMENT = {
    "apiVersion": "cluster.open-cluster-management.io/v1beta1",
    "kind": "Placement",
    "metadata": {"name": "edge", "namespace": "default"},
    "spec": {},
}
BINDING = {
    "apiVersion": "cluster.open-cluster-management.io/v1beta2",
    "kind": "ManagedClusterSetBinding",
    "metadata": {"name": "global", "namespace": "default"},
    "spec": {"clusterSet": "global"},
}


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """Clusters of Karmada, and a placement of Open Cluster Management that sees them."""
    bodies = (configuration(inventory={"project": True}), cluster("a"), cluster("b"), PLACEMENT)
    return new_checkout(tmp_path / "fleet", {path_of(body): text(body) for body in bodies})


def test_a_cluster_is_listed_once_as_it_is_written(fleet: Checkout, capsys: Capsys) -> None:
    """Whoever asks for the other kind is told where to look."""
    run_pass(fleet.folder, 0)

    _, clusters, _ = answer(fleet, capsys, "get", "clusters", "-o", "name")
    _, nothing, told = answer(fleet, capsys, "get", "managedclusters")
    _, top, _ = answer(fleet, capsys, "top", "clusters")

    assert "cluster.cluster.karmada.io/a\ncluster.cluster.karmada.io/b\n" == clusters
    assert ("", "no managedclusters; its API sees 2 clusters, see top clusters\n") == (
        nothing,
        told,
    )
    assert 1 == top.count("\na ")


def test_a_missing_binding_of_a_set_is_told(fleet: Checkout, capsys: Capsys) -> None:
    """It is not invented for projected clusters; with one, the set has them all."""
    run_pass(fleet.folder, 0)
    _, before, _ = answer(fleet, capsys, "why", "placement/edge")
    fleet.write({"sets/binding.yaml": text(BINDING)})
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Bind")
    run_pass(fleet.folder, 60)
    _, after, _ = answer(fleet, capsys, "why", "placement/edge")

    assert "No valid ManagedClusterSetBindings found" in before
    assert "default/edge is on a, b" in after
