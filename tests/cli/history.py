"""A history for the audit: people's commits and passes in turn, in a real repository."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

SHOP = "status/resourcebindings.work.karmada.io/default/shop-deployment.yaml"
NO_POWER = """\
status:
  conditions:
  - type: Ready
    status: "False"
    reason: PowerLost
    message: The data center has no power.
    lastTransitionTime: "2026-11-20T12:01:30Z"
"""
SCALED = {
    "workloads/shop.yaml": EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 5")
}
FAILED = {"clusters/member1.yaml": EXAMPLE["clusters/member1.yaml"] + NO_POWER}


def told_fleet(folder: Path) -> Checkout:
    """Placed, scaled to 5 replicas, then off member1, which fails: three passes."""
    fleet = new_fleet(folder)
    run_pass(fleet.folder, 0)
    fleet.commit(SCALED, "Scale the shop")
    run_pass(fleet.folder, 60)
    fleet.commit(FAILED, "Report that member1 is down")
    run_pass(fleet.folder, 120)
    return fleet


def answer(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Run a verb in this process; return its exit code and both outputs."""
    code = run(["-C", str(fleet.folder), *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def answer_json(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], arguments: Sequence[str]
) -> tuple[int, Any]:
    """Run a verb with `-o json`; return its exit code and what it printed."""
    code, out, err = answer(fleet, capsys, *arguments, "-o", "json")
    assert "" == err
    return code, json.loads(out)
