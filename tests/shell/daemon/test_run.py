"""The daemon as a process, on the checkout of a person who goes on working."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.shell.git.repository import Repository
from tests.shell.fleet import (
    EXAMPLE,
    commit_beside_daemon,
    decisions,
    eventually,
    kill,
    load_world,
    new_fleet,
    patiently,
    process_environment,
    reconciler,
    run_pass,
    running,
)
from tests.shell.left_behind import leave_behind
from tests.shell.repositories import Checkout

SHOP = "workloads/shop.yaml"
QUIET = {
    "workloads/role.yaml": (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
        "metadata: {name: reader}\nrules: []\n"
    ),
    "workloads/everywhere.yaml": EXAMPLE[SHOP].replace("shop", "everywhere"),
    "policies/everywhere.yaml": (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterPropagationPolicy\n"
        "metadata: {name: everywhere}\nspec:\n  resourceSelectors:\n"
        "  - {apiVersion: apps/v1, kind: Deployment, name: everywhere}\n"
        "  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}\n"
    ),
}


LEAVING = """
import sys
from pathlib import Path
from reconciler.shell.git.repository import Repository
from tests.shell.left_behind import leave_behind

leave_behind(Repository.open(Path.cwd()), old=sys.argv[1], new=sys.argv[2])
assert Path(".git/index.lock").exists()
"""


def scaled(replicas: int) -> dict[str, str]:
    """Return an edit that gives the shop so many replicas."""
    return {SHOP: EXAMPLE[SHOP].replace("replicas: 2", f"replicas: {replicas}")}


def shop_replicas(fleet: Checkout) -> int:
    """Return how many replicas of the shop are placed."""
    placed = decisions(load_world(fleet.folder))
    clusters = placed.get("ResourceBinding.work.karmada.io default/shop-deployment", [])
    return sum(int(str(cluster["replicas"])) for cluster in clusters)


def test_a_commit_is_decided_and_a_persons_work_survives(tmp_path: Path) -> None:
    """Edits that are unstaged, staged or untracked stay exactly as they are."""
    fleet = new_fleet(tmp_path / "fleet")
    with running(fleet.folder):
        eventually(lambda: shop_replicas(fleet) == 2, "first placement")
        fleet.write(
            {"README.md": "unstaged\n", "notes.txt": "untracked\n", "policies/x.txt": "y\n"}
        )
        patiently(fleet, "add", "policies/x.txt")
        commit_beside_daemon(fleet, scaled(5))
        eventually(lambda: shop_replicas(fleet) == 5, "the scale")
        eventually((fleet.folder / "status/reconciler.yaml").exists, "the files")

    assert [" M README.md", "?? notes.txt", "A  policies/x.txt"] == sorted(
        fleet.status().splitlines()
    )
    assert "unstaged\n" == (fleet.folder / "README.md").read_text()


def test_an_edit_below_the_outputs_is_told_and_gone_around(tmp_path: Path) -> None:
    """The daemon does not overwrite it, and the pass goes through."""
    fleet = new_fleet(tmp_path / "fleet")
    log = tmp_path / "log"
    with running(fleet.folder, log=log):
        eventually(lambda: shop_replicas(fleet) == 2, "first placement")
        eventually(lambda: fleet.status() == "", "a clean checkout")
        record = fleet.folder / "status/reconciler.yaml"
        mine = record.read_text() + "# mine\n"
        record.write_text(mine)
        commit_beside_daemon(fleet, scaled(5))
        eventually(lambda: "keeps a person's edit" in log.read_text(), "the report")
        assert mine == record.read_text()
        assert 5 == shop_replicas(fleet)
        patiently(fleet, "checkout", "HEAD", "--", "status/reconciler.yaml")
        assert "" == fleet.status()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_at_once(tmp_path: Path, number: int) -> None:
    """Within two seconds, with code 0, though it would sleep for an hour."""
    fleet = new_fleet(tmp_path / "fleet")
    with running(fleet.folder, "--poll-seconds", "3600") as process:
        eventually(lambda: shop_replicas(fleet) == 2, "first placement")
        begin = time.monotonic()

        assert 0 == kill(process, number)
        assert time.monotonic() - begin < 2


def test_a_detached_head_is_no_hindrance(tmp_path: Path) -> None:
    """The branch is served all the same, and the checkout stays where it is."""
    fleet = new_fleet(tmp_path / "fleet")
    with running(fleet.folder):
        eventually(lambda: shop_replicas(fleet) == 2, "first placement")
        eventually(lambda: fleet.status() == "", "a clean checkout")
        patiently(fleet, "switch", "--quiet", "--detach")
        commit_beside_daemon(fleet, scaled(7))
        detached = fleet.head()
        fleet.git("update-ref", "refs/heads/main", detached)
        eventually(lambda: shop_replicas(fleet) == 7, "the scale")

        assert detached == fleet.head()
        assert "" == fleet.status()


def test_a_branch_that_goes_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    """No crash; the log names the branch."""
    fleet = new_fleet(tmp_path / "fleet")
    log = tmp_path / "log"
    with running(fleet.folder, "--poll-seconds", "0.2", log=log):
        eventually(lambda: shop_replicas(fleet) == 2, "first placement")
        eventually(lambda: fleet.status() == "", "a clean checkout")
        patiently(fleet, "switch", "--quiet", "--create", "work")
        fleet.git("branch", "--quiet", "-D", "main")
        eventually(lambda: "there is no branch" in log.read_text(), "the report")
        commit_beside_daemon(fleet, scaled(5))
        fleet.git("branch", "main", "work")
        eventually(lambda: shop_replicas(fleet) == 5, "the scale")


def test_a_moment_comes_by_itself(tmp_path: Path) -> None:
    """A second after they were placed, copies count as applied; nobody commits meanwhile."""
    fleet = new_fleet(tmp_path / "fleet")
    binding = fleet.folder / "status/resourcebindings.work.karmada.io/default/shop-deployment.yaml"
    with running(fleet.folder, "--poll-seconds", "3600"):
        eventually(lambda: binding.exists() and "FullyApplied" in binding.read_text(), "applied")


def test_nothing_to_do_makes_no_commit(tmp_path: Path) -> None:
    """Duplicated workloads and kinds without replicas are as quiet as divided ones."""
    fleet = new_fleet(tmp_path / "fleet", QUIET)
    for seconds in (0, 2, 4):
        run_pass(fleet.folder, seconds)
    head = fleet.head()

    assert 5 == len(decisions(load_world(fleet.folder)))
    for seconds in (100, 1000, 100_000):
        assert () == run_pass(fleet.folder, seconds).outcome.changes
    assert head == fleet.head()


@pytest.mark.parametrize("linked", [False, True], ids=["checkout", "linked-worktree"])
def test_a_lock_left_by_a_kill_goes_though_nothing_is_to_be_done(
    tmp_path: Path, *, linked: bool
) -> None:
    """All had been moved before the kill; the lock alone would block a person's git."""
    fleet = new_fleet(tmp_path / "fleet")
    if linked:
        fleet.git("switch", "--quiet", "--create", "work")
        fleet.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "main")
        fleet = Checkout(tmp_path / "linked")
    first = fleet.head()
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 4)
    lock = Path(fleet.git("rev-parse", "--absolute-git-dir")) / "index.lock"
    repository = Repository.open(fleet.folder)
    leave_behind(repository, old=first, new=fleet.head())
    assert lock.exists()

    assert None is run_pass(fleet.folder, 8).commit

    assert not lock.exists()
    assert "" == fleet.status()


