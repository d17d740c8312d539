"""The world that a person edits: the files of the checkout, or the branch that is checked out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from reconciler.cli.edits.delivery import Delivery
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.model.world import World

Files = Callable[[str], bytes]
"""Returns what a file holds; `b""` if there is none."""


def edited_world(delivery: Delivery, layout: RepositoryLayout) -> "tuple[World, Files]":
    """Return the world that a change is for, and what its files hold."""
    source = world_on_disk if delivery.branch is None else committed_world
    return source(delivery, layout)


def world_on_disk(delivery: Delivery, layout: RepositoryLayout) -> "tuple[World, Files]":
    """Return what the files of the checkout hold, committed or not."""
    from reconciler.cli.printing.progress import tracked
    from reconciler.library.folder import read_folder
    from reconciler.manifests.text.limits import Oversized
    from reconciler.shell.reading.files import read_file

    directory = delivery.directory
    world = read_folder(
        directory, output_root=layout.output_root, revision=delivery.base, track=tracked
    )

    def content(path: str) -> bytes:
        data = read_file(directory, path) if (directory / path).exists() else b""
        return b"" if isinstance(data, Oversized) else data

    return world, content


def committed_world(delivery: Delivery, layout: RepositoryLayout) -> "tuple[World, Files]":
    """Return what the commit holds that a change is for."""
    from reconciler.cli.objects.world import open_loader
    from reconciler.shell.git.objects import read_file

    repository, head = delivery.repository, delivery.base
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    loader = open_loader(repository, layout)
    return loader.load(head), lambda path: read_file(repository, head, f"{prefix}{path}") or b""
