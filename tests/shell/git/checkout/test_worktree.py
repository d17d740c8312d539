"""Moving a branch together with its checkouts, around a person's work."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from reconciler.core.changes import Change, DeleteFile, WriteFile
from reconciler.shell.git import recovery
from reconciler.shell.git.checkout import worktree
from reconciler.shell.git.checkout.checkouts import find_checkouts
from reconciler.shell.git.checkout.moves import CheckoutMove, locked_index, refusal_of_move
from reconciler.shell.git.checkout.worktree import advance
from reconciler.shell.git.command import CheckoutBusy, Finished, GitError, LostRace
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.journal import HeldEntry, journalled
from reconciler.shell.git.publish import BranchMove, publish_together
from reconciler.shell.git.recovery import recover
from reconciler.shell.git.repository import CommitIdentity, Repository
from tests.shell.fleet import ROOT
from tests.shell.repositories import ENVIRONMENT, NOW, Checkout, git, new_bare, new_checkout

FILES = {
    "mine.yaml": "mine\n",
    "other.yaml": "other\n",
    "status/a.yaml": "a\n",
    "status/gone.yaml": "gone\n",
    ".gitignore": "*.log\n",
}


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


CHANGES = (
    WriteFile("status/a.yaml", "new\n"),
    WriteFile("status/deep/b.yaml", "b\n"),
    WriteFile("status/x.log", "ignored by name\n"),
    DeleteFile("status/gone.yaml"),
)


def start(tmp_path: Path) -> tuple[Checkout, Repository, str, str]:
    """A checkout, its repository, the branch's head, and a commit on top of it."""
    checkout = new_checkout(tmp_path / "r", FILES)
    repository = Repository.open(checkout.folder)
    old = repository.resolve("main")
    return checkout, repository, old, commit(repository, *CHANGES, parent=old)


