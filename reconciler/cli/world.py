"""The world at a revision, for the verbs that only look.

It may be that of a branch of a remote, through a mirror of its own; nothing is pushed. Parsed
manifests are kept from one command to the next. A decision of a history is put into words here:
where its object is, who caused it, or that there is none.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from reconciler.cli.options import cache_folder, chosen_cache
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.model.text import short_id

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.audit.history.decisions import Event
    from reconciler.audit.history.revisions import Commit
    from reconciler.cli.options import RemoteAccess
    from reconciler.core.asked import SettledWorld
    from reconciler.core.reconcile import Memo
    from reconciler.library.fleet import FleetRepository
    from reconciler.library.subject import Subject
    from reconciler.model.decision import Placed
    from reconciler.model.world import World
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.reading.load import Loader
    from reconciler.shell.reading.revisions import GitRevisions
    from reconciler.shell.reading.tables import DocumentCache


def open_loader(repository: "Repository", layout: RepositoryLayout) -> "Loader":
    """Return what loads worlds on all processors, tells how far it is, and keeps what it parsed."""
    return fleet_of(Path(), repository, layout).new_loader()


def open_fleet(directory: Path, layout: RepositoryLayout) -> "FleetRepository":
    """Open the repository that a folder is in, with the options of the command."""
    from reconciler.shell.git.repository import Repository

    return fleet_of(directory, Repository.open(directory), layout)


def fleet_of(
    directory: Path, repository: "Repository", layout: RepositoryLayout
) -> "FleetRepository":
    """Return a repository with the options of the command."""
    from reconciler.cli.progress import tracked
    from reconciler.library.fleet import FleetRepository

    return FleetRepository(
        directory=directory,
        repository=repository,
        layout=layout,
        track=tracked,
        documents=document_cache(),
    )


def open_revisions(directory: Path, layout: RepositoryLayout) -> "GitRevisions":
    """Open the repository that a folder is in, for questions about its history."""
    return open_fleet(directory, layout).revisions


def load_world(directory: Path, at: str, layout: RepositoryLayout) -> "World":
    """Load the world at a revision; if it is empty, that is said.

    Raises:
        UsageError: There is no repository or no such revision.
    """
    world = open_fleet(directory, layout).world(at)
    note_if_empty(directory, world)
    return world


def settled_world(fleet: "FleetRepository") -> "SettledWorld | None":
    """Return the last world in which nothing moved, `None` where none is known."""
    settled = fleet.settled_commits
    return None if settled is None else settled.load(fleet.revisions.loader)


def keep_settled(
    fleet: "FleetRepository", world: "World", head: str, now: "datetime", memo: "Memo"
) -> None:
    """Keep a commit for later questions, if a whole pass over its world found nothing to do.

    Args:
        fleet: The repository.
        world: That of the commit.
        head: Its full hex id.
        now: Moment of the pass.
        memo: What the pass remembered.
    """
    settled, idle = fleet.settled_commits, memo.idle(world, now)
    if settled is not None and idle is not None:
        settled.keep(world, head, idle, now)


def note_if_empty(directory: Path | None, *worlds: "World") -> None:
    """Print to standard error that no world has a manifest, if that is so.

    An answer about nothing most often means that the question was put to the wrong folder.

    Args:
        directory: The root, `None` for a remote.
        worlds: What was looked at.
    """
    if all(map(is_empty, worlds)):
        remote = "no manifest was found in this branch of the remote"
        click.echo(remote if directory is None else nothing_in(directory), err=True)


def is_empty(world: "World") -> bool:
    """Return whether a world has no manifest, faulty ones included."""
    return not (world.inputs or world.outputs or world.feedback or world.faults)


def nothing_in(directory: Path) -> str:
    """Return the sentence for a root without any manifest."""
    from reconciler.model.text import printable

    root = printable(str(directory.resolve()))
    return f"no manifest was found in {root}; -C DIR names another folder"


BRANCH = "main"


class RemoteFleet(NamedTuple):
    """What a remote has: the repository, its URL without credentials, the branch and its head."""

    fleet: "FleetRepository"
    url: str
    branch: str
    head: str


@contextmanager
def open_remote(
    remote: str, branch: str | None, access: "RemoteAccess", layout: "RepositoryLayout"
) -> Iterator[RemoteFleet]:
    """Fetch a branch of a remote, and that of the outputs if it is another, to be asked.

    Args:
        remote: Its URL.
        branch: Which branch, `None` for `main`.
        access: How git is let in.
        layout: Where outputs are.

    Raises:
        UsageError: The remote has no such branch.
        ShellError: It does not answer, or does not let us in.
    """
    from reconciler.cli.serving import LOOKING, default_mirror
    from reconciler.model.text import shown
    from reconciler.shell.git.remotes.mirror import Mirror
    from reconciler.shell.passes.used_reports import bring_reports

    name = branch or BRANCH
    own = default_mirror(remote).with_suffix(LOOKING)
    seconds = access.remote_timeout_seconds
    with Mirror.open(remote, own, access=access.read(), timeout_seconds=seconds) as mirror:
        mirror.recover()
        head = mirror.fetch(name)
        if layout.output_branch is not None:
            mirror.fetch(layout.output_branch)
        if head is None:
            raise UsageError(f"{mirror.remote.url} has no branch {shown(name)}; name one: --branch")
        bring_reports(mirror.repository, head, mirror.fetch)
        yield RemoteFleet(
            fleet_of(Path(), mirror.repository, layout), mirror.remote.url, name, head
        )


def document_cache() -> "DocumentCache | None":
    """Return what was parsed before, written when the command is over; `None` if it is off."""
    from reconciler.core.dialects import KINDS
    from reconciler.model.text import printable
    from reconciler.shell.reading.tables import DocumentCache
    from reconciler.shell.resources import build_id, build_stamp

    named, folder = chosen_cache(), cache_folder()
    context = click.get_current_context(silent=True)
    if folder is None or context is None:
        return None
    documents = DocumentCache(folder / "documents", build_id, KINDS, stamp=build_stamp)

    def save() -> None:
        if not isinstance(sys.exception(), KeyboardInterrupt):
            documents.save()
        if named and documents.problem:
            warning = f"--cache-dir {named} is not used, so manifests are parsed each time"
            click.echo(printable(f"{warning}: {documents.problem}"), err=True)

    context.find_root().call_on_close(save)
    return documents


def nothing_said(subject: "Subject", at: str) -> str:
    """Return the line for an object about which nothing was ever decided."""
    from reconciler.audit.named_object import near, spelled
    from reconciler.model.text import printable

    world, named = subject.world, subject.named
    exists = named in world.inputs or named in world.outputs
    others = "" if exists else near(world, named)
    if carriers := subject.carriers():
        others = f"; {carriers} carries it, ask about that"
    return printable(f"nothing was decided about {spelled(named)} in the history of {at}{others}")


def placed_text(placed: "Placed | None") -> str:
    """Return clusters with their replicas, `nowhere` if there are none, `?` if unknown."""
    from reconciler.model import decision

    return "?" if placed is None else decision.placed_text(placed)


def by_whom(event: "Event") -> str:
    """Return whose commit caused it: name, short id and subject."""
    causes = event.causes
    if not causes:
        return "?" if event.decision is None else "time"
    return "; ".join(
        f"{name_of(cause)}: {cause.subject} ({short_id(cause.revision)})" for cause in causes
    )


def name_of(commit: "Commit") -> str:
    """Return the author's name without the address."""
    return commit.author.partition(" <")[0]
