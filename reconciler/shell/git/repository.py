"""A repository on this machine: where its parts are, and what its branches point to.

Git processes stay open, so that a question costs a line, not a process. Only `git cat-file` is
kept: it locks nothing, runs nothing, and sees what was written since it began, objects and
references alike. It ends with this process, for its input ends, and after some hundred uses: it
keeps every pack open that it has ever seen, those too that were removed since. Beside them the last
answer is kept of questions that always have the same answer.

What the configuration of a repository can contain is read without asking git, and only for whether
a name is missing. What a setting means is for git to say. The identity is that of a commit's
author.
"""

import contextlib
import os
import re
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from reconciler.errors import UsageError
from reconciler.model.records import dataclass, field, replace
from reconciler.model.text import shown
from reconciler.shell.git.command import (
    TERMINATION_SECONDS,
    Finished,
    Git,
    GitError,
    LostObjects,
    ended_after,
    stop,
)
from reconciler.shell.git.held_objects import HeldObjects
from reconciler.shell.processes.limits import user_named
from reconciler.shell.resources import is_bare, is_top

CHUNK_BYTES = 4096  # any pipe takes as much at once, so neither side waits for the other for ever
MOST_USES = 500  # ours: some 50 passes, of which it holds 40 kB each; to start one takes 3 ms
SETTINGS = {"core.warnAmbiguousRefs": "false"}  # nobody reads what it prints beside the answers

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Conversation:
    """One git process that answers line by line, in use by one reader.

    Attributes:
        git: How it was started.
        arguments: Of the command.
        process: The process itself.
        owner: Pid of the process that started it; a fork of that must not use it.
        place: What stood at the git folder then; another repository there needs another process.
        left: How often it may be lent, one number for each time that is left.
    """

    git: Git
    arguments: tuple[str, ...]
    process: "subprocess.Popen[bytes]"
    owner: int
    place: tuple[int, int]
    left: Iterator[int]

    def answers(self, questions: Iterable[bytes]) -> Iterator[tuple[bytes, BinaryIO]]:
        """Ask one question a line, and yield the first line of each answer, in order.

        The caller reads what belongs to an answer beyond that line before it takes the next.

        Raises:
            GitError: Git ended before it had answered.
        """
        output = cast("BinaryIO", self.process.stdout)
        for chunk in _chunks(questions):
            with contextlib.suppress(BrokenPipeError):  # it ended; no answer comes, which tells
                sent = cast("BinaryIO", self.process.stdin)
                sent.write(b"".join(chunk))
                sent.flush()
            for _ in chunk:
                line = output.readline()
                if not line.endswith(b"\n"):
                    raise self.ended()
                yield line, output

    def is_fit(self) -> bool:
        """Return whether it still runs, for this process and on the same repository."""
        return (
            self.owner == os.getpid()
            and self.place == _identity(self.git.folder)
            and self.process.poll() is None
            and next(self.left, None) is not None
        )

    def end(self) -> None:
        """End the process; it holds nothing that would have to be put away."""
        if self.owner != os.getpid():
            return
        stop(self.process)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):  # what was not sent is of no use
                cast("BinaryIO", pipe).close()

    def ended(self) -> GitError:
        """Return what is to be raised where it ended in the middle of an answer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(TERMINATION_SECONDS)
        stop(self.process)
        said = cast("BinaryIO", self.process.stderr).read().decode(errors="replace")
        finished = Finished(self.process.returncode, b"", self.git.mask(said))
        return self.git.error(self.arguments, finished)


class KeptProcesses:
    """The processes of one repository that wait for a question, at most one of each kind."""

    def __init__(self) -> None:
        """Begin without any; each is started when it is first needed."""
        self._idle: dict[Key, Conversation] = {}
        self._last: tuple[tuple[str, ...], bytes] = ((), b"")
        weakref.finalize(self, _end_all, self._idle)

    def lasting(self, git: Git, *arguments: str) -> bytes:
        """Return the output of a command that says the same whenever it is asked.

        Args:
            git: How to run it.
            arguments: The command; what it depends on is named by full ids.

        Raises:
            GitError: It failed.
        """
        asked, answer = self._last
        if asked != arguments:
            answer = git.output(*arguments)
            self._last = (arguments, answer)
        return answer

    @contextlib.contextmanager
    def lent(self, git: Git, *arguments: str) -> Iterator[Conversation]:
        """Lend a process for the length of a block, a waiting one if there is one.

        It waits for others afterwards, unless the block was left by an exception or early: then
        there may be answers that nobody read.

        Raises:
            GitError: The time limit of `git` passed meanwhile.
        """
        key = (arguments, git.folder, git.options, *sorted(git.variables.items()))
        kept = self._idle.pop(key, None)
        if kept is None or not kept.is_fit():
            if kept is not None:
                kept.end()
            kept = _start(git, arguments)
        with ended_after(git.timeout_seconds, kept.process) as expired:
            try:
                yield kept
            except BaseException:
                kept.end()
                if expired.is_set():
                    raise git.too_slow(arguments) from None
                raise
        if self._idle.setdefault(key, kept) is not kept:
            kept.end()


def _start(git: Git, arguments: tuple[str, ...]) -> Conversation:
    """Start a process; it inherits no lock, since it changes nothing."""
    reading = replace(git.having(settings=SETTINGS), inherited=(), processor_seconds=None)
    return Conversation(
        git=git,
        arguments=arguments,
        process=reading.start(arguments),
        owner=os.getpid(),
        place=_identity(git.folder),
        left=iter(range(1, MOST_USES)),
    )


def _identity(folder: Path) -> tuple[int, int]:
    """Return what stands at a place now; zeros for nothing."""
    try:
        facts = folder.stat()
    except OSError:
        return (0, 0)
    return (facts.st_dev, facts.st_ino)


def _chunks(questions: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the questions in groups that a pipe takes at once; a longer one is alone."""
    chunk: list[bytes] = []
    size = 0
    for question in questions:
        if chunk and size + len(question) > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(question)
        size += len(question)
    if chunk:
        yield chunk