def photograph(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time of change and content of everything below a folder, but for git's objects.

    The list of packs that hold objects of ours is one of these.
    """
    objects = (".git/objects", ".git/logs", ".git/reconciler/packs")
    seen = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(objects) or (path.is_dir() and ".git" in name):
            continue
        facts = path.lstat()
        content = str(path.readlink()).encode() if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        changed_at = 0 if path.is_dir() or ".git/" in name else facts.st_mtime_ns
        seen[name] = (facts.st_mode, changed_at, content)
    return seen


def test_files_follow_the_branch(tmp_path: Path) -> None:
    """Written, added, deleted; the status is clean and no lock is left."""
    checkout, repository, old, new = start(tmp_path)

    advance(repository, "main", old=old, new=new, reason="why")

    assert new == checkout.head()
    assert "" == checkout.status()
    assert "new\n" == (checkout.folder / "status/a.yaml").read_text()
    assert "b\n" == (checkout.folder / "status/deep/b.yaml").read_text()
    assert not (checkout.folder / "status/gone.yaml").exists()
    assert "why" in checkout.git("reflog", "-1", "main")
    assert [] == [path.name for path in repository.git_dir.iterdir() if "index-" in path.name]
    assert not (repository.git_dir / "index.lock").exists()


def edit(path: str) -> Callable[[Checkout], None]:
    """Change a file."""
    return lambda checkout: checkout.write({path: "edited\n"})


def stage(path: str) -> Callable[[Checkout], None]:
    """Change a file and stage it."""

    def act(checkout: Checkout) -> None:
        checkout.write({path: "edited\n"})
        checkout.git("add", "--force", path)

    return act


def write(path: str, content: str) -> Callable[[Checkout], None]:
    """Give a file some content."""
    return lambda checkout: checkout.write({path: content})


def link(path: str) -> Callable[[Checkout], None]:
    """Put a symbolic link in the place of a file."""

    def act(checkout: Checkout) -> None:
        (checkout.folder / path).unlink()
        (checkout.folder / path).symlink_to("elsewhere")

    return act


def seen(checkout: Checkout, path: str) -> str | None:
    """What a path of a checkout holds, `None` if it is not there."""
    place = checkout.folder / path
    if place.is_symlink():
        return str(place.readlink())
    return place.read_text() if place.exists() else None


def delete(path: str) -> Callable[[Checkout], None]:
    """Delete a file without staging that."""
    return lambda checkout: (checkout.folder / path).unlink()


def drop(path: str) -> Callable[[Checkout], None]:
    """Delete a file and stage that."""

    def act(checkout: Checkout) -> None:
        checkout.git("rm", "--quiet", path)

    return act


def run(*arguments: str) -> Callable[[Checkout], None]:
    """Run git."""

    def act(checkout: Checkout) -> None:
        checkout.git(*arguments)

    return act


def hide(path: str) -> Callable[[Checkout], None]:
    """Change a file and hide that from git."""

    def act(checkout: Checkout) -> None:
        checkout.git("update-index", "--assume-unchanged", path)
        checkout.write({path: "edited\n"})

    return act


def link_folder(checkout: Checkout) -> None:
    """Put a symlink where a folder must be."""
    (checkout.folder / "elsewhere").mkdir()
    (checkout.folder / "status/deep").symlink_to("../elsewhere")


def link_tracked_folder(checkout: Checkout) -> None:
    """Move a folder away and put a symlink to it."""
    (checkout.folder / "status").rename(checkout.folder.parent / "moved")
    (checkout.folder / "status").symlink_to("../moved")


def conflict(path: str) -> Callable[[Checkout], None]:
    """Leave a merge of a file unresolved."""

    def act(checkout: Checkout) -> None:
        checkout.git("checkout", "--quiet", "-b", "side")
        checkout.commit({path: "theirs\n"})
        checkout.git("checkout", "--quiet", "main")
        sides = ((1, "main"), (2, "main"), (3, "side"))
        blobs = [(checkout.git("rev-parse", f"{side}:{path}"), stage) for stage, side in sides]
        lines = [f"0 {'0' * 40}\t{path}", *(f"100644 {blob} {n}\t{path}" for blob, n in blobs)]
        stdin = "".join(f"{line}\n" for line in lines).encode()
        git(checkout.folder, "update-index", "--index-info", stdin=stdin)

    return act


@pytest.mark.parametrize(
    ("act", "message"),
    [
        pytest.param(edit("status/deep"), '"status/deep" is not a folder', id="file-for-folder"),
        pytest.param(edit("status/x.log/y"), '"status/x.log" is in the way', id="folder-for-file"),
        pytest.param(link_folder, '"status/deep" is a symbolic link', id="symlinked-new-folder"),
        pytest.param(link_tracked_folder, '"status" is a symbolic link', id="symlinked-folder"),
        pytest.param(hide("status/a.yaml"), 'marked "assume unchanged"', id="assume-unchanged"),
        pytest.param(conflict("status/a.yaml"), "has a merge conflict; resolve it", id="unmerged"),
        pytest.param(
            conflict("other.yaml"),
            '"other.yaml" has a merge conflict; resolve it and commit, or undo the merge with',
            id="unmerged-elsewhere",
        ),
    ],
)
def test_what_is_in_the_way_refuses_the_move_and_nothing_changes(
    tmp_path: Path, act: Callable[[Checkout], None], message: str
) -> None:
    """The branch, the index and every file stay as they were."""
    checkout, repository, old, new = start(tmp_path)
    act(checkout)
    before = photograph(checkout.folder)

    with pytest.raises(CheckoutBusy, match=message):
        advance(repository, "main", old=old, new=new)

    assert old == repository.resolve("main")
    assert before == photograph(checkout.folder)


KEPT = [
    pytest.param(edit("status/a.yaml"), " M status/a.yaml", "checkout HEAD --", id="dirty"),
    pytest.param(stage("status/a.yaml"), "M  status/a.yaml", "checkout HEAD --", id="staged"),
    pytest.param(delete("status/a.yaml"), " D status/a.yaml", "checkout HEAD --", id="deleted"),
    pytest.param(drop("status/a.yaml"), "D  status/a.yaml", "checkout HEAD --", id="dropped"),
    pytest.param(link("status/a.yaml"), " T status/a.yaml", "checkout HEAD --", id="linked"),
    pytest.param(
        edit("status/deep/b.yaml"), " M status/deep/b.yaml", "checkout HEAD --", id="untracked"
    ),
    pytest.param(edit("status/x.log"), " M status/x.log", "checkout HEAD --", id="ignored"),
    pytest.param(
        stage("status/deep/b.yaml"), "M  status/deep/b.yaml", "checkout HEAD --", id="added"
    ),
    pytest.param(edit("status/gone.yaml"), "?? status/gone.yaml", "rm ", id="edited-where-removed"),
    pytest.param(
        stage("status/gone.yaml"), "A  status/gone.yaml", "rm --force --", id="staged-where-removed"
    ),
]


@pytest.mark.parametrize(("act", "status", "command"), KEPT)
def test_an_edit_of_an_output_stays_and_all_the_rest_moves(
    tmp_path: Path, act: Callable[[Checkout], None], status: str, command: str
) -> None:
    """The branch moves; `git status` has that file alone; the command that is told takes ours."""
    checkout, repository, old, new = start(tmp_path)
    act(checkout)
    path = status[3:]
    edited = seen(checkout, path)

    [kept] = advance(repository, "main", old=old, new=new)

    assert new == checkout.head()
    assert (status, edited) == (checkout.status(), seen(checkout, path))
    assert path == kept.path
    assert command in str(kept)
    subprocess.run(shlex.split(kept.command), check=True, env=ENVIRONMENT, capture_output=True)
    assert "" == checkout.status()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(delete("status/gone.yaml"), id="deleted-alike"),
        pytest.param(drop("status/gone.yaml"), id="dropped-alike"),
        pytest.param(write("status/a.yaml", "new\n"), id="written-alike"),
        pytest.param(write("status/deep/b.yaml", "b\n"), id="made-alike"),
    ],
)
def test_an_edit_that_is_what_was_decided_is_none(
    tmp_path: Path, act: Callable[[Checkout], None]
) -> None:
    """There is nothing to tell."""
    checkout, repository, old, new = start(tmp_path)
    act(checkout)

    assert () == advance(repository, "main", old=old, new=new)
    assert (new, "") == (checkout.head(), checkout.status())


def test_an_edit_stays_through_many_moves_until_it_is_committed(tmp_path: Path) -> None:
    """Each pass tells it; a commit makes it what the next one decides from."""
    checkout, repository, old, new = start(tmp_path)
    checkout.write({"status/a.yaml": "edited\n"})
    [first] = advance(repository, "main", old=old, new=new)
    newer = commit(repository, WriteFile("status/a.yaml", "newer\n"), parent=new)

    assert (first,) == advance(repository, "main", old=new, new=newer)
    checkout.git("commit", "--quiet", "--all", "--message", "Mine")
    assert "status/a.yaml" == checkout.git("diff", "--name-only", newer, "HEAD")
    assert "" == checkout.status()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(edit("mine.yaml"), id="dirty"),
        pytest.param(stage("mine.yaml"), id="staged"),
        pytest.param(delete("mine.yaml"), id="deleted-unstaged"),
        pytest.param(drop("mine.yaml"), id="deleted-staged"),
        pytest.param(edit("status/unrelated.yaml"), id="untracked"),
        pytest.param(edit("status/unrelated.log"), id="ignored"),
        pytest.param(stage("new.yaml"), id="added"),
        pytest.param(run("mv", "mine.yaml", "moved.yaml"), id="renamed"),
        pytest.param(run("update-index", "--chmod=+x", "mine.yaml"), id="mode"),
        pytest.param(hide("mine.yaml"), id="assume-unchanged"),
    ],
)
def test_work_on_other_files_survives(tmp_path: Path, act: Callable[[Checkout], None]) -> None:
    """Status and content are as before; only our files moved."""
    checkout, repository, old, new = start(tmp_path)
    act(checkout)
    status = checkout.status()
    staged = checkout.git("diff", "--cached")
    before = photograph(checkout.folder)

    advance(repository, "main", old=old, new=new)

    assert new == checkout.head()
    assert status == checkout.status()
    assert staged == checkout.git("diff", "--cached")
    ours = {change.path for change in CHANGES} | {"status/deep"}
    after = photograph(checkout.folder)
    assert {name: seen for name, seen in before.items() if _theirs(name, ours)} == {
        name: seen for name, seen in after.items() if _theirs(name, ours)
    }


def _theirs(name: str, ours: set[str]) -> bool:
    return not name.startswith(".git/") and name not in ours


def test_a_touched_but_equal_file_is_no_edit(tmp_path: Path) -> None:
    """A changed time alone does not refuse."""
    checkout, repository, old, new = start(tmp_path)
    os.utime(checkout.folder / "status/a.yaml", (1, 1))

    advance(repository, "main", old=old, new=new)

    assert "" == checkout.status()


def test_git_at_work_refuses_the_move(tmp_path: Path) -> None:
    """The lock of another command is never removed."""
    checkout, repository, old, new = start(tmp_path)
    lock = checkout.folder / ".git/index.lock"
    lock.write_text("theirs")

    with pytest.raises(CheckoutBusy, match=r"git is at work here .*index.lock exists"):
        advance(repository, "main", old=old, new=new)

    assert "theirs" == lock.read_text()
    assert old == repository.resolve("main")


def test_a_lost_race_leaves_the_checkout_as_it_was(tmp_path: Path) -> None:
    """Somebody committed in between."""
    checkout, repository, old, new = start(tmp_path)
    theirs = checkout.commit({"mine.yaml": "theirs\n"})
    before = photograph(checkout.folder)

    with pytest.raises(LostRace):
        advance(repository, "main", old=old, new=new)

    assert theirs == repository.resolve("main")
    assert before == photograph(checkout.folder)
    assert "" == checkout.status()


@pytest.mark.parametrize("sparse", [False, True])
def test_an_edit_between_looking_and_moving_stays(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sparse: bool,  # noqa: FBT001  # one per mode
) -> None:
    """Where git moves the files it refuses, and nothing has moved."""
    checkout, repository, old, new = start(tmp_path)
    if sparse:
        checkout.git("sparse-checkout", "set", "--no-cone", "/*")
    real = publish_together

    def publish_slowly(repository: Repository, moves: Sequence[BranchMove], *, reason: str) -> None:
        real(repository, moves, reason=reason)
        checkout.write({"status/a.yaml": "in between\n"})

    monkeypatch.setattr(worktree, "publish_together", publish_slowly)

    if sparse:
        with pytest.raises(CheckoutBusy, match="has changes; commit"):
            advance(repository, "main", old=old, new=new)
    else:
        [kept] = advance(repository, "main", old=old, new=new)
        assert "status/a.yaml" == kept.path

    assert (old if sparse else new) == checkout.head()
    assert " M status/a.yaml" == checkout.status()
    assert "in between\n" == (checkout.folder / "status/a.yaml").read_text()
    assert not (checkout.folder / ".git/index.lock").exists()


@pytest.mark.parametrize("stays", [False, True])
def test_a_disk_that_is_full_half_way_is_made_good(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stays: bool,  # noqa: FBT001  # one per mode
) -> None:
    """Some files are written, one is cut short; if the disk stays full, by the next pass."""
    checkout, repository, old, new = start(tmp_path)
    place = checkout.folder / "status/a.yaml"

    def full(prepared: object, move: object) -> None:
        place.write_text("ne")
        (checkout.folder / "status/gone.yaml").unlink(missing_ok=True)
        raise refusal_of_move(checkout.folder, Finished(128, b"", "error: No space left on device"))

    with monkeypatch.context() as patched:
        patched.setattr(worktree, "_move", full)
        if stays:
            patched.setattr(recovery, "finish", full)
            with pytest.raises(GitError, match=r"follows with the next pass: .* is full; free"):
                advance(repository, "main", old=old, new=new)
        else:
            advance(repository, "main", old=old, new=new)

    assert new == repository.resolve("main")
    recover(repository)
    assert "" == checkout.status()
    assert "new\n" == place.read_text()
    assert not (checkout.folder / ".git/index.lock").exists()


def test_every_checkout_of_the_branch_follows(tmp_path: Path) -> None:
    """Linked worktrees too, opened from wherever; other branches' stay."""
    checkout, _, old, new = start(tmp_path)
    checkout.git("checkout", "--quiet", "-b", "mine")
    checkout.git("worktree", "add", "--quiet", str(tmp_path / "linked\nfolder"), "main")
    linked = Checkout(tmp_path / "linked\nfolder")
    before = photograph(checkout.folder)

    advance(Repository.open(checkout.folder), "main", old=old, new=new)

    assert new == linked.head()
    assert "" == linked.status()
    assert "new\n" == (linked.folder / "status/a.yaml").read_text()
    files = {name: seen for name, seen in before.items() if not name.startswith(".git/")}
    after = photograph(checkout.folder)
    assert files == {name: seen for name, seen in after.items() if not name.startswith(".git/")}


def test_one_busy_checkout_holds_all(tmp_path: Path) -> None:
    """Two checkouts of a branch move together or not at all."""
    checkout, repository, old, new = start(tmp_path)
    checkout.git("worktree", "add", "--quiet", "--force", str(tmp_path / "linked"), "main")
    linked = Checkout(tmp_path / "linked")
    (checkout.folder / "status").rename(tmp_path / "moved")
    (checkout.folder / "status").symlink_to(tmp_path / "moved")
    before = photograph(linked.folder)

    with pytest.raises(CheckoutBusy, match="is a symbolic link"):
        advance(repository, "main", old=old, new=new)

    assert before == photograph(linked.folder)
    assert old == linked.head()


def test_each_checkout_keeps_its_own_edits(tmp_path: Path) -> None:
    """All are told, each with its folder."""
    checkout, repository, old, new = start(tmp_path)
    checkout.git("worktree", "add", "--quiet", "--force", str(tmp_path / "linked"), "main")
    linked = Checkout(tmp_path / "linked")
    checkout.write({"status/a.yaml": "edited\n"})
    linked.write({"status/gone.yaml": "edited\n"})

    kept = advance(repository, "main", old=old, new=new)

    assert {checkout.folder: "status/a.yaml", linked.folder: "status/gone.yaml"} == {
        one.folder: one.path for one in kept
    }
    assert " M status/a.yaml" == checkout.status()
    assert "?? status/gone.yaml" == linked.status()


def test_a_lost_worktree_does_not_matter(tmp_path: Path) -> None:
    """Its folder was deleted; its entry is still listed."""
    checkout, repository, old, new = start(tmp_path)
    checkout.git("worktree", "add", "--quiet", "--force", str(tmp_path / "linked"), "main")
    (tmp_path / "linked").rename(tmp_path / "away")

    advance(repository, "main", old=old, new=new)

    assert new == checkout.head()


def test_a_rebase_of_the_branch_refuses_the_move(tmp_path: Path) -> None:
    """Its end would fail, for the branch would no longer be where it began."""
    checkout, repository, old, new = start(tmp_path)
    (checkout.folder / ".git/rebase-merge").mkdir()
    (checkout.folder / ".git/rebase-merge/head-name").write_text("refs/heads/main\n")
    checkout.git("checkout", "--quiet", "--detach")

    with pytest.raises(CheckoutBusy, match=r"is being rebased; finish it"):
        advance(repository, "main", old=old, new=new)
    assert old == repository.resolve("main")


def test_a_sparse_checkout_follows(tmp_path: Path) -> None:
    """What it leaves out stays out."""
    checkout, repository, old, new = start(tmp_path)
    checkout.git("sparse-checkout", "set", "--no-cone", "/mine.yaml", "/.gitignore")

    advance(repository, "main", old=old, new=new)

    assert new == checkout.head()
    assert "" == checkout.status()
    assert not (checkout.folder / "status/a.yaml").exists()


def test_a_bare_repository_only_moves_its_branch(tmp_path: Path) -> None:
    """There is nothing else to move."""
    repository = Repository.open(new_bare(tmp_path / "b.git", FILES))
    old = repository.resolve("main")
    new = commit(repository, *CHANGES, parent=old)

    advance(repository, "main", old=old, new=new)

    assert new == repository.resolve("main")


def test_a_git_folder_elsewhere_is_no_hindrance(tmp_path: Path) -> None:
    """Git does not list such a checkout, nor that of a submodule."""
    git(tmp_path, "init", "--quiet", "-b", "main", f"--separate-git-dir={tmp_path}/g", "r")
    checkout = Checkout(tmp_path / "r")
    checkout.commit(FILES)
    repository = Repository.open(checkout.folder)
    old = repository.resolve("main")

    advance(repository, "main", old=old, new=commit(repository, *CHANGES, parent=old))

    assert "" == checkout.status()
    assert "new\n" == (checkout.folder / "status/a.yaml").read_text()


KILLED = """
import os, sys
from pathlib import Path
from reconciler.shell.git.checkout import moves, worktree
from reconciler.shell.git.repository import Repository

def die(*_, **__):
    os.kill(os.getpid(), 9)

def then_die(function):
    def run(*arguments, **named):
        function(*arguments, **named)
        die()
    return run

def half(prepared, move):
    folder = prepared.locked.checkout.folder
    (folder / "status/a.yaml").write_text("new\\n")
    (folder / "status/gone.yaml").unlink()
    die()

match sys.argv[1]:
    case "before": worktree.publish_together = die
    case "swapped": worktree.publish_together = then_die(worktree.publish_together)
    case "half": worktree._move = half
    case "moved": worktree._move = then_die(worktree._move)
    case "installed": moves.LockedIndex.install = then_die(moves.LockedIndex.install)
worktree.advance(Repository.open(Path.cwd()), "main", old=sys.argv[2], new=sys.argv[3])
"""


@pytest.mark.parametrize("moment", ["before", "swapped", "half", "moved", "installed"])
@pytest.mark.parametrize("through", ["recover", "advance"])
def test_a_kill_at_any_moment_is_made_good(tmp_path: Path, moment: str, through: str) -> None:
    """The next start finds the lock, knows it for ours, and finishes; edits elsewhere stay."""
    checkout, repository, old, new = start(tmp_path)
    checkout.write({"mine.yaml": "edited\n"})
    checkout.git("add", "mine.yaml")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, moment, old, new],
        cwd=checkout.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert -9 == killed.returncode
    assert (checkout.folder / ".git/index.lock").exists()

    if through == "recover":
        recover(repository)
    head = repository.resolve("main")
    assert (old if moment == "before" else new) == head
    advance(repository, "main", old=head, new=commit(repository, *CHANGES[:1], parent=head))

    assert "M  mine.yaml" == checkout.status()
    assert "new\n" == (checkout.folder / "status/a.yaml").read_text()
    assert (moment == "before") == (checkout.folder / "status/gone.yaml").exists()
    assert [] == list(repository.git_dir.glob("*index-*"))
    assert not (checkout.folder / ".git/index.lock").exists()


