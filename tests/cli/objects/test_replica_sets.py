"""Sets of ManifestWorks from the command line."""

from pathlib import Path

import pytest

from tests.builders import Body
from tests.cli.history import answer
from tests.dialects.ocm.sets import fleet, progressive, replica_set
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
SLOW = replica_set(strategy=progressive())


def placed(folder: Path, body: Body = SLOW) -> Checkout:
    """Two clusters, a set over both, and a pass."""
    checkout = new_checkout(folder, fleet("a", "b").put(body).files)
    run_pass(checkout.folder, 0)
    return checkout


def test_a_set_is_valid(tmp_path: Path, capsys: Capsys) -> None:
    """With its placement beside it."""
    checkout = new_checkout(tmp_path / "fleet", fleet("a").put(SLOW).files)

    assert 0 == answer(checkout, capsys, "validate", "--fail-level", "warning")[0]


def test_a_missing_placement_is_a_warning(tmp_path: Path, capsys: Capsys) -> None:
    """It may come with the next merge."""
    body = replica_set(placements=["other"])
    checkout = new_checkout(tmp_path / "fleet", fleet("a").put(body).files)
    code, out, _ = answer(checkout, capsys, "validate", "--fail-level", "warning")

    assert (1, True) == (code, "replica-set-placement" in out)


def test_get_shows_the_columns_of_kubectl(tmp_path: Path, capsys: Capsys) -> None:
    """Those of the CRD."""
    _, out, _ = answer(placed(tmp_path / "fleet"), capsys, "get", "mwrs", "-A")

    assert ["NAMESPACE", "NAME", "PLACEMENT", "FOUND", "MANIFESTWORKS", "APPLIED"] == (
        out.splitlines()[0].split()
    )


def test_the_tree_of_a_set_ends_at_its_clusters(tmp_path: Path, capsys: Capsys) -> None:
    """By way of a ManifestWork each."""
    words = ("tree", "manifestworkreplicaset/shop", "-n", "ns1")
    _, out, _ = answer(placed(tmp_path / "fleet"), capsys, *words)

    assert "cluster/a" in out
    assert "cluster/b" not in out


def test_why_says_who_waits_for_its_turn(tmp_path: Path, capsys: Capsys) -> None:
    """The cluster that a rollout has not reached."""
    _, out, _ = answer(placed(tmp_path / "fleet"), capsys, "why", "mwrs/shop", "-n", "ns1")

    assert "Why not b:\n  Rollout: it waits for its turn" in out


def test_a_plan_says_where_a_set_would_go(tmp_path: Path, capsys: Capsys) -> None:
    """Before it is merged."""
    checkout = new_checkout(tmp_path / "fleet", fleet("a", "b").files)
    run_pass(checkout.folder, 0)
    base = checkout.head()
    checkout.commit(fleet("a", "b").put(SLOW).files)
    _, out, _ = answer(checkout, capsys, "plan", "--base", base, "--head", "HEAD")

    assert "ns1/shop" in out
