"""`reconciler top clusters` where more is placed on a cluster than it has, and where it is not."""

from pathlib import Path

import pytest

from reconciler.audit.fleet.usage import usage_of
from reconciler.model.quantity import Quantity
from tests.cli.history import answer, answer_json
from tests.cli.printing.test_terminal import ESCAPE, on_terminal
from tests.shell.fleet import EXAMPLE, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
STATUS = """\
status:
  conditions:
  - type: Ready
    status: "True"
    reason: Up
    message: ""
    lastTransitionTime: "2026-11-20T11:00:00Z"
  resourceSummary:
    allocatable: {{cpu: {cpu}, memory: 16Gi, pods: "110"}}
    allocated: {{cpu: {taken}, memory: 2Gi, pods: "10"}}
"""
RED = "\x1b[31m"


def fleet_with(folder: Path, *, cpu: str, taken: str) -> Checkout:
    """Six replicas of 250m on member1, which says then what it has, and what is taken of it."""
    fleet = new_fleet(folder)
    run_pass(fleet.folder, 0)
    status = STATUS.format(cpu=cpu, taken=taken)
    path = "clusters/member1.yaml"
    fleet.commit({path: EXAMPLE[path] + status}, "Report what member1 has")
    return fleet


CAPACITIES = [
    pytest.param("8", "0", "1500m 6500m 8", id="nothing-reported-as-taken"),
    pytest.param("8", "2500m", "2500m 5500m 8", id="more-reported-than-placed"),
    pytest.param("1500m", "0", "1500m 0 1500m", id="full"),
    pytest.param("600m", "144m", "1500m 0 600m 900m (250 %)", id="over-committed"),
]


@pytest.mark.parametrize(("cpu", "taken", "expected"), CAPACITIES)
def test_used_and_free_are_all_and_over(
    tmp_path: Path, capsys: Capsys, cpu: str, taken: str, expected: str
) -> None:
    """Of every resource whose capacity is known; what is free is never below 0."""
    fleet = fleet_with(tmp_path / "fleet", cpu=cpu, taken=taken)
    world, nothing = load_world(fleet.folder), Quantity(0)

    for usage in usage_of(world):
        for name, capacity in (usage.capacity or {}).items():
            free, over = (usage.free or {})[name], usage.over.get(name, nothing)
            assert usage.used.get(name, nothing) + free == capacity + over
            assert 0 <= free
    row = answer(fleet, capsys, "top", "clusters", "--no-headers")[1].splitlines()[-2]
    told = f"member1 Cluster True 3 6 {expected}".split()
    assert told == row.split()[: len(told)]


def test_an_over_committed_cluster_is_red(tmp_path: Path, capsys: Capsys) -> None:
    """On a terminal; it has a column of its own, which is not there where nothing is over."""
    over = fleet_with(tmp_path / "over", cpu="600m", taken="0")
    roomy = fleet_with(tmp_path / "roomy", cpu="8", taken="0")

    shown = on_terminal(over.folder, ["top", "clusters"], {}).splitlines()

    assert [True] == [RED in line for line in shown if "member1" in line]
    assert [False] == [ESCAPE in line for line in shown if "member2" in line]
    assert RED not in on_terminal(roomy.folder, ["top", "clusters"], {})
    assert "CPU OVER" in answer(over, capsys, "top", "clusters")[1]
    assert "MEMORY OVER" not in answer(over, capsys, "top", "clusters")[1]
    assert "OVER" not in answer(roomy, capsys, "top", "clusters")[1]


def test_machines_are_told_what_is_over(tmp_path: Path, capsys: Capsys) -> None:
    """In cores, beside what is asked for and what is used."""
    fleet = fleet_with(tmp_path / "fleet", cpu="600m", taken="144m")

    found = answer_json(fleet, capsys, ["top", "clusters"])[1]["clusters"]
    by_name = {item["cluster"]: item for item in found}

    assert {"cpu": 0.9} == by_name["member1"]["over"]
    assert {} == by_name["member2"]["over"]
    assert (1.5, 1.5, 0) == tuple(
        by_name["member1"][part]["cpu"] for part in ("requested", "used", "free")
    )
