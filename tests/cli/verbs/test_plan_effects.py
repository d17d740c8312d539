"""Changed manifests that have no effect are named by `plan`, with why."""

from pathlib import Path

import pytest

from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass

Capsys = pytest.CaptureFixture[str]


def test_a_policy_that_loses_is_named(tmp_path: Path, capsys: Capsys) -> None:
    """A second policy of a higher priority takes nothing over, since it does not preempt."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.git("checkout", "--quiet", "-b", "topic")
    higher = EXAMPLE["policies/shop.yaml"].replace("name: shop", "name: higher", 1)
    fleet.commit({"policies/higher.yaml": higher.replace("spec:", "spec:\n  priority: 4", 1)}, "A")

    out = answer(fleet, capsys, "plan", "--now", "2026-11-20T12:10:00Z")[1]

    told = "no effect: other policies hold what it selects, and its preemption is Never"
    assert f"warning: default/higher: {told}: default/shop (by shop)\n" in out
