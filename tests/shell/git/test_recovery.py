"""Whose a left lock is, and how a step ends that a killed process began."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.core.changes import Change, DeleteFile, WriteFile
from reconciler.model.records import replace
from reconciler.shell.git import journal
from reconciler.shell.git.checkout import worktree
from reconciler.shell.git.checkout.moves import BEFORE
from reconciler.shell.git.command import CheckoutBusy, GitError
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.journal import entries, held_entry, journalled
from reconciler.shell.git.publish import publish
from reconciler.shell.git.recovery import recover
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.processes import identity as processes
from reconciler.shell.processes.identity import ProcessIdentity, this_process
from tests.shell.counted import leave_behind
from tests.shell.repositories import NOW, Checkout, git, new_checkout

FILES = {"mine.yaml": "mine\n", "status/a.yaml": "old\n", "status/deep/gone.yaml": "gone\n"}
CHANGES: tuple[Change, ...] = (
    WriteFile("status/a.yaml", "new content\n"),
    WriteFile("status/b.yaml", "b\n"),
    DeleteFile("status/deep/gone.yaml"),
)


def commit(repository: Repository, *changes: Change, parent: str) -> str:
    """Write a commit with the dullest of everything."""
    return write_commit(
        repository,
        changes,
        parent=parent,
        message="Place",
        at=NOW,
        author=CommitIdentity("r", "r@x"),
    )


def killed(tmp_path: Path, *, moved: bool) -> tuple[Checkout, Repository, str, str]:
    """A checkout whose step was killed before any file moved, with the branch moved or not."""
    checkout = new_checkout(tmp_path / "r", FILES)
    repository = Repository.open(checkout.folder)
    old = repository.resolve("main")
    new = commit(repository, *CHANGES, parent=old)
    leave_behind(repository, old=old, new=new)
    if moved:
        checkout.git("update-ref", "refs/heads/main", new)
    return checkout, repository, old, new


def locks(checkout: Checkout) -> list[str]:
    """All locks in the git folder, and all entries of the journal."""
    found = (checkout.folder / ".git").rglob("*")
    return sorted(path.name for path in found if path.suffix in (".lock", ".step"))


def settle(repository: Repository) -> list[float]:
    """Recover, and return the seconds that were waited."""
    waited: list[float] = []
    recover(repository, sleep=waited.append)
    return waited


@pytest.mark.parametrize("content", ["", "new"], ids=["empty", "new-id"])
@pytest.mark.parametrize("name", ["refs/heads/main.lock", "HEAD.lock"])
def test_a_lock_of_a_killed_step_goes(tmp_path: Path, name: str, content: str) -> None:
    """A person commits again at once; a lock is not judged before it has been left alone."""
    checkout, repository, _, new = killed(tmp_path, moved=False)
    (checkout.folder / ".git" / name).write_text(f"{new}\n" if content else "")

    [waited] = settle(repository)

    assert 0 < waited <= 1
    assert [] == locks(checkout)
    checkout.commit({"mine.yaml": "more\n"})


def older(checkout: Checkout, lock: Path) -> None:
    """Date a lock before the entry."""
    entry = next((checkout.folder / ".git/reconciler").iterdir())
    lock.touch()
    os.utime(lock, ns=(entry.stat().st_mtime_ns, entry.stat().st_mtime_ns))


def foreign(checkout: Checkout, lock: Path) -> None:
    """Hold another id."""
    lock.write_text(f"{checkout.head()}\n")


@pytest.mark.parametrize("make", [older, foreign], ids=["older", "foreign"])
def test_a_lock_in_doubt_stays(tmp_path: Path, make: Callable[[Checkout, Path], None]) -> None:
    """It may be a person's; HEAD's lock belongs to whoever has the branch's."""
    checkout, repository, _, _ = killed(tmp_path, moved=False)
    branch, head = (checkout.folder / ".git" / n for n in ("refs/heads/main.lock", "HEAD.lock"))
    make(checkout, branch)
    head.touch()

    settle(repository)

    assert ["HEAD.lock", "main.lock"] == locks(checkout)


