"""The files of the two trees, composed into a World.

Two steps, since what is wrong decides what else must be read: `survey` tells the faulty paths, the
shell then reads the earlier versions of these, and `compose` puts the last good documents in the
place of the faulty ones. A faulty document never takes effect and never disturbs another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.core.inspect import Inspection
from reconciler.core.record import LastPass
from reconciler.core.state import State
from reconciler.core.survey import (
    CONFIGURATION,
    CONFIGURATION_PATH,
    Survey,
    key_of,
    misplaced_fault,
)
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.world import Body, Fault, Held, Kinds, Manifest, World


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier version of a faulty file, and which of its objects may be taken from it.

    `only` names the objects, `None` means all that are valid but for those in `but`.
    """

    inspection: Inspection
    only: frozenset[ObjectKey] | None = None
    but: frozenset[str] = frozenset()


def compose(
    surveyed: Survey,
    earlier: Mapping[str, tuple[Earlier, ...]],
    state: State,
    *,
    revision: str,
    output_root: str,
    last: World | None = None,
) -> World:
    """Put the last good documents in the place of faulty ones, and add the state tree.

    Args:
        surveyed: What the input tree holds.
        earlier: For each faulty path, earlier versions of the file, the preferred one first.
        state: What the files below the output root hold.
        revision: Full hex id of the input commit.
        output_root: Root-relative folder that the daemon owns.
        last: The world before, from which the index of kinds is told.
    """
    inputs = dict(surveyed.manifests)
    held: list[Held] = []
    faults: list[Fault] = []
    for path, broken in surveyed.broken.items():
        versions = earlier.get(path, ())
        if path in surveyed.foreign and not any(v.inspection.documents for v in versions):
            continue
        faults.extend(fault for fault, _ in broken)
        wanted = {key for _, key in broken}
        for version in versions:
            taken = _last_good(path, version, wanted, inputs, surveyed.scopes)
            if taken:
                inputs.update((manifest.key, manifest) for manifest in taken)
                keys = tuple(sorted(manifest.key for manifest in taken))
                held.append(Held(path, version.inspection.blob, keys))
    feedback = {key: found for key, found in inputs.items() if key.reporter}
    if feedback:
        inputs = {key: found for key, found in inputs.items() if not key.reporter}
    return World(
        revision=revision,
        inputs=inputs,
        feedback=feedback,
        outputs=state.manifests,
        present=state.present,
        frozen=state.frozen,
        canonical=state.canonical,
        blobs={**surveyed.blobs, **{entry.path: entry.blob for entry in held}},
        texts=surveyed.texts,
        faults=tuple(sorted((*faults, *state.faults))),
        held=tuple(sorted(held)),
        output_root=output_root,
        kinds=Kinds() if last is None else last.kinds.next(),
    )


def _last_good(
    path: str,
    version: Earlier,
    wanted: set[ObjectKey | None],
    inputs: Mapping[ObjectKey, Manifest],
    scopes: Mapping[tuple[str, str], bool],
) -> list[Manifest]:
    """Return what an earlier version of a file offers for its faulty documents.

    If it cannot be told whose a faulty document is, it may be any object that stood in the file
    and stands nowhere now.
    """
    taken = []
    for document in version.inspection.documents:
        key = key_of(path, document, scopes)
        offered = key in version.only if version.only is not None else str(key) not in version.but
        asked = None in wanted or key in wanted
        if offered and asked and key not in inputs and misplaced_fault(path, document) is None:
            taken.append(Manifest(key, Origin(path, document.index), document.body))
    return taken


def configuration_of(surveyed: Survey, earlier: tuple[Earlier, ...]) -> Body | None:
    """Return the configuration in force, `None` if there is none; see `compose`."""
    found = [m.body for m in surveyed.manifests.values() if _is_configuration(m.key)]
    for version in earlier:
        wanted: set[ObjectKey | None] = {None}
        taken = _last_good(CONFIGURATION_PATH, version, wanted, surveyed.manifests, {})
        found += [manifest.body for manifest in taken if _is_configuration(manifest.key)]
    return found[0] if found else None


def _is_configuration(key: ObjectKey) -> bool:
    """Say whether an object is the configuration."""
    return (key.group, key.kind) == CONFIGURATION


def earlier_versions(
    path: str, last: LastPass | None, recorded: Inspection | None, held: Mapping[str, Inspection]
) -> tuple[Earlier, ...]:
    """Return the versions of a faulty file that may stand in for it, the preferred one first.

    First the version at the last committing pass, but for what was faulty in it then; after that
    the versions that were already held at that pass.

    Args:
        path: Path of the file.
        last: What the last committing pass recorded, `None` before the first one.
        recorded: The file in the input tree of that pass, `None` if it was not there.
        held: Blob id to inspection, of the versions held for this path at that pass.
    """
    if last is None:
        return ()
    versions = []
    if recorded is not None:
        versions.append(Earlier(recorded, but=last.faulty.get(path, frozenset())))
    versions.extend(
        Earlier(held[entry.blob], only=frozenset(entry.keys))
        for entry in last.held
        if entry.path == path
    )
    return tuple(versions)
