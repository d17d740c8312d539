"""Writes again what a branch lacks of the commits of passes: they can be computed once more."""

from itertools import takewhile

from reconciler.audit.history.revisions import Commit, UnreadableRevision, pass_of
from reconciler.audit.proofs.replay import Replay
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.identity import CommitIdentity
from reconciler.shell.git.lost_objects import lost, lost_objects
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.revisions import list_range
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.revisions import GitRevisions

MOST = 100  # ours: commits without some of their objects, one after the other
AUTHOR = CommitIdentity("reconciler", "reconciler@localhost")


def write_lost_again(repository: Repository, loader: Loader, branch: str) -> bool:
    """Write what a branch needs of the commits of passes, and return whether anything was lost.

    The same inputs at the same moment give the same files, so what was lost has the same ids.

    Args:
        repository: Where the branch is.
        loader: Loads the worlds that the passes have seen.
        branch: Name without `refs/heads/`.

    Raises:
        LostObjects: Something else is lost; a person must bring it back.
        GitError: Git failed.
    """
    head = repository.find(branch)
    if head is None or not lost_objects(repository, head):
        return False
    line = list_range(repository, head)[:MOST]
    broken = list(takewhile(lambda commit: lost_objects(repository, commit), line))
    revisions = GitRevisions(repository, loader)
    for commit in reversed(broken):
        _write_again(revisions, revisions.commit_at(commit))
    if left := lost_objects(repository, head):
        raise lost(repository, branch, head, left)
    return True


def _write_again(revisions: GitRevisions, commit: Commit) -> None:
    """Compute the pass of a commit once more, and write its files; nothing names that commit."""
    repository, read = revisions.repository, pass_of(commit)
    if read is None or not lost_objects(repository, commit.revision):
        return
    found = Replay(revisions).run_again(commit)
    if isinstance(found, UnreadableRevision) or not found.outcome.files:
        return
    write_commit(
        repository,
        found.outcome.files,
        parent=commit.parent,
        message=f"Write {commit.revision} again",
        at=read.at,
        author=AUTHOR,
    )
