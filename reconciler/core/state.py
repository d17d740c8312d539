"""The state tree: which outputs can be read, and which are left as they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.core.inspect import Inspection
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
    manifests: dict[ObjectKey, Manifest] = {}
    present: dict[str, str] = {}
    frozen: set[str] = set()
    canonical: set[str] = set()
    faults: list[Fault] = []
    for file in sorted(outputs, key=lambda inspection: inspection.path):
        present[file.path] = file.blob
        if file.broken:
            frozen.add(file.path)
            faults.extend(_frozen(item.fault) for item in file.broken)
            continue
        if len(file.documents) != 1:
            continue
        document = file.documents[0]
        key = key_of(file.path, document, {})
        owned = key in (RECORD, FAULTS) or (key.group in OUR_GROUPS and key.kind in PLURALS)
        if owned and output_path(root, key) == file.path:
            manifests[key] = Manifest(key, Origin(file.path), document.body)
            if file.canonical:
                canonical.add(file.path)
    return State(manifests, present, frozenset(frozen), frozenset(canonical), tuple(faults))


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
