"""Names of revisions and ranges as people give them, and what lies between commits."""

from collections.abc import Iterable, Sequence

from reconciler.audit.short_id import short_id
from reconciler.errors import UsageError
from reconciler.model.message_text import shown
from reconciler.shell.git.errors import HistoryMissing
from reconciler.shell.git.history import CommitRecord, read_commits
from reconciler.shell.git.objects import ChangedFile, TreeEntry, list_files
from reconciler.shell.git.repository import COMMIT_ID, Repository, check_commit

NOTHING = "000000"
COMMITS_AT_ONCE = 1000


def resolve_revision(repository: Repository, text: str) -> str:
    """Return the full hex id of the commit that a person names: a branch, a tag, HEAD~2, an id.

    Raises:
        UsageError: There is no such commit.
    """
    if text.isprintable() and text.strip():
        finished = repository.git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}"
        )
        found = finished.stdout.decode(errors="replace").strip()
        if finished.code == 0 and COMMIT_ID.fullmatch(found):
            return found
    near = repository.branches()[:5]
    known = f"; its branches are {', '.join(near)}" if near else ", it has no commit yet"
    raise UsageError(f"there is no revision {shown(text)} in this repository{known}")


def list_range(
    repository: Repository, head: str, *, but: Sequence[str] = (), paths: Sequence[str] = ()
) -> list[str]:
    """Return the commits that lead to `head` along first parents, the newest first.

    Args:
        repository: Where to read.
        head: Full hex commit id.
        but: Commits that they must not be, nor ancestors of.
        paths: Only commits that changed something there, relative to the top; none for all.
    """
    excluded = [f"^{check_commit(one)}" for one in but]
    listed = repository.git.line(
        "rev-list", "--first-parent", check_commit(head), *excluded, "--", *paths
    )
    return listed.split()


def list_brought(
    repository: Repository, merge: str, parent: str, *, paths: Sequence[str], most: int
) -> list[str]:
    """Return the commits that a merge brought and that changed some files, the oldest first.

    Args:
        repository: Where to read.
        merge: Full hex id of the merge.
        parent: Full hex id of its first parent.
        paths: Relative to the top.
        most: How many at most, the newest.
    """
    listed = repository.git.line(
        "rev-list", "--no-merges", "--reverse", f"--max-count={most}", check_commit(merge),
        f"^{check_commit(parent)}", "--", *paths,
    )  # fmt: skip
    return listed.split()


def check_whole(repository: Repository, revisions: Iterable[str]) -> None:
    """Refuse a range that the end of a shallow clone cuts off, or that a partial one lacks.

    Raises:
        HistoryMissing: One of the commits has parents, or files, that were not fetched.
    """
    revisions = list(revisions)
    _check_files(repository, revisions)
    ends = cut_off(repository)
    near = [revision for revision in revisions if revision in ends] if ends else []
    cut = next((c.revision for c in read_commits(repository, near) if c.parents), None)
    if cut is not None:
        raise HistoryMissing(
            f"this clone is shallow, its history ends at {short_id(cut)}; fetch the rest with "
            "git fetch --unshallow, or ask about later commits only"
        )


def _check_files(repository: Repository, revisions: Sequence[str]) -> None:
    """Refuse commits of a partial clone of which something was left out."""
    config = repository.common_dir / "config"
    said = config.read_text("utf-8", "replace") if config.is_file() else ""
    if "partialclonefilter" not in said.lower():  # or else git is asked for nothing
        return
    arguments = ("rev-list", "--objects", "--missing=print", "--no-walk=unsorted", "--stdin")
    for start in range(0, len(revisions), COMMITS_AT_ONCE):
        some = revisions[start : start + COMMITS_AT_ONCE]
        asked = "".join(f"{one}\n" for one in some).encode()
        listed = repository.git.run(*arguments, stdin=asked)
        lacks = listed.code != 0 or listed.stdout.startswith(b"?") or b"\n?" in listed.stdout
        if lacks and (partial := repository.git.partial("missing")):
            raise partial


def cut_off(repository: Repository) -> frozenset[str]:
    """Return the commits at which a shallow clone ends: what came before was not fetched."""
    marks = repository.common_dir / "shallow"
    return frozenset(marks.read_text(encoding="ascii").split() if marks.is_file() else ())


def is_ancestor(repository: Repository, ancestor: str, revision: str) -> bool:
    """Return whether a commit exists and is the other one or one of its ancestors."""
    arguments = ("--is-ancestor", check_commit(ancestor), check_commit(revision))
    return repository.git.run("merge-base", *arguments).code == 0


def check_forward(repository: Repository, old: str | None, new: str) -> None:
    """Check that moving a branch removes nothing: the old commit comes before the new one.

    Raises:
        ValueError: It does not.
    """
    if old is None:
        return
    parents = [commit.parents for commit in read_commits(repository, [check_commit(new)])]
    if any(check_commit(old) in of_one for of_one in parents):
        return
    if not is_ancestor(repository, old, new):
        raise ValueError(f"{new} does not come after {old}")


def changes_of(
    repository: Repository, commits: Sequence[CommitRecord]
) -> dict[str, list[ChangedFile]]:
    """Return what each commit changed against its first parent, by one command for all of them.

    Returns:
        Commit to its changes, with paths relative to the top of the repository; everything is new
        in a root commit, and a commit that changed nothing may be absent.
    """
    pairs = [(commit.parents[0], commit.revision) for commit in commits if commit.parents]
    found = changes_between(repository, pairs)
    for commit in commits:
        if not commit.parents:
            files = list_files(repository, commit.revision)
            found[commit.revision] = [ChangedFile(path, None, one) for path, one in files.items()]
    return found


def changes_between(
    repository: Repository, pairs: Iterable[tuple[str, str]]
) -> dict[str, list[ChangedFile]]:
    """Return what each second commit has that the first has not, by one command for all of them.

    Returns:
        Second commit to changes, with paths relative to the top of the repository; one without
        changes may be absent.
    """
    asked = "".join(f"{new} {old}\n" for old, new in pairs)
    listed = repository.git.output(
        "diff-tree", "--stdin", "-r", "--raw", "-z", "--no-renames", "--no-abbrev",
        "--no-ext-diff", stdin=asked.encode(),
    )  # fmt: skip
    found: dict[str, list[ChangedFile]] = {}
    fields = iter(listed.decode(errors="surrogateescape").split("\0")[:-1])
    changes: list[ChangedFile] = []
    for field in fields:
        if not field.startswith(":"):
            changes = found.setdefault(field.strip(), [])
            continue
        modes = field.removeprefix(":").split(" ")
        before, after = _entry(modes[0], modes[2]), _entry(modes[1], modes[3])
        changes.append(ChangedFile(next(fields), before, after))
    return found


def _entry(mode: str, blob: str) -> TreeEntry | None:
    return None if mode == NOTHING else TreeEntry(mode, blob)