TORN = [
    pytest.param(lambda new: new[:17].encode(), id="a-part"),
    pytest.param(lambda new: new[:17].encode() + b"\0" * 24, id="a-part-and-zeros"),
    pytest.param(lambda _: b"\0" * 41, id="zeros"),
    pytest.param(lambda new: new.encode(), id="without-its-end"),
]


@pytest.mark.parametrize("torn", TORN)
@pytest.mark.parametrize("moved", [False, True], ids=["before", "after"])
def test_a_lock_that_a_loss_of_power_tore_goes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    torn: Callable[[str], bytes],
    moved: bool,  # noqa: FBT001  # one per mode
) -> None:
    """The entry is of another boot, so nobody is writing the lock any more."""
    owned_by(monkeypatch, replace(this_process(), boot="before"))
    checkout, repository, _, new = killed(tmp_path, moved=moved)
    (checkout.folder / ".git/refs/heads/main.lock").write_bytes(torn(new))

    settle(repository)

    assert [] == locks(checkout)
    checkout.commit({"mine.yaml": "more\n"})


@pytest.mark.parametrize(
    ("elsewhere", "content"),
    [
        pytest.param({}, b"\0" * 41, id="this-boot"),
        pytest.param({"boot": ""}, b"\0" * 41, id="a-kernel-that-does-not-tell"),
        pytest.param({"boot": "before"}, b"f" * 17, id="a-part-of-another-id"),
        pytest.param({"boot": "before"}, b"f" * 40 + b"\n", id="another-id"),
    ],
)
def test_a_torn_lock_in_doubt_stays(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: dict[str, str],
    content: bytes,
) -> None:
    """Somebody may be writing it, or it is another's."""
    owned_by(monkeypatch, replace(this_process(), **elsewhere))  # type: ignore[arg-type]
    checkout, repository, _, _ = killed(tmp_path, moved=False)
    (checkout.folder / ".git/refs/heads/main.lock").write_bytes(content)

    settle(repository)

    assert ["main.lock"] == locks(checkout)


def test_a_lock_that_changes_meanwhile_stays(tmp_path: Path) -> None:
    """Another git has just taken it."""
    checkout, repository, _, _ = killed(tmp_path, moved=False)
    lock = checkout.folder / ".git/refs/heads/main.lock"
    lock.touch()

    def taken_by_another(_: float) -> None:
        lock.unlink()
        lock.write_text(f"{checkout.head()}\n")

    recover(repository, sleep=taken_by_another)

    assert ["main.lock"] == locks(checkout)


def owned_by(monkeypatch: pytest.MonkeyPatch, owner: ProcessIdentity) -> None:
    """Let the next entries be those of another process."""
    monkeypatch.setattr(journal, "this_process", lambda: owner)


@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param({"pid_namespace": "pid:[1]"}, id="another-namespace-same-kernel"),
        pytest.param({"boot": "before"}, id="same-host-before-its-boot"),
        pytest.param({"start": "1"}, id="our-own-pid-before-us"),
        pytest.param({"pid": 1 << 30}, id="no-such-process"),
    ],
)
def test_a_dead_owner_is_known_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: dict[str, str]
) -> None:
    """Its lock on the entry is free, and nothing speaks for its life."""
    owned_by(monkeypatch, replace(this_process(), **elsewhere))  # type: ignore[arg-type]
    checkout, repository, _, _ = killed(tmp_path, moved=False)

    settle(repository)

    assert [] == locks(checkout)


def test_an_owner_on_another_host_is_never_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its pid is nobody's here; the message has the command."""
    owner = replace(this_process(), host="elsewhere", boot="other", pid=1 << 30)
    owned_by(monkeypatch, owner)
    checkout, repository, _, _ = killed(tmp_path, moved=False)

    with pytest.raises(CheckoutBusy, match=r'host "elsewhere" .*: rm .*index.lock .*\.step'):
        settle(repository)

    assert 2 == len(locks(checkout))


