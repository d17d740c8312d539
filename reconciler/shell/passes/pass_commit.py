"""The commit of a pass: what it says, what it holds, and whose edits it answers."""

from collections.abc import Iterator

from reconciler.core.message import commit_message
from reconciler.shell.git.commits import EarlierCommit, write_commit
from reconciler.shell.git.history import read_history
from reconciler.shell.git.identity import CommitIdentity
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import CommitSigning
from reconciler.shell.passes.commit_causes import causing_commits
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.passes.reruns import find_reruns
from reconciler.shell.passes.untrusted_edits import put_back
from reconciler.version import __version__


def commit_pass(
    report: PassReport,
    repository: Repository,
    author: CommitIdentity,
    signing: CommitSigning | None,
    lost: PassReport | None = None,
) -> str:
    """Write the commit of a pass, and return its full hex id; no branch moves.

    Args:
        report: What was decided.
        repository: Where it is written.
        author: Who commits.
        signing: With what it is signed, `None` for not at all.
        lost: The same decision as it was committed on other heads and lost a race.
    """
    world, outcome, heads = report.world, report.outcome, report.heads
    message = commit_message(
        outcome,
        world,
        now=report.now,
        version=__version__,
        editors=report.editors,
        reruns=find_reruns(repository, report.outputs, world, outcome),
        over="" if world.apart else heads.tip or "",
        outputs=heads.outputs or "" if heads.tip else "",
        caused=causing_commits(repository, heads.inputs, world, outcome.decisions),
    )
    return write_commit(
        repository,
        (*outcome.files, *put_back(repository, heads, world, outcome)),
        parent=heads.parent,
        message=message,
        at=report.now,
        author=author,
        signing=signing,
        earlier=None if lost is None else _earlier(lost),
    )


def _earlier(lost: PassReport) -> EarlierCommit | None:
    """Return the commit that lost a race, unless it put back what others did to our folders."""
    revision, parent = lost.commit, lost.heads.parent
    if revision is None or parent is None or lost.heads.tip is not None:
        return None
    folder = lost.world.output_root
    return EarlierCommit(
        revision=revision, parent=parent, changes=lost.outcome.files, folder=folder
    )


def editors_of(report: PassReport, repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the outputs that were edited by hand, each with who did it, as the history tells."""
    for key in report.outcome.edited:
        path = report.world.outputs[key].origin.path
        commits = [*read_history(repository, report.outputs, limit=1, path=path)]
        yield str(key), str(commits[0].author) if commits else "someone"
