"""The files of the two trees, composed into a World.

Two steps, since what is wrong decides what else must be read: `survey` tells the faulty paths, the
shell then reads the earlier versions of these, and `compose` puts the last good documents in the
place of the faulty ones. A faulty document never takes effect and never disturbs another one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from reconciler.core.inspect import Broken, Inspected, Inspection, described
from reconciler.core.record import LastPass
from reconciler.manifests.identify import OUR_GROUPS
from reconciler.manifests.paths import FAULTS, RECORD, output_path
from reconciler.manifests.scope import CRD, PLURALS, namespace_for, scopes_of_crds
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.world import Body, Fault, Held, Manifest, World

OWNED_KINDS = frozenset(
    {
        ("placement.kubernetes-fleet.io", "ClusterResourceBinding"),
        ("placement.kubernetes-fleet.io", "ClusterResourceSnapshot"),
        ("placement.kubernetes-fleet.io", "ClusterSchedulingPolicySnapshot"),
        ("work.karmada.io", "ClusterResourceBinding"),
        ("work.karmada.io", "ResourceBinding"),
        ("reconciler.dev", "FaultReport"),
        ("reconciler.dev", "ReconcilerStatus"),
    }
)
"""Kinds that only a pass writes; anywhere else than below the output root they are a fault."""

CONFIGURATION = ("reconciler.dev", "ReconcilerConfiguration")
CONFIGURATION_PATH = "reconciler.yaml"
DELETABLE = frozenset({("apps.karmada.io", "WorkloadRebalancer")})
"""Kinds that people write and a pass may remove from their file."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The inputs at first sight: valid manifests with unique keys, and what is wrong.

    `broken` maps a path to its faults; the key beside a fault is `None` where it cannot be told
    whose it is. `foreign` are the faulty files that do not look like manifests at all.
    """

    manifests: Mapping[ObjectKey, Manifest]
    broken: Mapping[str, tuple[tuple[Fault, ObjectKey | None], ...]]
    foreign: frozenset[str]
    scopes: Mapping[tuple[str, str], bool]
    blobs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier version of a faulty file, and which of its objects may be taken from it.

    `only` names the objects, `None` means all that are valid but for those in `but`.
    """

    inspection: Inspection
    only: frozenset[ObjectKey] | None = None
    but: frozenset[str] = frozenset()


def survey(inspections: Iterable[Inspection]) -> Survey:
    """Resolve scopes and find what is wrong between the documents of the input tree."""
    files = sorted(inspections, key=lambda inspection: inspection.path)
    scopes = scopes_of_crds(
        document.body
        for file in files
        for document in file.documents
        if (document.identity.group, document.identity.kind) == CRD
    )
    broken: dict[str, list[tuple[Fault, ObjectKey | None]]] = defaultdict(list)
    places: dict[ObjectKey, list[tuple[Inspection, Inspected]]] = defaultdict(list)
    for file in files:
        for item in file.broken:
            broken[file.path].append(_keyed(item.fault, _key_of_broken(item, scopes)))
        for document in file.documents:
            key = key_of(document, scopes)
            misplaced = _misplaced(file.path, document)
            if misplaced is None:
                places[key].append((file, document))
            else:
                broken[file.path].append(_keyed(misplaced, key))
    manifests: dict[ObjectKey, Manifest] = {}
    for key in sorted(places):
        found = places[key]
        if len(found) == 1:
            file, document = found[0]
            manifests[key] = Manifest(key, Origin(file.path, document.index), document.body)
            continue
        for file, document in found:
            broken[file.path].append(_keyed(_duplicate(file, document, found), key))
    foreign = frozenset(file.path for file in files if file.broken and not file.looks_ours)
    blobs = {file.path: file.blob for file in files}
    return Survey(
        manifests, {path: tuple(broken[path]) for path in sorted(broken)}, foreign, scopes, blobs
    )


def key_of(document: Inspected, scopes: Mapping[tuple[str, str], bool]) -> ObjectKey:
    """Return the key of a valid document."""
    identity = document.identity
    namespace = namespace_for(identity.group, identity.kind, identity.namespace, scopes)
    return ObjectKey(identity.group, identity.kind, namespace, identity.name)


