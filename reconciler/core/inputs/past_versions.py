"""Earlier versions of input files: of those objects that clusters have otherwise than they are."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from reconciler.core.dialects import DIALECTS
from reconciler.core.inputs.file_validation import FileValidation
from reconciler.core.inputs.input_index import key_of, origin_of
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest, World

Read = Callable[[str, str], FileValidation | None]
"""Returns what a version of a file holds, given path and blob id; `None` if it is not there."""


def with_past(world: World, scopes: Mapping[Kind, bool], read: Read) -> World:
    """Return a world with the earlier versions from which its outputs still bring content.

    Args:
        world: Without them.
        scopes: Whether kinds are namespaced.
        read: Reads a version of a file.
    """
    past: dict[str, tuple[Manifest, ...]] = {}
    for dialect in DIALECTS:
        if not any(map(world.outputs_of_kind, dialect.written)):
            continue  # its answer need not be loaded
        for blob, path in dialect.past_blobs(world):
            found = None if blob in past else read(path, blob)
            if found is not None:
                past[blob] = tuple(
                    Manifest(key_of(path, one, scopes), origin_of(path, one), one.held)
                    for one in found.documents
                )
    return replace(world, past=past) if past else world
