"""The state tree: which outputs can be read, and which are left as they are."""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.core.inputs.index import TreeChange, key_of
from reconciler.core.inputs.validation import FileValidation
from reconciler.errors import UsageError
from reconciler.manifests.paths import ALONE, RECORD, folder_of, output_path
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.kinds import KnownKinds
from reconciler.model.records import dataclass
from reconciler.model.remembered import Versioned, patched
from reconciler.model.world import Fault, Frozen, Manifest, Trace, is_at_or_below


@dataclass(frozen=True, slots=True)
class StateTree:
    """What stands below the output root.

    Readable outputs, blob ids, the paths of what is left alone, and of what is not as we write it
    with the output that is there; what is wrong, and the traces of unforeseen exceptions.
    """

    manifests: Mapping[ObjectKey, Manifest]
    present: Mapping[str, str]
    frozen: Frozen
    inexact: Mapping[str, ObjectKey | None]
    faults: tuple[Fault, ...]
    traces: tuple[Trace, ...] = ()


def read_state(
    outputs: Iterable[FileValidation],
    root: str,
    known: KnownKinds,
    blocks: frozenset[str] = frozenset(),
) -> StateTree:
    """Take each output at its own path; one that cannot be read is left as it is and reported.

    Args:
        outputs: The files below the root.
        root: The output root.
        known: Kinds; an output is of one of them.
        blocks: What `blocks_of` names.
    """
    files = sorted(outputs, key=lambda inspection: inspection.path)
    found = list(_outputs_in(files, root, known))
    held = {manifest.origin.path: manifest.key for manifest in found}
    return StateTree(
        manifests=Versioned({manifest.key: manifest for manifest in found}),
        present=Versioned({file.path: file.blob for file in files}),
        frozen=Frozen(frozenset(file.path for file in files if file.broken), blocks),
        inexact=_inexact(files, held),
        faults=(
            *(_blocked(path) for path in sorted(blocks)),
            *(_frozen(item.fault) for file in files for item in file.broken),
        ),
        traces=tuple(trace for file in files for trace in file.traces),
    )


def follow_state(
    before: StateTree,
    move: TreeChange,
    root: str,
    known: KnownKinds,
    blocks: frozenset[str] = frozenset(),
) -> StateTree:
    """Return what `read_state` returns for the files now, from what it returned for those before.

    Args:
        before: The state of the files before.
        move: What became of the files.
        root: The output root.
        known: As for `read_state`.
        blocks: What `blocks_of` names.
    """
    if blocks != before.frozen.blocks or any(f.broken for f in (*move.gone, *move.came)):
        return read_state(move.files.values(), root, known, blocks)
    left = [
        manifest for file in move.gone if (manifest := output_in(file, root, known)) is not None
    ]
    moved = [
        manifest for file in move.came if (manifest := output_in(file, root, known)) is not None
    ]
    held = {manifest.origin.path: manifest.key for manifest in moved}
    gone = {file.path for file in move.gone}
    return StateTree(
        manifests=patched(
            before.manifests, {m.key: m for m in moved}, [manifest.key for manifest in left]
        ),
        present=patched(before.present, {file.path: file.blob for file in move.came}, gone),
        frozen=before.frozen,
        inexact={
            **{path: key for path, key in before.inexact.items() if path not in gone},
            **_inexact(move.came, held),
        },
        faults=before.faults,
        traces=before.traces,
    )


def _inexact(
    files: Iterable[FileValidation], held: Mapping[str, ObjectKey]
) -> dict[str, ObjectKey | None]:
    """Return the files that are not to the letter as a body is written, with what they hold."""
    return {
        file.path: held.get(file.path)
        for file in files
        if not file.canonical or file.path not in held
    }


def blocks_of(odd: Iterable[str], root: str, known: KnownKinds) -> frozenset[str]:
    """Return what has taken a place that an output, or a folder of outputs, must have.

    Args:
        odd: Links and submodules anywhere, plain files below the root that are no manifests, and
            folders below it that are named like one.
        root: The output root.
        known: Kinds; those of outputs have folders.
    """
    folders = frozenset(folder_of(*kind) for kind in known.outputs)
    blocks = {path for path in odd if is_at_or_below(root, path) or _is_ours(path, root, folders)}
    return frozenset(
        path for path in blocks if not any(is_at_or_below(path, other) for other in blocks - {path})
    )


def _is_ours(path: str, root: str, folders: frozenset[str]) -> bool:
    """Return whether a path is one of a folder of outputs, or of an output in it."""
    if not path.startswith(f"{root}/"):
        return False
    folder, *rest = path.removeprefix(f"{root}/").split("/")
    if not rest and folder in {f"{one.name}.yaml" for one in ALONE}:
        return True
    is_note = len(rest) == 1 and "." in rest[0] and not rest[0].endswith(".yaml")  # a README.md
    return folder in folders and not is_note


def _blocked(path: str) -> Fault:
    """Return the faults of what stands in the way of outputs: they wait until a person moves it."""
    return Fault(
        path=path,
        line=0,
        column=0,
        field="",
        rule="output-unreadable",
        message="what must be a plain file or folder of outputs is something else, so they wait",
        expected="nothing at this path, or what the last pass wrote there (git checkout)",
    )


def _outputs_in(
    files: Iterable[FileValidation], root: str, known: KnownKinds
) -> Iterator[Manifest]:
    """Yield the outputs that files hold."""
    outputs = (output_in(file, root, known) for file in files)
    yield from (one for one in outputs if one is not None)


def output_in(file: FileValidation, root: str, known: KnownKinds) -> Manifest | None:
    """Return the output that a file holds, `None` if it is none of ours or stands elsewhere."""
    if file.broken or len(file.documents) != 1:
        return None
    document = file.documents[0]
    key = key_of(file.path, document, known.scopes)
    owned = key in ALONE or (key.group, key.kind) in known.outputs
    if not owned or output_path(root, key) != file.path:
        return None
    return Manifest(key, Origin(file.path), document.held)


def _frozen(fault: Fault) -> Fault:
    """Return the fault of an output that is left as it is until a person restores or removes it."""
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


def check_ours(state: StateTree, root: str) -> None:
    """Refuse an output root that was never ours: what a pass did not write there, it deletes."""
    if RECORD in state.manifests:
        return
    ours = {manifest.origin.path for manifest in state.manifests.values()}
    ours |= {output_path(root, key) for key in ALONE}
    strange = sorted(path for path in state.present.keys() - ours if path not in state.frozen)
    if strange:
        raise UsageError(
            f'the output root "{root}" holds "{strange[0]}", which no pass wrote, and would be '
            "deleted; move the file, or name another folder with --output-root"
        )