def begun(repository: Repository, old: str, new: str) -> AbstractContextManager[HeldEntry]:
    """A step of this process."""
    folders = [checkout.folder for checkout in find_checkouts(repository, "main")]
    return journalled(repository, "refs/heads/main", old=old, new=new, checkouts=folders)


def test_a_lock_of_ours_in_use_is_respected(tmp_path: Path) -> None:
    """Another reconciler is at work, not dead."""
    checkout, repository, old, new = start(tmp_path)
    (found,) = find_checkouts(repository, "main")

    with (
        begun(repository, old, new) as step,
        locked_index(found, step),
        pytest.raises(CheckoutBusy, match="still at work"),
    ):
        advance(repository, "main", old=old, new=new)

    advance(repository, "main", old=old, new=new)
    assert "" == checkout.status()


def test_a_full_disk_or_any_other_failure_of_git_is_told(tmp_path: Path) -> None:
    """A commit that is not there cannot be moved to."""
    checkout, repository, old, _ = start(tmp_path)
    before = photograph(checkout.folder)

    with pytest.raises(GitError):
        advance(repository, "main", old=old, new="ab" * 20)

    assert before == photograph(checkout.folder)


def test_a_checkout_that_left_the_branch_meanwhile_is_not_moved(tmp_path: Path) -> None:
    """It was found on the branch, and detached before its index was locked: look again."""
    checkout, repository, old, new = start(tmp_path)
    [found] = find_checkouts(repository, "main")
    checkout.git("switch", "--quiet", "--detach")

    with (
        pytest.raises(LostRace, match="no longer checked out"),
        begun(repository, old, new) as step,
        worktree._prepared(repository, found, "main", CheckoutMove(old, new, ()), step),
    ):
        pass

    assert "" == checkout.status()
    advance(repository, "main", old=old, new=new)
    assert (old, new) == (checkout.head(), checkout.git("rev-parse", "main"))
