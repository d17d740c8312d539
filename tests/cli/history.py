"""A history for the audit: people's commits and passes in turn, in a real repository."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from tests.shell.fleet import EXAMPLE, copied, decided_fleet, new_fleet, run_pass, template_folder
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
    return copied(_told(), folder)


@cache
def _told() -> Checkout:
    return told_afresh(template_folder() / "fleet")


def told_afresh(folder: Path) -> Checkout:
    """Make the same by passes as they are now, which a test has changed."""
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


@dataclass(frozen=True)
class Case:
    """An object of one API, the output to edit, and the clusters before and after the edit."""

    word: str
    path: str
    old: str
    new: str
    before: tuple[str, ...]
    after: tuple[str, ...]


KARMADA = Case(
    word="deployment/shop",
    path="resourcebindings.work.karmada.io/default/shop-deployment.yaml",
    old="name: member1",
    new="name: member2",
    before=("member1",),
    after=("member2",),
)
OCM = Case(
    word="placement/reports",
    path="placementdecisions.cluster.open-cluster-management.io/default/reports-decision-1.yaml",
    old="clusterName: edge2",
    new="clusterName: edge1",
    before=("edge2",),
    after=("edge1",),
)
KUBEFLEET = Case(
    word="crp/tools",
    path="clusterresourcebindings.placement.kubernetes-fleet.io/tools-fleet2-3be08a14.yaml",
    old="targetCluster: fleet2",
    new="targetCluster: fleet9",
    before=("fleet1", "fleet2"),
    after=("fleet1", "fleet9"),
)
ALL = [
    pytest.param(KARMADA, id="karmada"),
    pytest.param(OCM, id="ocm"),
    pytest.param(KUBEFLEET, id="kubefleet"),
]


def edited_fleet(folder: Path, case: Case) -> Checkout:
    """Placed by a pass, then moved by a person's edit of the output."""
    fleet = decided_fleet(folder)
    path = f"status/{case.path}"
    text = (fleet.folder / path).read_text()
    assert case.old in text
    fleet.commit({path: text.replace(case.old, case.new)}, "Prefer another")
    return fleet


def remove(fleet: Checkout, path: str, message: str) -> str:
    """Remove a file or a folder, and return the commit."""
    fleet.git("rm", "-r", "--quiet", path)
    shutil.rmtree(fleet.folder / path, ignore_errors=True)
    fleet.git("commit", "--quiet", "--message", message)
    return fleet.head()


def names(placed: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the clusters of a side of an event."""
    return tuple(item["cluster"] for item in placed)
