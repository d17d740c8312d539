"""`status` begins with what is wrong, with its cause, and `--check` ends by it."""

import json
from pathlib import Path

import pytest

from tests.builders import deployment, text
from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def mistyped(tmp_path: Path) -> Checkout:
    """A label of a policy is mistyped, merged, and decided."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    policy = EXAMPLE["policies/frontend.yaml"].replace("tier: production", "tier: productoin")
    fleet.commit({"policies/frontend.yaml": policy}, "Tidy up labels")
    run_pass(fleet.folder, 60)
    return fleet


def test_a_mistyped_label_is_named_with_what_clusters_have(
    mistyped: Checkout, capsys: Capsys
) -> None:
    """The one screen of the night names the label, the clusters' values, and the likely word."""
    code, out, _ = answer(mistyped, capsys, "status", "--check")

    lines = out.splitlines()
    assert 3 == code
    assert "Problems:    1 object not placed" == lines[0]
    assert "have label tier=productoin (it has tier=production; did you mean that?)" in lines[1]
    assert "backup1 would have to match clusterAffinity: have label tier=productoin" in lines[1]
    assert "1 warning" == lines[2].strip()
    assert 'did you mean "production"?' in lines[3]
    assert (
        "(it has tier=production; did you mean that?)"
        in answer(mistyped, capsys, "why", "deployment/frontend")[1]
    )


def test_a_machine_reads_the_same(mistyped: Checkout, capsys: Capsys) -> None:
    """Kinds and severities for scripts, words for people."""
    found = json.loads(answer(mistyped, capsys, "status", "-o", "json")[1])["problems"]

    assert [("object-not-placed", "error", 1), ("warning", "warning", 1)] == [
        (one["kind"], one["severity"], one["count"]) for one in found
    ]


def test_nothing_wrong_is_one_line(tmp_path: Path, capsys: Capsys) -> None:
    """And a check that passes."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)

    code, out, _ = answer(fleet, capsys, "status", "--check")

    assert (0, "Problems:    none") == (code, out.splitlines()[0])


def test_what_nothing_selects_is_named(tmp_path: Path, capsys: Capsys) -> None:
    """People place a Deployment and wonder where its Service is; it does not fail a check."""
    fleet = new_fleet(tmp_path / "fleet")
    fleet.commit({"workloads/lost.yaml": text(deployment(name="lost"))}, "Add what nobody places")
    run_pass(fleet.folder, 0)

    code, out, _ = answer(fleet, capsys, "status", "--check")

    assert 0 == code
    assert "Problems:    1 object that no policy or placement selects" == out.splitlines()[0]
    assert out.splitlines()[1].split()[0] == "deployment/lost"
