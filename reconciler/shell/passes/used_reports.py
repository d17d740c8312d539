"""Reports that decisions read, kept for as long as the decisions, and a branch of reports cut.

On a branch of reports every commit has all that clusters report, so nothing but the newest one
counts, and the branch may be cut: a commit without parents takes the place of all of it. What
decisions were computed from must stay all the same. So with `feedback.keepUsed` a pass that decides
writes a commit onto the branch `<feedback.branch>-used`: its parent is the one before, and its
files are exactly those that were read. Record and trailer of the decision name that commit, which
is pushed before the decision is. The same files are not written twice.

A cut is known by its form: a root that names the head which it replaces, and counts the cuts. Where
keys are checked it must be signed, and count more than the line that was accepted before, or else
somebody could set the branch back to an old cut. So no other branch may begin anew.
"""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reconciler.core.message import LONGEST_SUBJECT, CommitPurpose, Purpose, plain
from reconciler.core.record import last_pass
from reconciler.errors import UsageError, UserError
from reconciler.manifests.text.reader import read
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION_PATH, decode_settings, settings_in
from reconciler.model.text import short_id
from reconciler.model.world import World
from reconciler.shell.git.commits import write_again
from reconciler.shell.git.history import CommitRecord, is_ancestor, list_range, read_commit
from reconciler.shell.git.objects import read_file
from reconciler.shell.git.publish import BranchMove
from reconciler.shell.git.repository import COMMIT_ID, CommitIdentity, Repository
from reconciler.shell.git.signing import CommitSigning, SigningKey
from reconciler.shell.reading.sources import Heads, ServedBranches

READ, REPLACES, CUT = "Reconciled-Read", "Reconciled-Replaces", "Reconciled-Cut"
COUNT = re.compile(r"[1-9][0-9]{0,8}")


def bring_reports(repository: Repository, inputs: str, fetch: Callable[[str], str | None]) -> None:
    """Bring the reports here that decisions name, where they are on a branch of their own.

    Args:
        repository: Where to look.
        inputs: Full hex id of the commit that has the configuration.
        fetch: Brings a branch here, and returns where it is.
    """
    content = read_file(repository, inputs, repository.from_top(CONFIGURATION_PATH))
    for document in read(content or b"", CONFIGURATION_PATH).documents:
        with contextlib.suppress(UserError, UsageError):  # it may name what is no branch for git
            settings = decode_settings(document.body)
            if name := settings.used_branch or settings.feedback_branch:
                fetch(name)


@dataclass(slots=True, eq=False)
class BroughtReports:
    """Whether the reports that decisions name were brought here, which a new mirror lacks."""

    _brought: bool = False

    def bring_once(self, branches: ServedBranches, heads: Heads) -> None:
        """Bring them here before the first pass; what comes later is written here."""
        if not self._brought:
            bring_reports(branches.repository, heads.inputs, branches.beside)
            self._brought = True


class UsedReports(NamedTuple):
    """The commit that a decision names, and how the branch moves that keeps it, if it has to."""

    commit: str
    move: BranchMove | None


def keep_used(
    repository: Repository,
    world: World,
    find: Callable[[str], str | None],
    *,
    at: datetime,
    author: CommitIdentity,
    key: SigningKey | None,
) -> UsedReports | None:
    """Write the commit that keeps the reports of a world; no branch moves.

    Args:
        repository: Where to write.
        world: That was decided about.
        find: Returns where a branch is now, `None` if it is not there.
        at: Moment of the pass.
        author: Who commits.
        key: With what it is signed, `None` for not at all.

    Returns:
        `None` where reports are not kept, or there are none.

    Raises:
        GitError: Git failed.
    """
    name, last = settings_in(world).used_branch, last_pass(world.outputs)
    if not (name and world.reported_at):
        return None
    head = find(name)
    before = "" if last is None else last.reported_at
    known = bool(before) and is_ancestor(repository, before, before)
    kept = known and head is not None and is_ancestor(repository, before, head)
    if kept and _tree(repository, before) == _tree(repository, world.reported_at):
        return UsedReports(before, None)
    record = read_commit(repository, world.reported_at)
    parents = [] if head is None else [head]
    if known and not kept and _keeps(repository, before):  # somebody took it off the branch
        parents.append(before)
    purpose = CommitPurpose(Purpose.USED, name, repository.prefix)
    subject = plain(record.subject)[:LONGEST_SUBJECT] or "Report"
    commit = write_again(
        repository,
        world.reported_at,
        parents=parents,
        message=f"{subject}\n\n{READ}: {world.reported_at}\n",
        at=at,
        author=author,
        signing=CommitSigning.by(key, purpose),
    )
    return UsedReports(commit, BranchMove(name, head, commit))


def _tree(repository: Repository, commit: str) -> str:
    return repository.git.line("rev-parse", "--verify", f"{commit}^{{tree}}")


def _keeps(repository: Repository, commit: str) -> bool:
    """Return whether a commit is one of those that keep what was read."""
    return READ in dict(read_commit(repository, commit).trailers)


def is_long(repository: Repository, head: str, most: int) -> bool:
    """Return whether a branch has more commits than so many, along first parents."""
    limit = f"--max-count={most + 1}"
    counted = repository.git.line("rev-list", "--first-parent", "--count", limit, head)
    return int(counted) > most


def cut(
    repository: Repository,
    commit: str,
    head: str,
    *,
    message: str,
    at: datetime,
    author: CommitIdentity,
    signing: CommitSigning | None,
) -> str:
    """Write the root that may take the place of a branch of reports; no branch moves.

    Args:
        repository: Where to write.
        commit: That would be pushed onto the head: its files are kept, its history is not.
        head: Full hex id of what is replaced.
        message: That of the commit.
        at: Moment of the commit.
        author: Who commits.
        signing: Who signs it and for what; `None` for nobody.
    """
    count = _cuts(_root(repository, head)) + 1
    return write_again(
        repository,
        commit,
        parents=(),
        message=f"{message.rstrip()}\n\n{REPLACES}: {head}\n{CUT}: {count}\n",
        at=at,
        author=author,
        signing=signing,
    )


def _root(repository: Repository, head: str) -> CommitRecord:
    """Return the first commit of a line of first parents."""
    return read_commit(repository, list_range(repository, head)[-1])


def _cuts(root: CommitRecord) -> int:
    """Return how often a branch was cut, by the first commit that it has now."""
    said = [value for name, value in root.trailers if name == CUT]
    return int(said[0]) if len(said) == 1 and COUNT.fullmatch(said[0]) else 0


def why_no_cut(repository: Repository, line: Sequence[str], before: str) -> str:
    """Return why a line that does not contain what was accepted is no cut of it, `""` if it is one.

    Args:
        repository: Where the commits are.
        line: The branch as it is, along first parents, the newest first.
        before: Full hex id of the commit that was accepted last.
    """
    root = read_commit(repository, line[-1])
    said: Mapping[str, str] = dict(root.trailers)
    replaced = said.get(REPLACES, "")
    if root.parents or not COMMIT_ID.fullmatch(replaced):
        return f"{short_id(before)}, which was accepted last, is no part of the branch any more"
    if _cuts(root) <= _cuts(_root(repository, before)):
        return f"{short_id(root.revision)} cuts the branch, and is older than what was accepted"
    is_here = is_ancestor(repository, replaced, replaced)
    if is_here and not is_ancestor(repository, before, replaced):
        return (
            f"{short_id(root.revision)} replaces {short_id(replaced)}, which does not have "
            f"{short_id(before)}, which was accepted last"
        )
    return ""