def _end_all(idle: dict[Key, Conversation]) -> None:
    for kept in idle.values():
        kept.end()


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
        return _branch_of(self.head_reference() or "")

    def head_reference(self) -> str | None:
        """Return the full name of the reference that HEAD names, `None` if it names a commit."""
        finished = self.git.run("symbolic-ref", "--quiet", "HEAD")
        name = finished.stdout.decode(errors="surrogateescape").removesuffix("\n")
        return name if finished.code == 0 else None

    def head(self) -> str:
        """Return the full hex id of the commit that HEAD names, by a branch or by itself.

        Raises:
            UsageError: The branch is not there, or has no commit yet.
        """
        reference = self.head_reference()
        if reference is not None:
            return self.resolve(_branch_of(reference))
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

    def is_only_fetched(self, branch: str) -> bool:
        """Return whether a branch is not here, but is one of the origin as it was fetched."""
        with contextlib.suppress(UsageError):
            return self.find(branch) is None and self.find_fetched(branch) is not None
        return False

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
        revision = finished.stdout.decode().strip()
        if finished.code == 0 and COMMIT_ID.fullmatch(revision):
            return revision
        if said := finished.stderr.strip():
            raise GitError(f"git cannot read {reference}: {said}")
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
        revision = self.find(branch)
        if revision is not None:
            return revision
        from difflib import get_close_matches  # noqa: PLC0415  # only for what is missing

        names = self.branches()
        if not names:
            raise UsageError(f'branch "{branch}" has no commit yet; commit something to it first')
        near = get_close_matches(branch, names, n=3) or names[:3]
        raise UsageError(
            f'there is no branch "{branch}"; near it: {", ".join(near)}',
        )

    def branches(self) -> list[str]:
        """Return the names of all branches, sorted."""
        listed = self.git.line("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/")
        return sorted(listed.split("\n")) if listed else []


def _branch_of(reference: str) -> str:
    """Return the branch that HEAD names by a reference.

    Raises:
        UsageError: It is none, so a branch must be named.
    """
    if not reference.startswith("refs/heads/"):
        raise UsageError(
            "no branch is checked out (HEAD is detached); name one with --branch, or check "
            "one out with git switch"
        )
    return check_branch(reference.removeprefix("refs/heads/"))


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


@dataclass(frozen=True, slots=True)
class CommitIdentity:
    """Name and address of an author, as git shows them."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


def check_identity(identity: CommitIdentity) -> CommitIdentity:
    """Return `identity` if git can store it as it is.

    Raises:
        ValueError: A part is empty, or has an angle bracket or a control character.
    """
    for part in (identity.name, identity.email):
        if not part.strip() or any(char in "<>" or not char.isprintable() for char in part):
            raise ValueError(f"{part!r} must be printable text without angle brackets")
    return identity


OTHER_FILES = (b"include", b"worktreeconfig")  # what lets settings stand in a file beside it


def may_configure(repository: Repository, word: str) -> bool:
    """Return whether a setting with this word in its name may be set; false is certain.

    Git has no escapes in names of sections and keys, and reads them in either case. So where the
    word is not in the file, and nothing refers to another file, no such setting is in force.

    Args:
        repository: Whose configuration is meant.
        word: Of the section or the key, in lower case, such as `filter`.
    """
    if any(name.startswith("GIT_CONFIG") for name in repository.git.variables):
        return True
    try:
        text = (repository.common_dir / "config").read_bytes().lower()
    except OSError:
        return True
    return any(sign in text for sign in (word.encode(), *OTHER_FILES))
