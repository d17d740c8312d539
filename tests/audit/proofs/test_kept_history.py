"""A history that an earlier version wrote is proven byte for byte by this one."""

from pathlib import Path

import pytest

from reconciler.cli import main
from tests.shell.fleet import ROOT
from tests.shell.repositories import git

BUNDLE = ROOT / "fixtures/history/passes.bundle"
PASSES = 500

pytestmark = pytest.mark.cpu_seconds(120)  # hundreds of passes


def test_each_pass_of_a_kept_history_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over all three APIs, with delivery, faults, rebalancers, reports and removals."""
    git(tmp_path, "clone", "--quiet", str(BUNDLE), "kept")

    code = main.run(["-C", str(tmp_path / "kept"), "verify", "--afresh", "--jobs", "1"])

    assert f"{PASSES} of {PASSES} decision commits proven" in capsys.readouterr().out
    assert 0 == code


def test_the_history_is_of_all_that_there_is(tmp_path: Path) -> None:
    """Else it would prove little."""
    git(tmp_path, "clone", "--quiet", str(BUNDLE), "kept")
    written = set(
        git(
            tmp_path / "kept", "log", "--name-only", "--format=", "--", "status", "delivery"
        ).split()
    )
    rooms = {path.split("/")[1].split(".")[0] for path in written if path.count("/") > 1}

    assert {
        "resourcebindings",
        "placementdecisions",
        "placements",
        "manifestworkreplicasets",
        "clusterresourceplacements",
        "clusterresourcebindings",
        "workloadrebalancers",
    } <= rooms
    assert any(path.startswith("delivery/") for path in written)
    assert any("faults" in path for path in written)
