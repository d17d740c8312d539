"""`api-resources`: every kind that is read, its names, and who writes it."""

from pathlib import Path

import pytest

from tests.cli.history import answer, told_fleet
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
WORK = "apiVersion: work.karmada.io/v1alpha1\nkind: Work\nmetadata: {name: w}\nspec: {}\n"
CLUSTERS = "cluster.open-cluster-management.io"
BINDING = f"mclsetbinding,mclsetbindings {CLUSTERS}/v1beta2 true ManagedClusterSetBinding people"


def lines(checkout: Checkout, capsys: Capsys, *options: str) -> list[str]:
    """Return what is printed, each line with single blanks."""
    code, out, err = answer(checkout, capsys, "api-resources", *options)
    assert (0, "") == (code, err)
    return [" ".join(line.split()) for line in out.splitlines()]


def test_kinds_are_listed_without_a_repository(tmp_path: Path, capsys: Capsys) -> None:
    """With kubectl's columns, and who writes them."""
    assert [
        "NAME SHORTNAMES APIVERSION NAMESPACED KIND WRITTEN BY",
        f"addonplacementscores {CLUSTERS}/v1alpha1 true AddOnPlacementScore people",
        f"managedclusters mcl,mcls {CLUSTERS}/v1 false ManagedCluster people, status by passes",
        f"managedclustersetbindings {BINDING}",
        f"managedclustersets mclset,mclsets {CLUSTERS}/v1beta2 false ManagedClusterSet people",
        f"placementdecisions {CLUSTERS}/v1beta1 true PlacementDecision passes",
        f"placements {CLUSTERS}/v1beta1 true Placement people, status by passes",
    ] == lines(Checkout(tmp_path), capsys, "--api-group", CLUSTERS)


def test_workloads_of_the_repository_are_listed(tmp_path: Path, capsys: Capsys) -> None:
    """By what they are called there; before any pass, too."""
    fleet = told_fleet(tmp_path / "fleet")
    found = lines(fleet, capsys, "--no-headers")

    assert "deployments deploy apps/v1 true Deployment people" in found
    assert "workloadrebalancers wr apps.karmada.io/v1alpha1 false" in " ".join(found)


def test_a_kind_that_controls_nothing_is_told_apart(tmp_path: Path, capsys: Capsys) -> None:
    """It is one of an API's kinds, and nothing here reads it."""
    checkout = new_checkout(tmp_path / "works", {"work.yaml": WORK})
    found = lines(checkout, capsys, "--api-group", "work.karmada.io", "--no-headers")

    assert "works wk work.karmada.io/v1alpha1 true Work people, not read" in found


@pytest.mark.parametrize(
    ("namespaced", "expected"),
    [
        pytest.param("true", ["resourcebindings"], id="yes"),
        pytest.param("false", ["clusterresourcebindings"], id="no"),
    ],
)
def test_names_may_be_listed_by_scope(
    tmp_path: Path, capsys: Capsys, namespaced: str, expected: list[str]
) -> None:
    """One a line, for a shell to go over."""
    options = ("--api-group", "work.karmada.io", "--namespaced", namespaced, "-o", "name")

    found = lines(Checkout(tmp_path), capsys, *options)
    assert [f"{name}.work.karmada.io" for name in expected] == found


def test_a_revision_that_is_not_there_is_refused(tmp_path: Path, capsys: Capsys) -> None:
    """Only the default is passed over where there is no repository."""
    code, out, _ = answer(Checkout(tmp_path), capsys, "api-resources", "--at", "v9")

    assert (2, "") == (code, out)
