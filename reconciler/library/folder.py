"""A folder of manifests as a world: what its files hold, committed or not."""

from pathlib import Path

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.index import index_inputs
from reconciler.core.inputs.last_known_good import last_known_good
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.core.inputs.world import compose
from reconciler.core.state import StateTree, read_state
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.raw import Oversized
from reconciler.model.identity import OUTPUT_ROOT, RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.reading.checked import FolderSource
from reconciler.shell.reading.tree_cache import Track, untracked
from reconciler.shell.resources import load_schemas

NO_REVISION = "0" * 40


def read_folder(
    directory: str | Path,
    *,
    output_root: str = OUTPUT_ROOT,
    revision: str = NO_REVISION,
    track: Track = untracked,
) -> World:
    """Return the world of a folder, which need not be a repository.

    A faulty document has no earlier version here, so its object is not there; the faults say so.

    Args:
        directory: The root.
        output_root: Folder of the root that passes own.
        revision: Full hex id that the world bears as that of its inputs.
        track: Shows how far it is.

    Raises:
        UsageError: There is no such folder.
    """
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    layout = RepositoryLayout(output_root=output_root)
    source = FolderSource(Path(directory), layout)
    manifests = source.find((), rules=rules)
    found = manifests.files
    index = index_inputs(
        (
            validate_file(
                path,
                "" if isinstance(data, Oversized) else blob_id(data, like=revision),
                data,
                rules,
            )
            for path, data in track(source.contents(found), len(found))
        ),
        KINDS,
        allowed=manifests.allowed,
    )
    return compose(
        index,
        last_known_good(index, None),
        _state(source, revision),
        revision=revision,
        layout=layout,
    )


def _state(source: FolderSource, revision: str) -> StateTree:
    """Return what stands below the output root."""
    rules = Rules(load_schemas(), {}, KINDS, status_only=True)
    outputs = [
        validate_file(path, blob_id(data, like=revision), data, rules)
        for path, data in source.contents(source.records(""))
        if not isinstance(data, Oversized)
    ]
    return read_state(outputs, source.layout.output_root, KINDS)
