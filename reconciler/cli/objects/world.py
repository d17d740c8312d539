"""The world at a revision, for the verbs that only look."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.library.fleet import FleetRepository
    from reconciler.model.world import World
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.reading.load import Loader
    from reconciler.shell.reading.revisions import GitRevisions


def open_loader(repository: "Repository", layout: RepositoryLayout) -> "Loader":
    """Return what loads worlds, with a bar on terminals, all processors, and what was parsed."""
    return fleet_of(Path(), repository, layout).new_loader()


def open_fleet(directory: Path, layout: RepositoryLayout) -> "FleetRepository":
    """Open the repository that a folder is in, with the options of the command."""
    from reconciler.shell.git.repository import Repository

    return fleet_of(directory, Repository.open(directory), layout)


def fleet_of(
    directory: Path, repository: "Repository", layout: RepositoryLayout
) -> "FleetRepository":
    """Return a repository with the options of the command."""
    from reconciler.cli.options.document_cache import document_cache
    from reconciler.cli.printing.progress import tracked
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
    from reconciler.audit.printable import printable

    root = printable(str(directory.resolve()))
    return f"no manifest was found in {root}; -C DIR names another folder"
