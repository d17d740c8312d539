"""Mends an index into which a git command has written back what a pass had changed.

A `git commit` that has read the index before a pass locked it fails at `HEAD`, which has moved, and
still leaves its index of before; git's own merge has the same hole. The next commit would take the
decision back in that person's name. So where the index is another one than the step left, while the
branch is where the step brought it, each entry that is as it was before the step goes on to the
branch's, if the file on disk is the branch's already.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.manifests.paths import blob_id
from reconciler.shell.git.checkout.checkouts import Checkout, find_checkouts
from reconciler.shell.git.checkout.step_files import Missing, content_at
from reconciler.shell.git.errors import CheckoutBusy
from reconciler.shell.git.objects import ChangedFile, changed_files
from reconciler.shell.git.repository import COMMIT_ID, Repository

LEFT = "reconciler-left"
"""In a git folder: from which commit to which the last step went, and the index that it left."""


@dataclass(slots=True, eq=False)
class MendedIndexes:
    """What was mended of checkouts and was told nobody yet; it is changed in place."""

    sentences: list[str] = field(default_factory=list)

    def add(self, sentences: Iterable[str]) -> None:
        """Take note of what was mended."""
        self.sentences.extend(sentences)

    def take(self) -> tuple[str, ...]:
        """Return what was not told yet, once."""
        found = tuple(self.sentences)
        self.sentences.clear()
        return found


def note_index(checkout: Checkout, old: str, new: str) -> None:
    """Note the index that a step has left; nothing breaks where that is lost."""
    (checkout.git_dir / LEFT).write_text(f"{old} {new} {_sign(checkout.git_dir)}\n")


def mend_indexes(repository: Repository, branch: str) -> tuple[str, ...]:
    """Mend the indexes of the checkouts of a branch; return what was done, a sentence for each.

    Where git is at work it is left for the next look.

    Args:
        repository: Where the branch is.
        branch: Name without `refs/heads/`.
    """
    folders = [repository.git_dir, repository.common_dir, *_linked(repository)]
    if not any(_may_differ(repository, branch, folder) for folder in folders):
        return ()  # the usual case, and it starts no process
    try:
        return tuple(_mended(repository, branch))
    except CheckoutBusy:  # it is being rebased
        return ()


def _mended(repository: Repository, branch: str) -> Iterator[str]:
    for checkout in find_checkouts(repository, branch):
        if not _may_differ(repository, branch, checkout.git_dir):
            continue
        if (checkout.git_dir / "index.lock").exists():
            continue
        old, new, _ = _noted(checkout.git_dir)
        count = _mend(repository, checkout, old, new)
        note_index(checkout, old, new)
        if count:
            paths = f"{count} path{'s' if count != 1 else ''}"
            yield (
                f"{checkout.folder}: a git command that ran beside a pass had put the index back "
                f"for {paths}; it is as the branch again"
            )


def _linked(repository: Repository) -> list[Path]:
    """Return the git folders of linked worktrees."""
    try:
        return sorted((repository.common_dir / "worktrees").iterdir())
    except OSError:
        return []


def _may_differ(repository: Repository, branch: str, git_dir: Path) -> bool:
    """Return whether an index is another than a step left, while its branch is where that was."""
    _, new, sign = _noted(git_dir)
    return bool(new) and sign != _sign(git_dir) and repository.find(branch) == new


def _mend(repository: Repository, checkout: Checkout, old: str, new: str) -> int:
    """Let the entries that are as before a step go on to the branch's; return how many did."""
    listed = checkout.git.run("diff-index", "--cached", "--raw", "-z", "--no-renames", new)
    if listed.code != 0:
        return 0
    staged = dict(_staged(listed.stdout.decode(errors="surrogateescape")))
    if not staged:
        return 0
    changes = [one for one in changed_files(repository, old, new) if one.path in staged]
    wrong = [one for one in changes if _is_put_back(checkout, one, staged[one.path])]
    records = "".join(map(_record, wrong)).encode(errors="surrogateescape")
    if not records:
        return 0
    done = checkout.git.run(
        "update-index", "--add", "--remove", "-z", "--index-info", stdin=records
    )
    checkout.git.run("update-index", "-q", "--refresh")
    return len(wrong) if done.code == 0 else 0


def _staged(raw: str) -> Iterator[tuple[str, str]]:
    """Yield the paths at which the index differs, with the blob that it has, zeros for none."""
    fields = iter(raw.split("\0"))
    for facts in fields:
        if facts:
            yield next(fields), facts.split(" ")[3]


def _is_put_back(checkout: Checkout, change: ChangedFile, staged: str) -> bool:
    """Return whether the index has a path as before the step, and the disk as after it."""
    before = change.before.blob if change.before is not None else "0" * len(staged)
    if staged != before:
        return False
    found, after = content_at(checkout.folder, change.path), change.after
    if after is None:
        return isinstance(found, Missing)
    return isinstance(found, bytes) and blob_id(found, like=after.blob) == after.blob


def _record(change: ChangedFile) -> str:
    after = change.after
    zeros = "0" * len(change.before.blob if change.before is not None else "")
    return f"{after.mode} {after.blob}\t{change.path}\0" if after else f"0 {zeros}\t{change.path}\0"


def _noted(git_dir: Path) -> tuple[str, str, str]:
    """Return what was noted, empty texts if nothing was."""
    try:
        old, new, *sign = (git_dir / LEFT).read_text().split()
    except (OSError, ValueError):
        return "", "", ""
    if COMMIT_ID.fullmatch(old) is None or COMMIT_ID.fullmatch(new) is None:
        return "", "", ""
    return old, new, " ".join(sign)


def _sign(git_dir: Path) -> str:
    """Return what tells an index from one written later."""
    try:
        facts = (git_dir / "index").stat()
    except OSError:
        return "none"
    return f"{facts.st_ino} {facts.st_mtime_ns} {facts.st_size}"
