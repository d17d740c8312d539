"""A remote on this machine: passes and daemons that read and push it through mirrors."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import CommitIdentity
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.shell.fleet import EXAMPLE, Clock, decisions, eventually, load_world, running
from tests.shell.repositories import ENVIRONMENT, Checkout, git, new_bare

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