def _key_of_broken(item: Broken, scopes: Mapping[tuple[str, str], bool]) -> ObjectKey | None:
    """Return the key of a faulty document, where it says who it is."""
    identity = item.identity
    if identity is None:
        return None
    namespace = namespace_for(identity.group, identity.kind, identity.namespace, scopes)
    return ObjectKey(identity.group, identity.kind, namespace, identity.name)


def _keyed(fault: Fault, key: ObjectKey | None) -> tuple[Fault, ObjectKey | None]:
    """Name the object in the fault as every record names it."""
    return (fault if key is None else replace(fault, subject=str(key))), key


def _misplaced(path: str, document: Inspected) -> Fault | None:
    """Say why a valid document may not stand in this file."""
    kind = (document.identity.group, document.identity.kind)
    if kind in OWNED_KINDS:
        rule = "owned-kind"
        message = f"a {kind[1]} is written by the reconciler only, this file must be removed"
        expected = "a policy and a workload; the binding follows from them"
    elif kind == CONFIGURATION and path != CONFIGURATION_PATH:
        rule = "configuration-path"
        message = f"the configuration must stand in {CONFIGURATION_PATH} at the root"
        expected = CONFIGURATION_PATH
    else:
        return None
    return Fault(path, document.line, 1, "", rule, message, expected, described(document.identity))


def _duplicate(
    file: Inspection, document: Inspected, found: list[tuple[Inspection, Inspected]]
) -> Fault:
    """Say that an object is written more than once, and where else."""
    others = ", ".join(f"{other.path}:{twin.line}" for other, twin in found if twin is not document)
    subject = described(document.identity)
    return Fault(
        path=file.path,
        line=document.line,
        column=1,
        field="",
        rule="identity-duplicate",
        message=f"{subject} must be written once, it stands also in {others}",
        expected="one document for each object",
        subject=subject,
    )


def compose(
    surveyed: Survey,
    earlier: Mapping[str, tuple[Earlier, ...]],
    outputs: Iterable[Inspection],
    *,
    revision: str,
    output_root: str,
    texts: Mapping[str, bytes],
) -> World:
    """Put the last good documents in the place of faulty ones, and add the state tree.

    Args:
        surveyed: What the input tree holds.
        earlier: For each faulty path, earlier versions of the file, the preferred one first.
        outputs: The files below the output root.
        revision: Full hex id of the input commit.
        output_root: Root-relative folder that the daemon owns.
        texts: Bytes of the files that hold an object which a pass may remove.
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
    state = read_state(outputs, output_root)
    return World(
        revision=revision,
        inputs=inputs,
        outputs=state.manifests,
        present=state.present,
        frozen=state.frozen,
        blobs={**surveyed.blobs, **{entry.path: entry.blob for entry in held}},
        texts=texts,
        faults=tuple(sorted((*faults, *state.faults))),
        held=tuple(sorted(held)),
        output_root=output_root,
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
        key = key_of(document, scopes)
        offered = key in version.only if version.only is not None else str(key) not in version.but
        asked = None in wanted or key in wanted
        if offered and asked and key not in inputs and _misplaced(path, document) is None:
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


@dataclass(frozen=True, slots=True)
class State:
    """What stands below the output root: readable outputs, blob ids, and what is left alone."""

    manifests: Mapping[ObjectKey, Manifest]
    present: Mapping[str, str]
    frozen: frozenset[str]
    faults: tuple[Fault, ...]


def read_state(outputs: Iterable[Inspection], root: str) -> State:
    """Take each output at its own path; one that cannot be read is left as it is and reported."""
    manifests: dict[ObjectKey, Manifest] = {}
    present: dict[str, str] = {}
    frozen: set[str] = set()
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
        key = key_of(document, {})
        owned = key in (RECORD, FAULTS) or (key.group in OUR_GROUPS and key.kind in PLURALS)
        if owned and output_path(root, key) == file.path:
            manifests[key] = Manifest(key, Origin(file.path), document.body)
    return State(manifests, present, frozenset(frozen), tuple(faults))


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
