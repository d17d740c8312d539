"""Histories are proven byte for byte."""

from pathlib import Path

import pytest

from reconciler.cli import main
from tests.audit.proofs.write_history import write
from tests.bounded import examples
from tests.shell.fleet import ROOT
from tests.shell.repositories import git

BUNDLE = ROOT / "fixtures/history/passes.bundle"
PASSES = 500
FEW = 30

pytestmark = pytest.mark.cpu_seconds(120)  # hundreds of passes


def test_each_pass_of_a_kept_history_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over all three APIs, with delivery, faults, rebalancers, reports and removals."""
    git(tmp_path, "clone", "--quiet", str(BUNDLE), "kept")
    kept = tmp_path / "kept"
    passes = git(kept, "rev-list", "--reverse", "--grep", "Reconciled-At", "HEAD").split()
    count = examples(PASSES)
    git(kept, "reset", "--quiet", "--hard", passes[count - 1])

    assert PASSES == len(passes)
    assert f"{count} of {count} decision commits verified" in proven(kept, capsys)


def test_each_pass_of_a_new_history_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of them wrote what is assumed of silent clusters."""
    count = examples(FEW)
    write(tmp_path, count, seed=1)

    assert f"{count} of {count} decision commits verified" in proven(tmp_path, capsys)
    assert "" == git(tmp_path, "log", "-G", "Assumed", "--format=%h", "--", "status")


def proven(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `verify` says of all passes."""
    capsys.readouterr()
    code = main.run(["-C", str(folder), "verify", "--afresh", "--jobs", "1"])

    assert 0 == code
    return capsys.readouterr().out


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
