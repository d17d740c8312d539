"""The world at a revision, for the verbs that only look."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.model.world import World
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.load import Loader
    from reconciler.shell.revisions import GitRevisions


def open_loader(repository: "Repository", output_root: str) -> "Loader":
    """Return what loads worlds, with a bar on terminals, all processors, and what was parsed."""
    from reconciler.cli.document_cache import document_cache
    from reconciler.cli.output_branch import output_branch
    from reconciler.cli.progress import tracked
    from reconciler.shell.load import Loader
    from reconciler.shell.resources import load_schemas
    from reconciler.shell.sources import finding_sources
    from reconciler.shell.trees import GitTrees
    from reconciler.shell.workers import processors

    return Loader(
        GitTrees(repository),
        load_schemas(),
        output_root=output_root,
        track=tracked,
        processes=processors(),
        documents=document_cache(),
        past=True,
        sources=finding_sources(repository, output_branch()),
    )


def open_revisions(directory: Path, output_root: str) -> "GitRevisions":
    """Open the repository that a folder is in, for questions about its history."""
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.revisions import GitRevisions

    repository = Repository.open(directory)
    return GitRevisions(repository, open_loader(repository, output_root))


def load_world(directory: Path, at: str, output_root: str) -> "World":
    """Load the world at a revision; if it is empty, that is said.

    Raises:
        UsageError: There is no repository or no such revision.
    """
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.git.revisions import resolve_revision

    repository = Repository.open(directory)
    head = resolve_revision(repository, at)
    world = open_loader(repository, output_root).load(head)
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
