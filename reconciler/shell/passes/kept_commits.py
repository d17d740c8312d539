"""Commits of branches that a daemon keeps for itself, in references outside of every branch.

Each root has its own: what was accepted last of a branch, and the first commit that waits there.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum

from reconciler.shell.git.repository import Repository, check_branch

OURS = "refs/reconciler/"
ACCEPTED = f"{OURS}accepted/"
"""Where the commit is kept that was accepted last for the top of a repository, by branch."""


DIGITS = 16


class Kept(StrEnum):
    """What is kept of a branch."""

    ACCEPTED = "accepted"
    WAITING = "waiting"


def reference_of(repository: Repository, kept: Kept, branch: str) -> str:
    """Return where a commit of a branch is kept for a root."""
    return f"{_folder(repository, kept)}{check_branch(branch)}"


def list_kept(repository: Repository, kept: Kept) -> Mapping[str, str]:
    """Return the commits that are kept for a root, by the name of the branch."""
    folder = _folder(repository, kept)
    listed = repository.git.output("for-each-ref", "--format=%(objectname) %(refname)", folder)
    lines = listed.decode(errors="surrogateescape").splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return {name.removeprefix(folder): commit for commit, name in pairs}


def _folder(repository: Repository, kept: Kept) -> str:
    """Return the folder of the references of a root: the top or, by a digest, a folder."""
    if not repository.prefix:
        return f"{OURS}{kept}/"
    root = repository.prefix.encode(errors="surrogateescape")
    return f"{OURS}{kept}-below/{hashlib.sha256(root).hexdigest()[:DIGITS]}/"
