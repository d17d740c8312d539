"""What clusters, scores, placements and the like were at the last pass, where they differ by now.

It is told of causes only, so what cannot be had is left out.
"""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.core.dialects import TAKEN_BACK
from reconciler.core.inputs.file_validation import FileValidation
from reconciler.core.inputs.input_index import key_of, origin_of
from reconciler.core.record import LastPass
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest


def earlier_inputs(
    inputs: Mapping[ObjectKey, Manifest],
    now: Iterable[FileValidation],
    then: Iterable[FileValidation],
    last: LastPass,
    scopes: Mapping[Kind, bool],
) -> dict[ObjectKey, Manifest | None]:
    """Return the objects that differ from the last pass, as they were; `None` for a new one.

    Args:
        inputs: What is in force now.
        now: The files that differ, as they are.
        then: The same as they were, and the versions that stood in for them if they were faulty.
        last: What the last pass recorded.
        scopes: Whether kinds are namespaced.
    """
    known = {manifest.key: manifest for manifest in _in_force(then, last, scopes)}
    keys = {one.key for file in now for one in _manifests(file, scopes)} | known.keys()
    pairs = ((key, known.get(key), inputs.get(key)) for key in sorted(keys))
    return {key: before for key, before, after in pairs if not _is_same(before, after)}


def _is_same(before: Manifest | None, after: Manifest | None) -> bool:
    """Return whether an object says what it said."""
    if before is None or after is None:
        return before is after
    return before.body == after.body


def _in_force(
    files: Iterable[FileValidation], last: LastPass, scopes: Mapping[Kind, bool]
) -> Iterator[Manifest]:
    """Yield what was in force at the last pass: of a held version what was taken from it."""
    held = {(entry.path, entry.blob): entry.keys for entry in last.held}
    for file in files:
        taken, twice = held.get((file.path, file.blob)), last.written_twice.get(file.path, ())
        for manifest in _manifests(file, scopes):
            if (taken is None or manifest.key in taken) and str(manifest.key) not in twice:
                yield manifest


def _manifests(file: FileValidation, scopes: Mapping[Kind, bool]) -> Iterator[Manifest]:
    """Yield what a file holds that decisions depend on beside workloads and policies."""
    for one in file.documents:
        if (one.identity.group, one.identity.kind) in TAKEN_BACK:
            yield Manifest(key_of(file.path, one, scopes), origin_of(file.path, one), one.held)
