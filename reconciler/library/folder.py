"""A folder of manifests as a world: what its files hold, committed or not."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.index import index_inputs
from reconciler.core.inputs.last_known_good import last_known_good
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.core.inputs.world import compose
from reconciler.core.state import StateTree, read_state
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.raw import Oversized
from reconciler.model.identity import OUTPUT_ROOT, RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.reading.checked import FolderSource
from reconciler.shell.reading.tables import INPUTS, OUTPUTS, DocumentCache
from reconciler.shell.reading.tree_cache import Track, untracked
from reconciler.shell.resources import load_schemas

NO_REVISION = "0" * 40


def read_folder(
    directory: str | Path,
    *,
    output_root: str = OUTPUT_ROOT,
    revision: str = NO_REVISION,
    track: Track = untracked,
    documents: DocumentCache | None = None,
) -> World:
    """Return the world of a folder, which need not be a repository.

    A faulty document has no earlier version here, so its object is not there; the faults say so.

    Args:
        directory: The root.
        output_root: Folder of the root that passes own.
        revision: Full hex id that the world bears as that of its inputs.
        track: Shows how far it is.
        documents: Those that were parsed before, `None` for none; it only saves work.

    Raises:
        UsageError: There is no such folder.
    """
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    layout = RepositoryLayout(output_root=output_root)
    source = FolderSource(Path(directory), layout)
    manifests = source.find((), rules=rules)
    files = manifests.files
    validated = partial(_validated, revision=revision, documents=documents)
    contents = track(source.contents(files), len(files))
    index = index_inputs(validated(INPUTS, contents, rules), KINDS, allowed=manifests.allowed)
    return compose(
        index,
        last_known_good(index, None),
        _state(source, validated),
        revision=revision,
        layout=layout,
    )


_Validated = Callable[[str, Iterable[tuple[str, bytes | Oversized]], Rules], list[FileValidation]]


def _state(source: FolderSource, validated: _Validated) -> StateTree:
    """Return what stands below the output root."""
    rules = Rules(load_schemas(), {}, KINDS, status_only=True)
    contents = source.contents(source.records(""))
    whole = ((path, data) for path, data in contents if not isinstance(data, Oversized))
    return read_state(validated(OUTPUTS, whole, rules), source.layout.output_root, KINDS)


def _validated(
    name: str,
    contents: Iterable[tuple[str, bytes | Oversized]],
    rules: Rules,
    *,
    revision: str,
    documents: DocumentCache | None,
) -> list[FileValidation]:
    """Return what files hold by some rules, of which `name` is the name, in their order."""
    files = {
        path: ("" if isinstance(data, Oversized) else blob_id(data, like=revision), data)
        for path, data in contents
    }
    pairs = [(path, blob) for path, (blob, _) in files.items()]
    known = {} if documents is None else {one.path: one for one in documents.find(name, pairs)}
    for path, (blob, data) in files.items():
        if path not in known:
            known[path] = validate_file(path, blob, data, rules)
            if documents is not None:
                documents.add(name, known[path])
    return [known[path] for path in files]
