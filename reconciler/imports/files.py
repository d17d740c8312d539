"""Where a new object goes, and a world with files that are not committed yet."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from reconciler.core.inputs.document_rules import Rules
from reconciler.core.inputs.file_validation import FileValidation, validate_file
from reconciler.core.inputs.input_index import key_of, misplaced_fault
from reconciler.dialects.importer import ImportedKind
from reconciler.manifests.feedback import FEEDBACK
from reconciler.manifests.paths import blob_id, file_stem
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.world import Manifest, World

WORKLOADS = "workloads"


def new_path(key: ObjectKey, kind: ImportedKind | None, taken: Container[str]) -> str:
    """Return the file of an object that has none; two of one name are told apart by their kinds.

    Args:
        key: Whose.
        kind: How its kind is kept, `None` for workloads, whose files always name their kind.
        taken: Paths that other objects have.
    """
    folder = WORKLOADS if kind is None else kind.folder
    scope = f"{folder}/{key.namespace}" if key.namespace else folder
    stem = file_stem(key.name.replace(":", "."))
    if kind is not None and f"{scope}/{stem}.yaml" not in taken:
        return f"{scope}/{stem}.yaml"
    return f"{scope}/{stem}-{key.kind.lower()}.yaml"


def report_path(cluster: str, key: ObjectKey) -> str:
    """Return the file in which a cluster reports of a workload."""
    scope = f"{FEEDBACK}/{cluster}/{key.namespace}" if key.namespace else f"{FEEDBACK}/{cluster}"
    return f"{scope}/{file_stem(key.name.replace(':', '.'))}-{key.kind.lower()}.yaml"


def why_unfit(path: str, data: bytes, rules: Rules) -> str:
    """Return why a pass would not take a file as it is to be written, `""` if it would."""
    found = validate_file(path, "", data, rules)
    if found.broken:
        fault = found.broken[0].fault
        return f"{fault.field}: {fault.message}" if fault.field else fault.message
    for document in () if rules.status_only else found.documents:
        fault_there = misplaced_fault(path, document, rules.known)
        if fault_there is not None:
            return fault_there.message
    return ""


def with_files(world: World, files: Mapping[str, bytes], rules: Rules) -> World:
    """Return a world in which some files of people hold something else."""
    if not files:
        return world
    inputs = {k: one for k, one in world.inputs.items() if one.origin.path not in files}
    feedback = {k: one for k, one in world.feedback.items() if one.origin.path not in files}
    blobs = dict(world.blobs)
    for path, data in files.items():
        blobs[path] = blob_id(data, like=world.revision)
        for one in _manifests(validate_file(path, blobs[path], data, rules), world):
            (feedback if one.key.reporter else inputs)[one.key] = one
    return replace(
        world,
        inputs={key: inputs[key] for key in sorted(inputs)},
        feedback={key: feedback[key] for key in sorted(feedback)},
        blobs=blobs,
        kinds=world.kinds.next(),
    )


def _manifests(file: FileValidation, world: World) -> Iterable[Manifest]:
    for document in file.documents:
        key = key_of(file.path, document, world.known.scopes)
        yield Manifest(key, Origin(file.path, document.index, document.pointer), document.body)


def written(body: Mapping[str, object]) -> bytes:
    """Return the content of a file that holds one object."""
    return encode(body).encode()
