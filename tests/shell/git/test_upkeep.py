"""The upkeep of a mirror: beside the passes, delaying none, losing nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.shell.git.objects import list_files
from reconciler.shell.git.remotes import mirror_folder as upkeep_module
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.remotes.mirror_folder import EVERY_SECONDS, Upkeep
from tests.shell.fleet import EXAMPLE, eventually, running
from tests.shell.git.test_mirror import commit
from tests.shell.repositories import Checkout, git, new_bare


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    """The mirror of a remote with one commit."""
    remote = new_bare(tmp_path / "remote.git", {"a": "1"})
    with Mirror.open(f"file://{remote}", tmp_path / "mirror") as opened:
        yield opened


def test_upkeep_packs_and_loses_nothing(mirror: Mirror) -> None:
    """The mirror goes on as before, and git knows which paths a commit changed."""
    old = mirror.fetch("main")
    new = commit(mirror, "b", "2", parent=old)
    mirror.push("main", old=old, new=new)

    maintained(mirror)

    objects = mirror.repository.git_dir / "objects"
    assert [] == list(objects.glob("??/*"))
    assert b"BIDX" in b"".join(one.read_bytes() for one in objects.glob("info/**/*.graph"))
    assert ["a", "b"] == list(list_files(mirror.repository, new))
    assert new == mirror.fetch("main")


def test_upkeep_comes_sooner_where_much_is_fetched(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fetched is a pack each time, and git opens each of them."""
    monkeypatch.setattr(upkeep_module, "MANY", 3)
    mirror.fetch("main")
    maintained(mirror)
    person = Checkout(tmp_path / "person")
    git(tmp_path, "clone", "--quiet", mirror.remote.url, str(person.folder))
    begun = []
    for number in range(4):
        person.commit({f"{number}": "x"})
        person.git("push", "--quiet", "origin", "main")
        for _ in range(2):  # one that brings nothing counts for nothing
            mirror.fetch("main")
        begun.append(mirror.upkeep.go_on())

    assert [False, False, True] == begun[:3]


def test_upkeep_is_waited_for_by_nothing(mirror: Mirror) -> None:
    """Each call starts a process or looks at one; a pass goes on, and takes away nothing of it."""
    mirror.fetch("main")
    mirror.maintain()
    lock = mirror.repository.git_dir / "config.lock"
    while mirror.upkeep.is_running():
        lock.touch()
        mirror.recover()
        if mirror.upkeep.is_running():
            assert lock.exists()
    mirror.recover()

    assert not lock.exists()


def test_upkeep_ends_with_the_mirror(mirror: Mirror) -> None:
    """No process is left that would write into a folder that another one may use."""
    mirror.fetch("main")
    mirror.maintain()
    mirror.close()

    assert not mirror.upkeep.is_running()


def test_upkeep_is_due_each_hour(mirror: Mirror) -> None:
    """In between it starts nothing."""
    mirror.fetch("main")
    now = [0.0]
    upkeep = Upkeep(mirror.repository.git, moment=lambda: now[0])
    started = []
    for now[0] in (0.0, EVERY_SECONDS - 1, EVERY_SECONDS):
        started.append(upkeep.go_on())
        finish(upkeep)

    assert [True, False, True] == started


def test_the_daemon_looks_after_its_mirror(tmp_path: Path) -> None:
    """After its passes, so that questions about the history are answered fast there."""
    remote = new_bare(tmp_path / "remote.git", EXAMPLE)
    folder = tmp_path / "mirror"
    graphs = folder / "repository.git/objects/info/commit-graphs"
    asked = ("--remote", f"file://{remote}", "--mirror", str(folder), "--poll-seconds", "1")
    with running(tmp_path, *asked):
        eventually(lambda: any(graphs.glob("*.graph")), "the upkeep of the mirror")


def maintained(mirror: Mirror) -> None:
    """Let the upkeep come to its end."""
    mirror.maintain()
    finish(mirror.upkeep)


def finish(upkeep: Upkeep) -> None:
    """Go on until there is nothing left to do."""
    eventually(lambda: not upkeep.go_on())
