"""The state tree: which outputs can be read, and which are left as they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.core.inspect import Inspection
from reconciler.core.move import Move, replaced
from reconciler.core.survey import key_of
from reconciler.manifests.identify import OUR_GROUPS
from reconciler.manifests.paths import FAULTS, RECORD, output_path
from reconciler.manifests.scope import PLURALS
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.world import Fault, Manifest


@dataclass(frozen=True, slots=True)
class State:
    """What stands below the output root.

    Readable outputs, blob ids, the paths of what is left alone, and of what is as we write it.
    """

    manifests: Mapping[ObjectKey, Manifest]
    present: Mapping[str, str]
    frozen: frozenset[str]
    canonical: frozenset[str]
    faults: tuple[Fault, ...]


def read_state(outputs: Iterable[Inspection], root: str) -> State:
    """Take each output at its own path; one that cannot be read is left as it is and reported."""
    files = sorted(outputs, key=lambda inspection: inspection.path)
    found = [manifest for file in files if (manifest := _output(file, root)) is not None]
    canonical = frozenset(file.path for file in files if file.canonical)
    return State(
        manifests={manifest.key: manifest for manifest in found},
        present={file.path: file.blob for file in files},
        frozen=frozenset(file.path for file in files if file.broken),
        canonical=canonical & {manifest.origin.path for manifest in found},
        faults=tuple(_frozen(item.fault) for file in files for item in file.broken),
    )


def follow_state(before: State, move: Move, root: str) -> State:
    """Return what `read_state` returns for the files now, from what it returned for those before.

    Args:
        before: The state of the files before.
        move: What became of the files.
        root: The output root.
    """
    if any(file.broken for file in (*move.gone, *move.came)):
        return read_state(move.files.values(), root)
    left = [manifest for file in move.gone if (manifest := _output(file, root)) is not None]
    found = [manifest for file in move.came if (manifest := _output(file, root)) is not None]
    paths = {manifest.origin.path for manifest in found}
    gone = {file.path for file in move.gone}
    return State(
        manifests=replaced(
            before.manifests, [manifest.key for manifest in left], {m.key: m for m in found}
        ),
        present=replaced(before.present, gone, {file.path: file.blob for file in move.came}),
        frozen=before.frozen,
        canonical=(before.canonical - gone)
        | {file.path for file in move.came if file.canonical and file.path in paths},
        faults=before.faults,
    )


def _output(file: Inspection, root: str) -> Manifest | None:
    """Return the output that a file holds, `None` if it is none of ours or stands elsewhere."""
    if file.broken or len(file.documents) != 1:
        return None
    document = file.documents[0]
    key = key_of(file.path, document, {})
    owned = key in (RECORD, FAULTS) or (key.group in OUR_GROUPS and key.kind in PLURALS)
    if not owned or output_path(root, key) != file.path:
        return None
    return Manifest(key, Origin(file.path), document.body)


def _frozen(fault: Fault) -> Fault:
    """Say of an output that it is left as it is until a person restores or removes it."""
    return Fault(
        path=fault.path,
        line=fault.line,
        column=fault.column,
        field=fault.field,
        rule="output-unreadable",
        message=f"an output cannot be read and is left as it is: {fault.message}",
        expected="the file as the last pass wrote it (git checkout), or no file",
        subject=fault.subject,
    )
