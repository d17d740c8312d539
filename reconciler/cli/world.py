"""The world at a revision, for the verbs that only look."""

from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.cli.options import check_output_root

if TYPE_CHECKING:
    from reconciler.model.world import World
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.load import Loader


def open_loader(repository: "Repository", output_root: str) -> "Loader":
    """Return what loads worlds, with a bar on terminals, and with all processors."""
    from reconciler.cli.progress import tracked
    from reconciler.shell.load import Loader
    from reconciler.shell.resources import load_schemas
    from reconciler.shell.workers import processors

    return Loader(
        repository,
        load_schemas(),
        output_root=output_root,
        track=tracked,
        processes=processors(),
    )


def load_world(directory: Path, at: str, output_root: str) -> "World":
    """Load the world at a revision.

    Raises:
        UsageError: There is no repository or no such revision.
    """
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.git.revisions import resolve_revision

    repository = Repository.open(directory)
    head = resolve_revision(repository, at)
    root = check_output_root(output_root)
    return open_loader(repository, root).load(head)