def test_a_lock_of_a_person_is_left_alone(tmp_path: Path) -> None:
    """Only what we wrote is ours to remove."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 4)
    lock = fleet.folder / ".git" / "index.lock"
    lock.write_text("")

    assert None is run_pass(fleet.folder, 8).commit

    assert lock.exists()


@pytest.mark.parametrize("attempt", range(6))
def test_a_killed_daemon_leaves_nothing_half_done(tmp_path: Path, attempt: int) -> None:
    """Killed around its first commits, then started again: it settles, nothing is left."""
    fleet = new_fleet(tmp_path / "fleet", QUIET)
    first = fleet.head()
    references = fleet.folder / ".git" / "refs" / "heads" / "main"
    points: list[Callable[[], bool]] = [
        lambda: any((fleet.folder / ".git").glob("index.lock*")),
        lambda: any((fleet.folder / ".git").glob("objects/pack/tmp_*")),
        (fleet.folder / "status").exists,
        lambda: references.read_text().strip() != first,
        (fleet.folder / "status/reconciler.yaml").exists,
        lambda: _locked(fleet.folder / ".git"),
    ]
    process = _start(fleet, tmp_path)
    deadline = time.monotonic() + 5
    while not points[attempt]() and time.monotonic() < deadline:
        pass
    assert -signal.SIGKILL == kill(process, signal.SIGKILL)

    with running(fleet.folder):
        eventually(lambda: len(decisions(load_world(fleet.folder))) == 5, "every placement")
        eventually(lambda: fleet.status() == "", "a clean checkout")
    eventually(lambda: reconciler(fleet.folder, "reconcile").stdout == "nothing to do\n", "rest")
    assert [] == list((fleet.folder / ".git").rglob("*.lock"))
    assert "" == fleet.git("fsck", "--strict", "--no-dangling")


def _locked(folder: Path) -> bool:
    """Whether any lock is below a folder that a daemon changes meanwhile.

    Not `Path.rglob`: it raises where a folder goes while it is walked; `os.walk` passes over it.
    """
    return any(name.endswith(".lock") for _, _, names in os.walk(folder) for name in names)


def _start(fleet: Checkout, tmp_path: Path) -> "subprocess.Popen[bytes]":
    """Start a daemon that will be killed."""
    with (tmp_path / "killed.log").open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "reconciler", "-C", str(fleet.folder), "run"],
            env=process_environment(),
            stderr=stream,
            stdin=subprocess.DEVNULL,
        )


def test_what_another_process_leaves_goes_while_the_daemon_is_idle(tmp_path: Path) -> None:
    """A person's git is not blocked until the next commit, which it could not make."""
    fleet = new_fleet(tmp_path / "fleet")
    with running(fleet.folder, "--poll-seconds", "0.2"):
        eventually(lambda: shop_replicas(fleet) == 2, "first placement")
        eventually(lambda: fleet.status() == "", "a clean checkout")
        first = fleet.git("rev-list", "--max-parents=0", "main")

        def left() -> bool:
            child = subprocess.run(
                [sys.executable, "-c", LEAVING, first, fleet.head()],
                cwd=fleet.folder, env=process_environment(), capture_output=True, check=False,
            )  # fmt: skip
            return child.returncode == 0

        eventually(left, "a moment in which the daemon holds no lock itself")
        lock = fleet.folder / ".git/index.lock"
        eventually(lambda: not lock.exists(), "the lock")
        eventually(lambda: not list(fleet.folder.glob(".git/reconciler/*.step")), "the entry")