def test_a_living_owner_keeps_its_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pid lives in our namespace, and started when the entry says."""
    parent = os.getppid()
    owner = replace(this_process(), pid=parent, start=processes._start(parent))
    owned_by(monkeypatch, owner)
    checkout, repository, _, _ = killed(tmp_path, moved=False)

    settle(repository)

    assert 2 == len(locks(checkout))


def test_a_living_git_command_of_a_dead_owner_keeps_its_locks(tmp_path: Path) -> None:
    """It inherited the lock on the entry; when it has ended, the step is ended too."""
    checkout, repository, _, _ = killed(tmp_path, moved=False)
    [place] = entries(repository)
    with held_entry(place) as step:
        assert step is not None
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(step.descriptor,))
    with child:
        with pytest.raises(CheckoutBusy, match=r"still at work .* looks again"):
            settle(repository)
        assert 2 == len(locks(checkout))
        assert child.stdin is not None
        child.stdin.close()
    settle(repository)

    assert [] == locks(checkout)


def test_an_entry_that_was_never_written_began_nothing(tmp_path: Path) -> None:
    """A loss of power, or a kill, before anything was done."""
    checkout = new_checkout(tmp_path / "r", FILES)
    folder = checkout.folder / ".git/reconciler"
    folder.mkdir()
    for name, content in (("a", ""), ("b", '{"owner":'), ("c", "[]\n")):
        (folder / f"{name}.step").write_text(content)

    settle(Repository.open(checkout.folder))

    assert [] == locks(checkout)


@pytest.mark.parametrize("content", [None, "", "new con", "\0\0\0\0", "old\n", "new content\n"])
def test_what_git_left_of_a_file_is_finished(tmp_path: Path, content: str | None) -> None:
    """Unlinked, begun, lost with the power, or not touched: it is no person's deletion or edit."""
    checkout, repository, _, new = killed(tmp_path, moved=True)
    place = checkout.folder / "status/a.yaml"
    place.unlink()
    if content is not None:
        place.write_text(content)

    settle(repository)

    assert "" == checkout.status()
    assert "new content\n" == place.read_text()
    assert not (checkout.folder / "status/deep").exists()
    checkout.git("commit", "--quiet", "--all", "--allow-empty", "--message", "Mine")
    assert "" == checkout.git("diff", "--name-only", new, "HEAD")


def test_a_persons_edits_survive_the_finish(tmp_path: Path) -> None:
    """Edited, staged, in the way of a file, edited where we delete: all as it was, and shown."""
    checkout, repository, _, _ = killed(tmp_path, moved=True)
    checkout.write(
        {
            "mine.yaml": "edited\n",
            "status/a.yaml": "my own\n",
            "status/b.yaml": "in the way\n",
            "status/deep/gone.yaml": "kept\n",
        }
    )

    settle(repository)

    assert "my own\n" == (checkout.folder / "status/a.yaml").read_text()
    assert [" M mine.yaml", " M status/a.yaml", " M status/b.yaml", "?? status/deep/gone.yaml"] == (
        [line if line[0] in " ?" else f" {line}" for line in checkout.status().splitlines()]
    )


def test_no_symbolic_link_is_followed(tmp_path: Path) -> None:
    """A folder was replaced by a link meanwhile: what it leads to stays as it is."""
    checkout, repository, _, _ = killed(tmp_path, moved=True)
    (checkout.folder / "status").rename(tmp_path / "away")
    (checkout.folder / "status").symlink_to(tmp_path / "away")

    settle(repository)

    assert "old\n" == (tmp_path / "away/a.yaml").read_text()
    assert not (tmp_path / "away/b.yaml").exists()
    assert (tmp_path / "away/deep/gone.yaml").exists()


def test_a_path_that_was_committed_again_since_is_left_alone(tmp_path: Path) -> None:
    """The entry came back with a loss of power; the person has gone on."""
    checkout, repository, _, new = killed(tmp_path, moved=True)
    settle(repository)
    checkout.commit({"status/a.yaml": "old\n"}, "Back")
    old = checkout.git("rev-parse", f"{new}^")
    leave_behind(repository, old=old, new=new)

    settle(repository)

    assert "" == checkout.status()
    assert "old\n" == (checkout.folder / "status/a.yaml").read_text()


