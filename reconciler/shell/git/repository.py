"""A repository on this machine: where its parts are, and what its branches point to."""

import contextlib
import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from reconciler.errors import UsageError
from reconciler.model.message_text import shown
from reconciler.shell.git.command import Git
from reconciler.shell.git.errors import GitError, LostObjects
from reconciler.shell.git.held_objects import HeldObjects
from reconciler.shell.git.kept import KeptProcesses
from reconciler.shell.processes.disk import user_named
from reconciler.shell.root import is_bare, is_top

EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Object format to the id of the tree without files, which every git knows."""
COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")  # SHA-1 or SHA-256

UNFIT = re.compile(
    r"""
    ^[-./] | [./]$ | /\. | // | \.\. | @\{ | ^@$ | ^HEAD$ | ^$  # positions and pairs
    | [\x00-\x20\x7f~^:?*\[\\]                                  # characters
    | \.lock(?:/|$)                                             # names of lock files
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository that was found, and looked at once.

    Attributes:
        git: Runs commands on the object database and the references; knows no work tree.
        git_dir: What belongs to this checkout: `HEAD` and the index.
        common_dir: What all checkouts share: objects, references, configuration.
        work_tree: Top folder of the checkout, `None` for a bare repository.
        prefix: The folder that was opened, relative to the top, POSIX; `""` for the top itself.
        object_format: `sha1` or `sha256`.
        kept: Git processes that stay open for the next question.
        held: Objects that were written and that no reference names yet.
    """

    git: Git
    git_dir: Path
    common_dir: Path
    work_tree: Path | None
    prefix: str
    object_format: str
    kept: KeptProcesses = field(default_factory=KeptProcesses, compare=False, repr=False)
    held: HeldObjects = field(default_factory=HeldObjects, compare=False, repr=False)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        variables: Mapping[str, str] | None = None,
        trust_owner: bool = False,
    ) -> "Repository":
        """Find the repository that `path` is in.

        Args:
            path: A checkout, a folder in one, a linked worktree, or a bare repository itself.
            variables: Environment that the operator gives to git.
            trust_owner: Accept a repository that belongs to another user.

        Raises:
            UsageError: There is no repository, or it belongs to another user.
            GitError: Git cannot read what was found.
        """
        folder = path.resolve()
        if not folder.is_dir():
            raise UsageError(f'"{path}" is not a folder; name one inside a git repository')
        top, named = _find(path, folder)
        if not trust_owner:
            _check_owner(named)
        asking = Git(folder=folder, options=(f"--git-dir={named}",), variables=variables or {})
        facts = asking.line(
            "rev-parse",
            "--path-format=absolute",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-object-format",
        )
        git_dir, common_dir, object_format = facts.split("\n")
        return cls(
            git=Git(
                folder=Path(git_dir), options=(f"--git-dir={git_dir}",), variables=variables or {}
            ),
            git_dir=Path(git_dir),
            common_dir=Path(common_dir),
            work_tree=top,
            prefix="" if top is None or top == folder else folder.relative_to(top).as_posix(),
            object_format=object_format,
        )

    @property
    def folder(self) -> Path:
        """The folder that was opened, or the bare repository."""
        return self.git_dir if self.work_tree is None else self.work_tree / self.prefix

    @property
    def top(self) -> Path:
        """The top of the checkout, or the bare repository."""
        return self.git_dir if self.work_tree is None else self.work_tree

    def below(self, folder: str) -> "Repository":
        """Return the same repository, of which only a folder matters.

        Its questions have git processes of their own. The folder need not be there yet.
        """
        prefix = self.from_top(folder)
        return replace(self, prefix=prefix, kept=KeptProcesses(), held=HeldObjects())

    def from_top(self, path: str) -> str:
        """Return a path below the folder that was opened as one from the top, `""` is the folder.

        It is what git takes after `--`.
        """
        return f"{self.prefix}/{path}".strip("/") if self.prefix else path

    def head_branch(self) -> str:
        """Return the name of the branch that HEAD names, checked out or bare.

        Raises:
            UsageError: HEAD is detached, so a branch must be named.
        """
        finished = self.git.run("symbolic-ref", "--quiet", "HEAD")
        name = finished.stdout.decode(errors="surrogateescape").removesuffix("\n")
        if finished.code != 0 or not name.startswith("refs/heads/"):
            raise UsageError(
                "no branch is checked out (HEAD is detached); name one with --branch, or check "
                "one out with git switch"
            )
        return check_branch(name.removeprefix("refs/heads/"))

    def head(self) -> str:
        """Return the full hex id of the commit that HEAD names, by a branch or by itself.

        Raises:
            UsageError: The branch is not there, or has no commit yet.
        """
        if self.git.run("symbolic-ref", "--quiet", "HEAD").code == 0:
            return self.resolve(self.head_branch())
        return self.git.line("rev-parse", "--verify", "HEAD^{commit}")

    def find(self, branch: str) -> str | None:
        """Return the full hex id of the commit a branch points to, `None` if there is no branch."""
        return self.find_reference(f"refs/heads/{check_branch(branch)}")

    def find_fetched(self, branch: str) -> str | None:
        """Return the commit of a branch here, or else of one of its origin as it was fetched.

        Returns:
            Its full hex id; `None` if there is no such branch, as of a name that none can have.
        """
        with contextlib.suppress(UsageError):
            return self.find(branch) or self.find_reference(f"refs/remotes/origin/{branch}")
        return None

    def find_reference(self, reference: str) -> str | None:
        """Return the id of the commit that a full reference name points to, `None` if absent.

        A process that is kept answers; why it has no answer, `git rev-parse` tells.
        """
        question = f"{reference}^{{commit}}\n".encode(errors="surrogateescape")
        with (
            contextlib.suppress(GitError),
            self.kept.lent(self.git, "cat-file", "--batch-check") as git,
        ):
            for line, _ in git.answers([question]):
                answer = line.decode(errors="replace").split()
                if answer[1:2] == ["commit"] and COMMIT_ID.fullmatch(answer[0]):
                    return answer[0]
        finished = self.git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}"
        )
        found = finished.stdout.decode().strip()
        if finished.code == 0 and COMMIT_ID.fullmatch(found):
            return found
        if one := finished.stderr.strip():
            raise GitError(f"git cannot read {reference}: {one}")
        if self._is_named(reference):
            raise LostObjects(f"{reference} names a commit that git has no more", self.common_dir)
        return None

    def _is_named(self, reference: str) -> bool:
        """Return whether a reference that leads to no commit is there all the same."""
        try:
            if (self.common_dir / reference).is_file():
                return True
            packed = (self.common_dir / "packed-refs").read_bytes().splitlines()
        except OSError:
            return False
        name = reference.encode(errors="surrogateescape")
        return any(line.endswith(b" " + name) for line in packed)

    def resolve(self, branch: str) -> str:
        """Return the full hex id of the commit that a branch points to.

        Raises:
            UsageError: There is no such branch, or it has no commit yet; names near it are listed.
        """
        found = self.find(branch)
        if found is not None:
            return found
        names = self.branches()
        if not names:
            raise UsageError(f'branch "{branch}" has no commit yet; commit something to it first')
        near = difflib.get_close_matches(branch, names, n=3) or names[:3]
        raise UsageError(
            f'there is no branch "{branch}"; near it: {", ".join(near)}',
        )

    def branches(self) -> list[str]:
        """Return the names of all branches, sorted."""
        listed = self.git.line("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/")
        return sorted(listed.split("\n")) if listed else []


def check_branch(name: str) -> str:
    """Return `name` if git accepts it for a branch.

    Source: ours, the rules of git-check-ref-format(1), and no leading dash.

    Raises:
        UsageError: It is not, so it must not come near a command line.

    >>> check_branch("feature/x")
    'feature/x'
    """
    if UNFIT.search(name):
        raise UsageError(
            f"{shown(name)} is no branch name; see git-check-ref-format(1) for the rules"
        )
    return name


def check_commit(revision: str) -> str:
    """Return `revision` if it is a full hex commit id.

    Raises:
        ValueError: It is not; resolve names first.
    """
    if not COMMIT_ID.fullmatch(revision):
        raise ValueError(f"{revision!r} is not a full commit id")
    return revision


def _find(path: Path, folder: Path) -> tuple[Path | None, Path]:
    """Return the top of the work tree (`None` if bare) and the git folder or file.

    Git's own search is not used, since it honours `core.worktree`, and a bare repository that
    somebody committed below the folder.
    """
    if is_bare(folder):
        return None, folder
    for top in (folder, *folder.parents):
        if is_top(top):
            return top, top / ".git"
    raise UsageError(f'"{path}" is not in a git repository; clone one, or run git init in it')


def _check_owner(named: Path) -> None:
    """Refuse what belongs to another user, as git does: its owner could have prepared it."""
    owner = named.stat().st_uid
    users = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    if owner in users:
        return
    ours = user_named(os.geteuid())
    raise UsageError(
        f'"{named}" belongs to {user_named(owner)}, but this process runs as {ours}; '
        "run it as the owner, change the owner, or trust the owner explicitly"
    )
