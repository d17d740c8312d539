"""A file that a person is editing waits for its removal; nothing else waits for that file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import cluster, deployment, groups, policy, rebalancer, text
from tests.shell.fleet import eventually, patiently, run_pass, running
from tests.shell.repositories import Checkout, new_checkout

DEMO = "rebalancers/demo.yaml"
BINDING = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"


def fleet_of(folder: Path, demo: str) -> Checkout:
    """A workload on a, and a rebalancer in its file."""
    placed = text(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])))
    files = {"fleet.yaml": placed, "web.yaml": text(deployment()), DEMO: demo}
    return new_checkout(folder, files)


def edit(fleet: Checkout) -> None:
    """Write into the file, no more."""
    with (fleet.folder / DEMO).open("a") as file:
        file.write("# mine\n")


def stage(fleet: Checkout) -> None:
    """Write into the file and stage it."""
    edit(fleet)
    fleet.git("add", DEMO)


def stage_and_take_back(fleet: Checkout) -> None:
    """Stage an edit that the file itself has no more."""
    stage(fleet)
    fleet.git("restore", "--source=HEAD", "--worktree", DEMO)


def delete(fleet: Checkout) -> None:
    """Delete the file, no more."""
    (fleet.folder / DEMO).unlink()


def assume(fleet: Checkout) -> None:
    """Have git not look at the file."""
    fleet.git("update-index", "--assume-unchanged", DEMO)
    edit(fleet)


@pytest.mark.parametrize("work", [edit, stage, stage_and_take_back, delete, assume])
@pytest.mark.parametrize("ttl", [0, 30], ids=["at-once", "later"])
@pytest.mark.parametrize("beside", ["", text(cluster("c"))], ids=["alone", "with-others"])
def test_only_the_removal_waits(
    tmp_path: Path, work: Callable[[Checkout], None], ttl: int, beside: str
) -> None:
    """The rebalance and all else are committed; the edit stays, and the removal follows it."""
    demo = text(rebalancer(ttl=ttl)) + (f"---\n{beside}" if beside else "")
    fleet = fleet_of(tmp_path / "fleet", demo)
    if ttl:
        run_pass(fleet.folder, 0)
    fleet.commit({"web.yaml": text(deployment(replicas=3))}, "Scale")
    work(fleet)
    before = fleet.git("status", "--porcelain")

    report = run_pass(fleet.folder, 60)

    assert {DEMO} == set(report.waiting)
    assert "replicas: 3" in (fleet.folder / BINDING).read_text()
    assert before == fleet.git("status", "--porcelain")
    assert demo == fleet.git("show", f"HEAD:{DEMO}") + "\n"
    assert None is run_pass(fleet.folder, 70).commit
    assert 0 == run(["-C", str(fleet.folder), "verify"])

    fleet.git("update-index", "--no-assume-unchanged", DEMO)
    fleet.git("restore", "--source=HEAD", "--staged", "--worktree", DEMO)
    last = run_pass(fleet.folder, 80)

    assert frozenset() == last.waiting
    assert bool(beside) == (fleet.folder / DEMO).exists()
    assert "" == fleet.git("status", "--porcelain")
    assert 0 == run(["-C", str(fleet.folder), "verify"])
    assert 1 == fleet.git("log", "--format=%B").count("WorkloadRebalancer demo)")


def test_the_daemon_tries_again_when_the_edit_is_gone(tmp_path: Path) -> None:
    """No commit has to wake it; it says once which file waits."""
    fleet = fleet_of(tmp_path / "fleet", text(rebalancer(ttl=0)))
    edit(fleet)
    log = tmp_path / "log"
    with running(fleet.folder, "--poll-seconds", "0.2", log=log):
        eventually((fleet.folder / BINDING).exists)
        assert (fleet.folder / DEMO).exists()
        patiently(fleet, "restore", DEMO)
        eventually(lambda: not (fleet.folder / DEMO).exists())

    assert 1 == log.read_text().count("a person is editing it")