def test_what_a_person_staged_since_is_left_alone(tmp_path: Path) -> None:
    """They removed our lock, as git told them."""
    checkout, repository, _, _ = killed(tmp_path, moved=True)
    (checkout.folder / ".git/index.lock").unlink()
    checkout.write({"status/a.yaml": "staged\n"})
    checkout.git("add", "status/a.yaml")

    settle(repository)

    assert "M  status/a.yaml" == checkout.status()
    assert "staged\n" == checkout.git("show", ":status/a.yaml") + "\n"


def test_a_checkout_that_left_the_branch_only_gets_its_lock_back(tmp_path: Path) -> None:
    """Its files belong to another branch now."""
    checkout, repository, old, _ = killed(tmp_path, moved=True)
    (checkout.folder / ".git/HEAD").write_text(f"{old}\n")

    settle(repository)

    assert [] == locks(checkout)
    assert "" == checkout.status()


def test_an_index_of_before_that_nothing_took_the_place_of_goes(tmp_path: Path) -> None:
    """Renaming one of two links to a file leaves both, and the next step found one in its way."""
    checkout, repository, _, _ = killed(tmp_path, moved=False)
    before = checkout.folder / ".git" / BEFORE
    os.link(checkout.folder / ".git/index", before)

    settle(repository)

    assert not before.exists()
    assert [] == locks(checkout)
    assert "" == checkout.status()


def test_git_at_work_is_waited_for(tmp_path: Path) -> None:
    """The step stays in the journal; the next pass finishes it."""
    checkout, repository, _, _ = killed(tmp_path, moved=True)
    lock = checkout.folder / ".git/index.lock"
    lock.unlink()
    lock.write_text("theirs")

    with pytest.raises(CheckoutBusy, match=r"git is at work here .*: rm .*index\.lock"):
        settle(repository)

    lock.unlink()
    settle(repository)
    assert "" == checkout.status()


def test_steps_of_every_branch_are_ended(tmp_path: Path) -> None:
    """Another daemon's, too: a person's git waits for none of them."""
    checkout, repository, old, _ = killed(tmp_path, moved=False)
    settle(repository)
    checkout.git("branch", "other")
    git(checkout.folder, "worktree", "add", "--quiet", str(tmp_path / "w"), "other")
    leave_behind(repository, old=old, new=commit(repository, *CHANGES, parent=old), branch="other")

    settle(repository)

    assert [] == locks(checkout)


def test_an_entry_is_older_than_all_that_follows(tmp_path: Path) -> None:
    """The clock of the file system moved on before the block began."""
    checkout = new_checkout(tmp_path / "r", FILES)
    repository = Repository.open(checkout.folder)
    one = "1" * 40
    with journalled(repository, "refs/heads/x", old=one, new=one, checkouts=()) as step:
        later = tmp_path / "later"
        later.touch()

        assert later.stat().st_mtime_ns > step.written_ns
    assert [] == locks(checkout)


def test_a_git_command_that_is_killed_alone_is_cleared_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process lives on, and has judged the lock before it says so."""
    checkout = new_checkout(tmp_path / "r", FILES)
    repository = Repository.open(checkout.folder)
    old = repository.resolve("main")
    new = commit(repository, *CHANGES, parent=old)

    def killed_half_way(*_: object, **__: object) -> None:
        (checkout.folder / ".git/refs/heads/main.lock").touch()
        raise GitError("git update-ref: exit code -9")

    with monkeypatch.context() as patched:
        patched.setattr(worktree, "publish_together", killed_half_way)
        with pytest.raises(GitError, match="exit code -9"):
            worktree.advance(repository, "main", old=old, new=new)
    assert [] == locks(checkout)

    worktree.advance(repository, "main", old=old, new=new)
    assert ("", new) == (checkout.status(), checkout.head())


def test_a_left_lock_that_is_not_ours_is_told_with_its_command(tmp_path: Path) -> None:
    """A person decides."""
    checkout = new_checkout(tmp_path / "r", FILES)
    repository = Repository.open(checkout.folder)
    old = repository.resolve("main")
    new = commit(repository, *CHANGES, parent=old)
    (checkout.folder / ".git/refs/heads/main.lock").touch()

    with pytest.raises(GitError, match=r"if no git command is running, .*: rm \S*/main.lock"):
        publish(repository, "main", old=old, new=new, sleep=lambda _: None)
