"""A person's edit of a file that a pass writes: it stays in the checkout, and is told."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from reconciler.shell.git.checkout.checkouts import open_checkout
from reconciler.shell.git.repository import Repository

IN_PLACE = " ?"  # git-status(1): nothing is staged
NEW = "?A"


@dataclass(frozen=True, slots=True)
class KeptEdit:
    """A file of a checkout that is not what its branch has, since a person edited it.

    Attributes:
        folder: Top of the checkout.
        path: Relative to it, POSIX.
        staged: Whether the edit is staged, so that the next `git commit` takes it.
        gone: Whether the branch has no such file.
    """

    folder: Path
    path: str
    staged: bool = False
    gone: bool = False

    @property
    def command(self) -> str:
        """What a person runs to give the edit up."""
        path = shlex.quote(self.path)
        if not self.gone:
            return f"git -C {shlex.quote(str(self.folder))} checkout HEAD -- {path}"
        if self.staged:
            return f"git -C {shlex.quote(str(self.folder))} rm --force -- {path}"
        return f"rm {shlex.quote(str(self.folder / self.path))}"

    def __str__(self) -> str:
        state = "a staged edit" if self.staged else "an edit"
        return (
            f'"{self.path}" keeps {state} of yours in {self.folder}; commit it to have it decided '
            f"from, or take what was decided: {self.command}"
        )


def kept_edits(repository: Repository, root: str) -> tuple[KeptEdit, ...]:
    """Return the files of this checkout below a folder that are not as its branch has them.

    Args:
        repository: Opened in the checkout; a bare one has no edits.
        root: The folder, relative to the one that was opened.

    Raises:
        GitError: Git failed.
    """
    if repository.work_tree is None:
        return ()
    checkout = open_checkout(repository, repository.work_tree)
    listed = checkout.git.output(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=all", "--", repository.from_top(root),
    )  # fmt: skip
    records = listed.decode(errors="surrogateescape").split("\0")[:-1]
    return tuple(
        KeptEdit(
            checkout.folder, record[3:], staged=record[0] not in IN_PLACE, gone=record[0] in NEW
        )
        for record in records
    )
