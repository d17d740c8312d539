"""The files of a checkout as they are, committed or not, as a commit that no branch points to.

They are read by us: no filter takes part, no symbolic link is followed, and what git ignores is
left out, as `git add` would. The index and the work tree stay as they are.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from reconciler.errors import UsageError
from reconciler.manifests.file_names import is_manifest_name, shown_path
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.limits import MAX_READ_BYTES
from reconciler.shell.git.checkout.checkouts import open_checkout
from reconciler.shell.git.objects import list_files
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.scratch import commit_files


def take_files(repository: Repository, into: Repository, head: str) -> tuple[str, int]:
    """Return a commit of the manifests of a checkout on top of `head`, and how many files differ.

    Args:
        repository: A checkout.
        into: Where the commit is written: a scratch repository on top of it.
        head: Full hex id of the commit that is checked out.

    Returns:
        `head` itself if nothing differs.

    Raises:
        UsageError: The repository is bare.
    """
    top = repository.work_tree
    if top is None:
        raise UsageError("this repository has no work tree; name a revision with --head")
    committed = {
        path: entry
        for path, entry in list_files(repository, head).items()
        if _counts(path, repository.prefix)
    }
    names = {path for path in _listed(repository, top) if _counts(path, repository.prefix)}
    files: dict[str, bytes | None] = {}
    for path in sorted(names | committed.keys()):
        content = _read(top, path)
        entry = committed.get(path)
        if content is None:
            if entry is not None and entry.is_file:
                files[path] = None
        elif entry is None or not entry.is_file or entry.blob != blob_id(content, like=head):
            files[path] = content
    if not files:
        return head, 0
    return commit_files(into, head, files, message="Files of the work tree"), len(files)


def _counts(path: str, prefix: str) -> bool:
    """Return whether a file may be a manifest below the root."""
    return is_manifest_name(shown_path(path)) and (not prefix or path.startswith(f"{prefix}/"))


def _listed(repository: Repository, top: Path) -> Iterable[str]:
    """Return the files that git knows or would add, relative to the top."""
    git = open_checkout(repository, top).git
    listed = git.output("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return listed.decode(errors="surrogateescape").split("\0")[:-1]


def _read(top: Path, path: str) -> bytes | None:
    """Return the content of a plain file, `None` if there is none; no link is followed."""
    place = top
    *folders, name = path.split("/")
    try:
        for folder in folders:
            place /= folder
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return None
        descriptor = os.open(place / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(MAX_READ_BYTES + 1)
