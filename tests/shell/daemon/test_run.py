"""The daemon as a process: on the checkout of a person who goes on working, and on a remote."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.shell.counted import leave_behind
from tests.shell.fleet import (
    EXAMPLE,
    Clock,
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
from tests.shell.repositories import ENVIRONMENT, Checkout, git, new_bare

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
from tests.shell.counted import leave_behind

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


TRAILERS = ["Reconciled-From", "Reconciled-At", "Reconciled-Rules", "Reconciler-Version"]


def clone(remote: Path, folder: Path) -> Checkout:
    """Clone a remote as a person does."""
    git(remote, "clone", "--quiet", str(remote), str(folder))
    return Checkout(folder)


def push_patiently(person: Checkout) -> None:
    """Push as a person does beside busy writers: pull and push again when refused."""

    def pushed() -> bool:
        person.git("pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
        finished = subprocess.run(
            ["git", "push", "--quiet", "origin", "main"],
            cwd=person.folder,
            env=ENVIRONMENT,
            capture_output=True,
            check=False,
        )
        return finished.returncode == 0

    eventually(pushed, "the push of a person")


def daemon_commits(remote: Path) -> list[str]:
    """Return the commits that were not made by a person, the newest first."""
    return git(remote, "log", "--format=%H", "--author=reconciler", "main").splitlines()


def check_history(remote: Path) -> None:
    """Each commit of a daemon has one parent, the trailers, and only touches outputs."""
    for commit in daemon_commits(remote):
        keys = git(remote, "log", "-1", "--format=%(trailers:keyonly)", commit).split("\n")
        assert TRAILERS == [key for key in keys if key and key != "Caused-By"]
        parents = git(remote, "log", "-1", "--format=%P", commit).split()
        said = git(
            remote, "log", "-1", "--format=%(trailers:key=Reconciled-From,valueonly)", commit
        )
        assert [said.strip()] == parents
        files = git(remote, "diff-tree", "--name-only", "-r", "--no-commit-id", commit)
        assert all(path.startswith("status/") for path in files.splitlines())


@contextmanager
def git_daemon(base: Path) -> Iterator[str]:
    """Serve the repositories of a folder on the loopback; give the URL of the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            "git", "daemon", "--reuseaddr", "--listen=127.0.0.1", f"--port={port}",
            "--export-all", "--enable=receive-pack", f"--base-path={base}", str(base),
        ],
        env=ENVIRONMENT,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # `git daemon` is a child of `git`
    )  # fmt: skip

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        eventually(listens, "the git daemon")
        yield f"git://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_one_pass_on_a_file_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The remote has the commit; a second pass has nothing to do; a clone shows everything."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    options = ["--remote", f"file://{remote}", "--mirror", str(tmp_path / "mirror")]

    assert 0 == run(["reconcile", *options])
    assert "on main" in capsys.readouterr().out
    person = clone(remote, tmp_path / "person")
    assert 3 == len(decisions(load_world(person.folder)))
    assert 0 == run(["-C", str(person.folder), "get", "rb", "-A"])


def test_no_push_leaves_the_remote_alone(tmp_path: Path) -> None:
    """`--no-push` and `--dry-run` move nothing there."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    head = git(remote, "rev-parse", "main")
    options = ["--remote", str(remote), "--mirror", str(tmp_path / "mirror")]

    assert 0 == run(["reconcile", "--no-push", *options])
    assert 0 == run(["reconcile", "--dry-run", *options])
    assert head == git(remote, "rev-parse", "main")


def test_a_remote_without_the_branch_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may come later, so the answer is no, not wrong usage."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    options = ["--remote", str(remote), "--mirror", str(tmp_path / "mirror"), "--branch", "mian"]

    assert 1 == run(["reconcile", *options])
    assert 'the remote has no branch "mian"' in capsys.readouterr().err


def test_passes_through_a_git_daemon(tmp_path: Path) -> None:
    """The protocol of git itself, on the loopback."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    with git_daemon(tmp_path) as base:
        mirror = Mirror.open(f"{base}/remote", tmp_path / "mirror", insecure=True)
        with mirror:
            clock = Clock()
            passes = Passes(
                branches=ServedBranches(
                    RemoteBranch(mirror, mirror.repository, "main"), RepositoryLayout()
                ),
                loader=Loader(
                    GitTrees(mirror.repository), load_schemas(), layout=RepositoryLayout()
                ),
                clock=clock,
                author=CommitIdentity("reconciler", "reconciler@localhost"),
                pause=clock.pause,
            )

            assert passes.run().commit == git(remote, "rev-parse", "main")
            assert None is passes.run().commit
    check_history(remote)


def test_a_daemon_polls_its_remote(tmp_path: Path) -> None:
    """A person's push is decided without any event."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    person = clone(remote, tmp_path / "person")
    options = ["--remote", str(remote), "--mirror", str(tmp_path / "m"), "--poll-seconds", "0.2"]
    with running(tmp_path, *options, log=tmp_path / "log"):
        eventually(lambda: len(decisions(load_world(remote))) == 3, "first placement")
        more = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: more")
        person.commit({"workloads/more.yaml": more})
        push_patiently(person)
        eventually(lambda: len(decisions(load_world(remote))) == 4, "the new workload")
    check_history(remote)


def test_two_daemons_and_a_person_lose_nothing(tmp_path: Path) -> None:
    """Both daemons live, all of the person's files are there, and everything has come to rest."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    person = clone(remote, tmp_path / "person")
    with ExitStack() as daemons:
        processes = [
            daemons.enter_context(
                running(
                    tmp_path,
                    *("--remote", str(remote), "--mirror", str(tmp_path / f"mirror-{number}")),
                    *("--poll-seconds", "0.2"),
                    log=tmp_path / f"log-{number}",
                )
            )
            for number in (1, 2)
        ]
        eventually(lambda: len(decisions(load_world(remote))) == 3, "first placement")
        for number in range(10):
            name = f"web-{number}"
            text = EXAMPLE["workloads/settings.yaml"].replace("settings", name)
            person.commit({f"workloads/{name}.yaml": text}, f"Add {name}")
        push_patiently(person)
        eventually(lambda: len(decisions(load_world(remote))) == 13, "every workload")
        assert [None, None] == [process.poll() for process in processes]

    def rests() -> bool:
        head = git(remote, "rev-parse", "main")
        options = ["--remote", str(remote), "--mirror", str(tmp_path / "mirror-1")]
        assert 0 == run(["reconcile", *options])
        return head == git(remote, "rev-parse", "main")

    eventually(rests, "rest")
    files = git(remote, "ls-tree", "-r", "--name-only", "main").splitlines()
    assert {f"workloads/web-{number}.yaml" for number in range(10)} <= set(files)
    subjects = git(remote, "log", "--format=%s", "main").splitlines()
    assert all(f"Add web-{number}" in subjects for number in range(10))
    check_history(remote)
