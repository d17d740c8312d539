"""The world that a person edits: the files of the checkout, or the branch that is checked out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from reconciler.cli.delivery import Delivery

if TYPE_CHECKING:
    from reconciler.core.state import StateTree
    from reconciler.model.world import World
    from reconciler.shell.files import FolderSource

Files = Callable[[str], bytes]
"""Returns what a file holds; `b""` if there is none."""


def edited_world(delivery: Delivery, output_root: str) -> "tuple[World, Files]":
    """Return the world that a change is for, and what its files hold."""
    source = world_on_disk if delivery.branch is None else committed_world
    return source(delivery, output_root)


def world_on_disk(delivery: Delivery, output_root: str) -> "tuple[World, Files]":
    """Return what the files of the checkout hold, committed or not."""
    from reconciler.cli.progress import tracked
    from reconciler.core.admissions import ADMISSIONS
    from reconciler.core.dialects import KINDS
    from reconciler.core.file_validation import Rules, validate_file
    from reconciler.core.input_index import index_inputs
    from reconciler.core.last_known_good import last_known_good
    from reconciler.core.world_composition import compose
    from reconciler.manifests.limits import Oversized
    from reconciler.manifests.paths import blob_id
    from reconciler.shell.files import FolderSource, read_file
    from reconciler.shell.resources import load_schemas

    directory, revision = delivery.directory, delivery.base
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    source = FolderSource(directory)
    found = source.find((), output_root=output_root, rules=rules).files
    index = index_inputs(
        (
            validate_file(
                path,
                "" if isinstance(data, Oversized) else blob_id(data, like=revision),
                data,
                rules,
            )
            for path, data in tracked(source.contents(found), len(found))
        ),
        KINDS,
    )
    world = compose(
        index,
        last_known_good(index, None),
        _state_on_disk(source, revision, output_root),
        revision=revision,
        output_root=output_root,
    )

    def content(path: str) -> bytes:
        data = read_file(directory, path) if (directory / path).exists() else b""
        return b"" if isinstance(data, Oversized) else data

    return world, content


def _state_on_disk(source: "FolderSource", revision: str, output_root: str) -> "StateTree":
    """Return what stands below the output root."""
    from reconciler.core.dialects import KINDS
    from reconciler.core.file_validation import Rules, validate_file
    from reconciler.core.state import read_state
    from reconciler.manifests.limits import Oversized
    from reconciler.manifests.paths import blob_id
    from reconciler.shell.resources import load_schemas

    rules = Rules(load_schemas(), {}, KINDS, status_only=True)
    outputs = [
        validate_file(path, blob_id(data, like=revision), data, rules)
        for path, data in source.contents(source.records(output_root, ""))
        if not isinstance(data, Oversized)
    ]
    return read_state(outputs, output_root, KINDS)


def committed_world(delivery: Delivery, output_root: str) -> "tuple[World, Files]":
    """Return what the commit holds that a change is for."""
    from reconciler.cli.world import open_loader
    from reconciler.shell.git.objects import read_file

    repository, head = delivery.repository, delivery.base
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    loader = open_loader(repository, output_root)
    return loader.load(head), lambda path: read_file(repository, head, f"{prefix}{path}") or b""
