"""A throw-away object database on top of a repository: merges are tried there, and nothing stays.

It has none of the repository's configuration, attributes, hooks and references, so no merge driver
or filter that these could name takes part, and not even a loose object is left behind.

The files of a checkout as they are, committed or not, become a commit there that no branch points
to. We read them ourselves: no filter takes part, no symbolic link is followed, and what git ignores
is left out, as `git add` would. The index and the work tree stay as they are.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.errors import ShellError, UsageError
from reconciler.manifests.paths import blob_id, is_manifest_name, shown_path
from reconciler.manifests.text.raw import MAX_READ_BYTES
from reconciler.model.records import replace
from reconciler.model.text import enumerated
from reconciler.shell.git.checkout.checkouts import LEFT_OUT, open_checkout
from reconciler.shell.git.command import Git, GitError, one_line
from reconciler.shell.git.history import is_ancestor
from reconciler.shell.git.objects import list_files
from reconciler.shell.git.repository import COMMIT_ID, Repository, check_commit

MERGED, CONFLICT, USAGE = 0, 1, 129  # what git merge-tree answers
MOST_NAMED = 5
TAKEN = "refs/reconciler/taken"


class MergeConflict(ShellError):
    """Two branches changed the same lines; a person must merge them."""


@contextlib.contextmanager
def scratch(repository: Repository) -> Iterator[Repository]:
    """Yield a repository that reads what `repository` has, and keeps what is written to itself."""
    with tempfile.TemporaryDirectory(prefix="reconciler-") as name:
        folder = Path(name) / "scratch.git"
        variables = repository.git.variables
        Git(folder=Path(name), variables=variables).output(
            "init", "--quiet", "--bare", "--template=",
            f"--object-format={repository.object_format}", str(folder),
        )  # fmt: skip
        alternates = folder / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_bytes(bytes(repository.common_dir / "objects") + b"\n")
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(repository.common_dir / "shallow", folder / "shallow")
        settings = repository.git.partial_settings()
        git = Git(
            folder=folder,
            options=(f"--git-dir={folder}",),
            variables=variables,
            settings=settings,
        )
        yield replace(repository, git=git, git_dir=folder, common_dir=folder)


def merge_commits(repository: Repository, ours: str, theirs: str) -> str:
    """Return the commit that merging two gives, conflict-free and without any checkout.

    It has both of them before it, as the commit of a person's merge would; its time is always the
    same.

    Args:
        repository: A scratch repository: objects are written.
        ours: Full hex id of the commit that is merged into.
        theirs: Full hex id of the commit to merge.

    Raises:
        MergeConflict: Both changed the same lines.
        UsageError: They have no common ancestor.
        GitError: Git is too old, or failed.
    """
    if is_ancestor(repository, ours, theirs):
        return theirs
    if is_ancestor(repository, theirs, ours):
        return ours
    arguments = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")
    finished = repository.git.run(*arguments, check_commit(ours), check_commit(theirs))
    tree, *paths = finished.stdout.decode(errors="surrogateescape").split("\0")[:-1] or [""]
    if finished.code == MERGED and COMMIT_ID.fullmatch(tree):
        who = "reconciler <reconciler@localhost> 0 +0000"
        parents = f"parent {ours}\nparent {theirs}\n"
        body = f"tree {tree}\n{parents}author {who}\ncommitter {who}\n\nMerge\n"
        written = repository.git.output(
            "hash-object", "-t", "commit", "-w", "--stdin", stdin=body.encode()
        )
        return written.decode().strip()
    if finished.code == CONFLICT and paths:
        named = enumerated(dict.fromkeys(paths), MOST_NAMED)
        raise MergeConflict(
            f"the branches cannot be merged, both changed {named}; "
            "merge the base into the branch first"
        )
    if finished.code == USAGE:
        raise GitError("merging branches that have diverged needs git 2.38 or later")
    if "unrelated histories" in finished.stderr:
        raise UsageError(
            "the two have no commit in common in this clone; fetch more history "
            "(git fetch --unshallow), or name another --base"
        )
    if partial := repository.git.partial(finished.stderr):
        raise partial
    raise GitError(f"git merge-tree: {one_line(finished.stderr) or finished.code}")


def commit_files(
    repository: Repository, parent: str, files: Mapping[str, bytes | None], *, message: str
) -> str:
    """Return a commit on top of `parent` with other files; no branch moves.

    Args:
        repository: A scratch repository.
        parent: Full hex commit id.
        files: Path relative to the top of the repository to content, `None` for absent.
        message: One line.
    """
    parts = [
        b"feature done\ncommit %s\ncommitter reconciler <reconciler@localhost> 0 +0000\n"
        b"data %d\n%s\nfrom %s\n"
        % (TAKEN.encode(), len(message.encode()), message.encode(), check_commit(parent).encode())
    ]
    for path, content in files.items():
        name = _quoted(path.encode(errors="surrogateescape"))
        if content is None:
            parts.append(b"D %s\n" % name)
            continue
        parts.append(b"M 100644 inline %s\ndata %d\n" % (name, len(content)))
        parts += [content, b"\n"]
    parts.append(b"\ndone\n")
    with repository.git.stream("fast-import", "--quiet", "--force", stdin=parts) as output:
        output.read()
    return repository.git.line("rev-parse", "--verify", f"{TAKEN}^{{commit}}")


def _quoted(path: bytes) -> bytes:
    """Return a path as fast-import reads any path: every odd byte as an octal escape."""
    return b'"%s"' % b"".join(
        bytes((byte,)) if 32 <= byte < 127 and byte not in b'"\\' else b"\\%03o" % byte
        for byte in path
    )


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
    listed = _listed(repository, top)
    names = {path for path in listed if _counts(path, repository.prefix)}
    files: dict[str, bytes | None] = {}
    for path in sorted(names | committed.keys()):
        content = _read(top, path)
        entry = committed.get(path)
        if content is None:
            if entry is not None and entry.is_file and listed.get(path) != LEFT_OUT:
                files[path] = None
        elif entry is None or not entry.is_file or entry.blob != blob_id(content, like=head):
            files[path] = content
    if not files:
        return head, 0
    return commit_files(into, head, files, message="Files of the work tree"), len(files)


def uncommitted_manifests(repository: Repository, head: str) -> tuple[str, ...]:
    """Return the manifests of a checkout that a commit does not have, sorted; none of a bare one.

    Those that it has otherwise are left out: a pass decides from them as they are committed.
    """
    top = repository.work_tree
    if top is None:
        return ()
    committed = list_files(repository, head)
    listed = (path for path in _listed(repository, top) if _counts(path, repository.prefix))
    return tuple(sorted(path for path in listed if path not in committed))


def _counts(path: str, prefix: str) -> bool:
    """Return whether a file may be a manifest below the root."""
    return is_manifest_name(shown_path(path)) and (not prefix or path.startswith(f"{prefix}/"))


def _listed(repository: Repository, top: Path) -> dict[str, str]:
    """Return the files that git knows or would add, relative to the top, each with git's mark."""
    git = open_checkout(repository, top).git
    listed = git.output("ls-files", "-v", "-z", "--cached", "--others", "--exclude-standard")
    records = listed.decode(errors="surrogateescape").split("\0")[:-1]
    return {path: mark for mark, _, path in (record.partition(" ") for record in records)}


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
