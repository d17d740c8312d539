"""Commits that wait to be accepted, as a daemon of this repository found them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.audit.history.revisions import Commit
    from reconciler.cli.objects.description import Line
    from reconciler.shell.reading.revisions import GitRevisions


def unaccepted_commits(
    revisions: "GitRevisions", branch: str, inputs: str, commits: "Sequence[Commit]"
) -> "list[Commit]":
    """Return the commits that wait to be accepted, the newest first, as a daemon found here.

    What the daemon wrote on top of them is left out, unless that is what waits first.
    """
    from reconciler.audit.history.revisions import is_by_hand
    from reconciler.audit.proofs.commit_place import said_purpose
    from reconciler.shell.passes.kept_commits import Kept, list_kept

    repository = revisions.repository
    heads = {branch: inputs}
    if commits and (outputs := revisions.layout.output_branch) is not None:
        heads[outputs] = commits[0].revision
    found: list[Commit] = []
    for name, first in list_kept(repository, Kept.WAITING).items():
        head = heads.get(name) or repository.find(name)
        if head is not None and revisions.leads_to(first, head):
            after = filter(is_by_hand, revisions.between(first, head))
            found += [one for one in after if said_purpose(one.trailers) is None]
            found.append(revisions.commit_at(first))
    return found


def unaccepted_line(unaccepted: "Sequence[Commit]") -> "Iterator[Line]":
    """Yield what waits to be accepted, if anything does."""
    if unaccepted:
        count = len(unaccepted)
        first = named_commit(unaccepted[-1])
        said = f"{count} commit{'s' if count > 1 else ''} from {first} on"
        yield "Unaccepted:", f"{said}, which are not accepted"


def named_commit(commit: "Commit") -> str:
    """Return a commit by short id and subject."""
    from reconciler.audit.printable import printable
    from reconciler.audit.short_id import short_id

    return printable(f"{short_id(commit.revision)} ({commit.subject})")
