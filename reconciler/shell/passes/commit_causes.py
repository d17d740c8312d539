"""Which of several people's commits caused which move: told from the log, by what each edited.

A pass takes all commits together and decides from files alone; who wrote them is for people who
read `git log`. Nothing that is decided or proven looks at it.
"""

from collections.abc import Iterable

from reconciler.core.causing_files import MOST_COMMITS, files_behind
from reconciler.core.changes import CausingCommit
from reconciler.core.message import is_told
from reconciler.core.record import last_pass
from reconciler.model.decision import Decision
from reconciler.model.world import World
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.history import CommitRecord, read_commits
from reconciler.shell.git.objects import changed_files
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.reruns import OUR_TRAILER


def causing_commits(
    repository: Repository, head: str, world: World, decisions: Iterable[Decision]
) -> tuple[CausingCommit, ...]:
    """Return which of the commits since the last pass caused which moves, the oldest first.

    Args:
        repository: Where the commits are.
        head: Full hex id of the newest of them.
        world: That the pass looked at.
        decisions: What the pass decided.

    Returns:
        Empty where one commit is all there is, where there are very many, and where the history
        does not reach back.
    """
    moved = [one for one in decisions if is_told(one)]
    last = last_pass(world.outputs)
    if not moved or last is None or not world.edited:
        return ()
    try:
        commits = _by_people(repository, last.revision, head)
        if len(commits) <= 1:  # `Reconciled-From` names it
            return ()
        edits = {one.revision: _edited(repository, one) for one in commits}
    except GitError:
        return ()
    files = [(decision.subject, files_behind(decision, world)) for decision in moved]
    found = (_causing(commit, edits[commit.revision], files) for commit in commits)
    return tuple(one for one in found if one.moved)


def _causing(
    commit: CommitRecord, edited: frozenset[str], files: Iterable[tuple[str, frozenset[str]]]
) -> CausingCommit:
    """Return what a commit moved by its edits, given the files behind each move."""
    moved = {subject for subject, paths in files if not edited.isdisjoint(paths)}
    return CausingCommit(commit.revision, commit.author.name, tuple(sorted(moved)))


def _by_people(repository: Repository, last: str, head: str) -> list[CommitRecord]:
    """Return the commits between two that no pass made, the oldest first; none if too many."""
    commits = _line(repository, last, head)
    if commits is None:
        limit = f"--max-count={MOST_COMMITS + 1}"
        listed = repository.git.line("rev-list", "--first-parent", limit, head, f"^{last}").split()
        if len(listed) > MOST_COMMITS:
            return []
        commits = list(read_commits(repository, listed))
    found = (one for one in reversed(commits) if OUR_TRAILER not in dict(one.trailers))
    return [one for one in found if one.parents]


def _line(repository: Repository, last: str, head: str) -> list[CommitRecord] | None:
    """Return the commits that lead from one to another by first parents, the newest first.

    Asked commit by commit, since that starts no process of git; `None` if the one is not met soon.
    """
    found: list[CommitRecord] = []
    revision = head
    while revision != last and len(found) <= MOST_COMMITS:
        commits = list(read_commits(repository, [revision]))
        if not commits or not commits[0].parents:
            return None
        found += commits
        revision = commits[0].parents[0]
    return found if revision == last else None


def _edited(repository: Repository, commit: CommitRecord) -> frozenset[str]:
    """Return the files that a commit changed; of a merge what it brought."""
    parent, prefix = commit.parents[0], repository.prefix
    changes = changed_files(repository, parent, commit.revision, prefix=prefix)
    return frozenset(change.path for change in changes)
