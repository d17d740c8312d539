"""The only file that writes what people own: into a checkout, or on a new branch beside it.

A checkout gets the files and nothing else: nothing is staged, nothing is committed. A new branch
gets one commit, made without any checkout. No symbolic link is followed.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from reconciler.core.changes import DeleteFile, WriteFile
from reconciler.errors import UsageError
from reconciler.shell.git.checkout.checkouts import mode_at
from reconciler.shell.git.checkout.worktree import advance
from reconciler.shell.git.command import LostRace
from reconciler.shell.git.commits import check_path, write_commit
from reconciler.shell.git.repository import CommitIdentity, Repository, check_branch

NEW_FILE_MODE = 0o644
DRAFTS = "reconciler-drafts"


def write_files(directory: Path, files: Mapping[str, bytes | None]) -> None:
    """Write files into a checkout; each is replaced whole or not at all.

    Args:
        directory: The root.
        files: Root-relative POSIX path to content, `None` for a file that goes.

    Raises:
        UsageError: A path leads through a symbolic link, or to something that is no plain file.
    """
    places = {path: _place(directory, path) for path in files}
    drafts = _drafts(directory)
    for path, content in files.items():
        if content is None:
            places[path].unlink(missing_ok=True)
        else:
            _replace(places[path], content, drafts)


def branch_off(
    repository: Repository,
    branch: str,
    files: Mapping[str, bytes | None],
    *,
    base: str,
    message: str,
    author: CommitIdentity,
    at: datetime,
) -> str:
    """Commit files on a new branch, and return the full hex id of the commit.

    Args:
        repository: Where the branch is made.
        branch: Name without `refs/heads/`; there must not be such a branch.
        files: Root-relative POSIX path to content, UTF-8, `None` for a file that goes.
        base: Full hex id of the commit that the branch begins at.
        message: Subject, and a body if there is one.
        author: Author and committer.
        at: Aware moment of the commit.

    Raises:
        UsageError: The name is not fit, or taken.
        GitError: Git failed.
    """
    taken = UsageError(f'branch "{branch}" already exists; give a new name')
    if repository.find(check_branch(branch)) is not None:
        raise taken
    changes = [
        DeleteFile(path) if content is None else WriteFile(path, content.decode("utf-8"))
        for path, content in files.items()
    ]
    with repository.held as held:
        commit = write_commit(
            repository, changes, parent=base, message=message, at=at, author=author
        )
        try:
            advance(repository, branch, old=None, new=commit, reason="branch: made by reconciler")
        except LostRace:
            raise taken from None
        held.put_again()
    return commit


def git_setting(repository: Repository, key: str, *, settings: str, home: Path) -> str:
    """Return a setting of the repository or of its user; `""` if neither has it.

    Args:
        repository: The repository; its own settings win.
        key: Such as `user.name`.
        settings: The user's settings file; there may be none.
        home: What `~` stands for in it.
    """
    variables = {"GIT_CONFIG_GLOBAL": settings, "HOME": str(home)}
    finished = repository.git.having(variables=variables).run("config", "--get", key)
    return finished.stdout.decode(errors="replace").rstrip("\n") if finished.code == 0 else ""


def _place(directory: Path, path: str) -> Path:
    """Return where a file goes, its folders made."""
    place = directory.resolve()
    *folders, name = check_path(path).split("/")
    for folder in folders:
        place /= folder
        mode = mode_at(place)
        if mode is None:
            place.mkdir()
        elif not stat.S_ISDIR(mode):
            raise UsageError(f'"{place}" is not a folder, and "{path}" goes below it')
    mode = mode_at(place / name)
    if mode is not None and not stat.S_ISREG(mode):
        raise UsageError(f'"{place / name}" is not a plain file; move it away')
    return place / name


def _drafts(directory: Path) -> Path:
    """Return where files are written before they have their places: where git never looks.

    What whoever was killed left there goes.
    """
    folder = Repository.open(directory).git_dir / DRAFTS
    folder.mkdir(exist_ok=True)
    for left in folder.iterdir():
        if not _is_alive(left.name.partition(".")[0]):
            left.unlink(missing_ok=True)
    return folder


def _is_alive(process: str) -> bool:
    """Return whether the process of a draft is at work yet."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def _replace(place: Path, content: bytes, drafts: Path) -> None:
    """Put the new content in the place of the old; the file's permissions stay."""
    mode = mode_at(place)
    descriptor, name = tempfile.mkstemp(prefix=f"{os.getpid()}.", dir=drafts)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(NEW_FILE_MODE if mode is None else stat.S_IMODE(mode))
        try:
            Path(name).replace(place)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            place.write_bytes(content)  # the repository is on another file system
    finally:
        Path(name).unlink(missing_ok=True)
