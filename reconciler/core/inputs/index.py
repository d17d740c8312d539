"""The input tree at first sight: which files are input, and which valid manifests have unique keys.

Input is the configuration, and what people write outside of our own folders. Passes, `validate`,
`suspend`, the library and every other reader ask here, so that what one of them takes for a
manifest no other takes for an output. Of these files the index has the valid manifests by key, and
what is wrong with the rest. It follows the tree from commit to commit, so its work grows with the
files that changed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from reconciler.core.inputs.validation import FileValidation, ValidDocument, described
from reconciler.core.record import DUPLICATE
from reconciler.delivery.settings import recorded, roots_of
from reconciler.manifests.identity import CRD, Identity, namespace_for, scopes_of_crds
from reconciler.manifests.paths import (
    FEEDBACK,
    NOT_MANIFESTS,
    is_feedback,
    is_manifest_name,
    matches_any,
    reporter_of,
    selected,
    selects,
)
from reconciler.model.identity import ObjectKey, Origin, RepositoryLayout
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.records import dataclass, replace
from reconciler.model.remembered import Versioned, patched
from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH, Settings, settings_in
from reconciler.model.world import Fault, Manifest, Trace, World


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """The files of a tree, and how they differ from those before.

    Attributes:
        files: Every file now, by path.
        gone: The files as they were that are no more, or are different now; by path.
        came: The files as they are that are new, or were different before; by path.
    """

    files: Mapping[str, FileValidation]
    gone: tuple[FileValidation, ...]
    came: tuple[FileValidation, ...]


def change_between(
    before: Mapping[str, FileValidation], files: Mapping[str, FileValidation], paths: Iterable[str]
) -> TreeChange:
    """Return the move from one set of files to another that differ in these paths at most."""
    differing = sorted(path for path in paths if before.get(path) is not files.get(path))
    return TreeChange(
        files=files,
        gone=tuple(before[path] for path in differing if path in before),
        came=tuple(files[path] for path in differing if path in files),
    )


@dataclass(frozen=True, slots=True)
class InputIndex:
    """The inputs at first sight: valid manifests with unique keys, and what is wrong.

    `reports` are those of them that member clusters wrote, by keys that name the reporter;
    `manifests` are all others. Neither has an order. `broken` maps a path to its faults; the key
    beside a fault is `None` where it cannot be told whose it is. `foreign` are the faulty files
    that do not look like manifests at all. `partial` has the files with documents that are no
    manifests, `texts` those that hold what a pass may remove. `allowed` are
    the settings that allow what is a fault otherwise. `traces` are those of unforeseen
    exceptions, `scopes` those of all kinds that are known. `unread` are the keys of what stands in
    other files, where only some were read.
    """

    known: KnownKinds
    manifests: Mapping[ObjectKey, Manifest]
    reports: Mapping[ObjectKey, Manifest]
    broken: Mapping[str, tuple[tuple[Fault, ObjectKey | None], ...]]
    foreign: frozenset[str]
    partial: Mapping[str, FileValidation]
    scopes: Mapping[Kind, bool]
    blobs: Mapping[str, str]
    texts: Mapping[str, bytes]
    traces: tuple[Trace, ...] = ()
    unread: frozenset[ObjectKey] = frozenset()
    allowed: frozenset[str] = frozenset()

    @property
    def keys(self) -> frozenset[ObjectKey]:
        """The keys of all manifests and reports, read or not."""
        return self.unread.union(self.manifests, self.reports)

    @property
    def unconfigured(self) -> tuple[Fault, ...]:
        """That what stands in the file of the configuration is none; a pass leaves it at that."""
        file = self.partial.get(CONFIGURATION_PATH)
        if file is None or file.broken or CONFIGURATION in file.kinds:
            return ()
        group, kind = CONFIGURATION
        fault = Fault.of_file(
            CONFIGURATION_PATH,
            rule="configuration-none",
            message=f"the file holds no {kind}, so the defaults are in force",
            expected=f"apiVersion: {group}/v1alpha1, kind: {kind} and a `spec`, or no such file",
        )
        return (fault,)


def index_inputs(
    inspections: Iterable[FileValidation],
    known: KnownKinds,
    held: Iterable[Manifest] = (),
    *,
    allowed: frozenset[str] = frozenset(),
) -> InputIndex:
    """Resolve scopes and find what is wrong between the documents of the input tree.

    `held` are the documents of earlier versions that are in force: a CRD among them still says
    what its kind's scope is. `allowed` are the settings of the configuration that allow something.
    """
    files = sorted(inspections, key=lambda inspection: inspection.path)
    crds = [
        document.body
        for file in files
        for document in file.documents
        if (document.identity.group, document.identity.kind) == CRD and not is_feedback(file.path)
    ]
    crds += [manifest.body for manifest in held if (manifest.key.group, manifest.key.kind) == CRD]
    scopes = {**scopes_of_crds(crds), **known.scopes}
    broken: dict[str, list[tuple[Fault, ObjectKey | None]]] = defaultdict(list)
    places: dict[ObjectKey, list[tuple[FileValidation, ValidDocument]]] = defaultdict(list)
    for file in files:
        for document_fault in file.broken:
            broken[file.path].append(
                _keyed(document_fault.fault, _key_of(file.path, document_fault.identity, scopes))
            )
        for document in file.documents:
            key = key_of(file.path, document, scopes)
            faults = _faults_of(file.path, document, known, allowed)
            broken[file.path] += (_keyed(fault, key) for fault in faults)
            if not faults:
                places[key].append((file, document))
    manifests: dict[ObjectKey, Manifest] = {}
    reports: dict[ObjectKey, Manifest] = {}
    for key in sorted(places):
        holders = places[key]
        if len(holders) == 1:
            file, document = holders[0]
            manifest = Manifest(key, origin_of(file.path, document), document.held)
            (reports if key.reporter else manifests)[key] = manifest
            continue
        for file, document in holders:
            broken[file.path].append(_keyed(_duplicate(file, document, holders), key))
    foreign = frozenset(file.path for file in files if file.broken and not file.looks_ours)
    return InputIndex(
        known=known,
        manifests=Versioned(manifests),
        reports=Versioned(reports),
        broken={path: tuple(broken[path]) for path in sorted(broken) if broken[path]},
        foreign=foreign,
        partial=_partial(files),
        scopes=scopes,
        blobs=Versioned({file.path: file.blob for file in files}),
        texts=_texts(files, known),
        traces=tuple(trace for file in files for trace in file.traces),
        allowed=allowed,
    )


def _faults_of(
    path: str, document: ValidDocument, known: KnownKinds, allowed: frozenset[str]
) -> tuple[Fault, ...]:
    """Return why a valid document may not stand there under this configuration."""
    misplaced = misplaced_fault(path, document, known)
    return document.refused_under(allowed) if misplaced is None else (misplaced,)


def follow_inputs(before: InputIndex, move: TreeChange) -> InputIndex:
    """Return what `index_inputs` returns for the files now, from what it returned for those before.

    Where a document says of another one what it means (a CRD), or may be written twice, or is
    faulty, all of them are looked at again.
    """
    files = (*move.gone, *move.came)
    known = before.known
    if not all(_stands_alone(file, known, before.allowed) for file in files):
        return index_inputs(move.files.values(), known, allowed=before.allowed)
    left = [key for file in move.gone for key in _keys(file, before.scopes)]
    moved = [
        Manifest(key_of(file.path, one, before.scopes), origin_of(file.path, one), one.held)
        for file in move.came
        for one in file.documents
    ]
    came = {manifest.key: manifest for manifest in moved}
    disputed = {key for faults in before.broken.values() for _, key in faults}
    present = (before.manifests, before.reports)
    taken = {key for key in came if any(key in one for one in present)}.difference(left)
    if len(came) < len(moved) or taken or not disputed.isdisjoint((*left, *came)):
        return index_inputs(move.files.values(), known, allowed=before.allowed)
    gone = {file.path for file in move.gone}
    return InputIndex(
        known=known,
        manifests=patched(
            before.manifests, {key: one for key, one in came.items() if not key.reporter}, left
        ),
        reports=patched(
            before.reports, {key: one for key, one in came.items() if key.reporter}, left
        ),
        broken=before.broken,
        foreign=before.foreign,
        scopes=before.scopes,
        blobs=patched(before.blobs, {file.path: file.blob for file in move.came}, gone),
        partial={
            **{path: file for path, file in before.partial.items() if path not in gone},
            **_partial(move.came),
        },
        texts={
            **{path: data for path, data in before.texts.items() if path not in gone},
            **_texts(move.came, known),
        },
        traces=before.traces,
        allowed=before.allowed,
    )


def _stands_alone(file: FileValidation, known: KnownKinds, allowed: frozenset[str]) -> bool:
    """Return whether nothing about a file depends on other files, but for keys written twice."""
    return not file.broken and all(
        (one.identity.group, one.identity.kind) != CRD
        and not _faults_of(file.path, one, known, allowed)
        for one in file.documents
    )


def _keys(file: FileValidation, scopes: Mapping[Kind, bool]) -> list[ObjectKey]:
    """Return the keys of the documents of a file."""
    return [key_of(file.path, document, scopes) for document in file.documents]


def _partial(files: Iterable[FileValidation]) -> dict[str, FileValidation]:
    """Return the files with documents that are no manifests."""
    return {file.path: file for file in files if file.ignored}


def _texts(files: Iterable[FileValidation], known: KnownKinds) -> dict[str, bytes]:
    """Return the content of the files that hold what a pass may remove, or tells the lines of."""
    return {
        file.path: file.data
        for file in files
        if any((d.identity.group, d.identity.kind) in known.texts for d in file.documents)
    }


def origin_of(path: str, document: ValidDocument) -> Origin:
    """Return where a valid document stands."""
    return Origin(path, document.index, document.pointer, document.line)


def key_of(path: str, document: ValidDocument, scopes: Mapping[Kind, bool]) -> ObjectKey:
    """Return the key of a valid document."""
    return _key(path, document.identity, scopes)


def _key_of(path: str, identity: Identity | None, scopes: Mapping[Kind, bool]) -> ObjectKey | None:
    """Return the key of a faulty document, where it says who it is."""
    return None if identity is None else _key(path, identity, scopes)


def _key(path: str, identity: Identity, scopes: Mapping[Kind, bool]) -> ObjectKey:
    """Return the key of an object; below `feedback/` a cluster tells of its copy."""
    namespace = namespace_for(identity.group, identity.kind, identity.namespace, scopes)
    reporter = reporter_of(path)
    return ObjectKey(identity.group, identity.kind, namespace, identity.name, reporter)


def _keyed(fault: Fault, key: ObjectKey | None) -> tuple[Fault, ObjectKey | None]:
    """Name the object in the fault as every record names it."""
    return (fault if key is None else replace(fault, subject=str(key))), key


def misplaced_fault(path: str, document: ValidDocument, known: KnownKinds) -> Fault | None:
    """Return why a valid document may not stand in this file."""
    kind = (document.identity.group, document.identity.kind)
    if kind in known.owned:
        rule = "owned-kind"
        message = f"a {kind[1]} is written by the reconciler only, this file must be removed"
        expected = "a policy and a workload; the binding follows from them"
    elif kind == CONFIGURATION and path != CONFIGURATION_PATH:
        rule = "configuration-path"
        message = f"the configuration must stand in {CONFIGURATION_PATH} at the root"
        expected = CONFIGURATION_PATH
    elif is_feedback(path) and not reporter_of(path):
        rule = "feedback-path"
        message = f"what a cluster reports must stand in {FEEDBACK}/<cluster>/"
        expected = f"{FEEDBACK}/<cluster>/<file>.yaml"
    elif is_feedback(path) and kind[0] in known.groups and kind not in known.reported:
        rule = "feedback-kind"
        message = f"a cluster reports workloads and itself, no {kind[1]}"
        expected = f"a folder outside of {FEEDBACK}/"
    elif is_feedback(path) and not _is_of_reporter(path, document.identity, known):
        wanted = known.reported[kind].format(reporter_of(path))
        rule = "feedback-namespace"
        message = f"what stands in {FEEDBACK}/{reporter_of(path)}/ must be of that cluster"
        named = "namespace" if known.scopes[kind] else "name"
        expected = f"the {named} {wanted}, or the folder of the cluster that it is of"
    else:
        return None
    return Fault(
        path=path,
        line=document.line,
        column=document.column,
        field=document.pointer,
        rule=rule,
        message=message,
        expected=expected,
        subject=described(document.identity),
    )


def _is_of_reporter(path: str, identity: Identity, known: KnownKinds) -> bool:
    """Return whether a report is of its folder's cluster, by its namespace or else its name."""
    kind = (identity.group, identity.kind)
    wanted = known.reported.get(kind)
    if wanted is None:
        return True
    named = identity.namespace if known.scopes[kind] else identity.name
    return named == wanted.format(reporter_of(path))


def _duplicate(
    file: FileValidation, document: ValidDocument, found: list[tuple[FileValidation, ValidDocument]]
) -> Fault:
    """Return the faults of an object that is written more than once, and where else."""
    others = ", ".join(f"{other.path}:{twin.line}" for other, twin in found if twin is not document)
    subject = described(document.identity)
    return Fault(
        path=file.path,
        line=document.line,
        column=document.column,
        field=document.pointer,
        rule=DUPLICATE,
        message=f"{subject} must be written once, it stands also in {others}",
        expected="one document for each object",
        subject=subject,
    )


_NEARLY = re.compile(r"[^.].*\.ya?ml(?:~|\.[\w-]+~?)")


def _is_nearly_input(path: str) -> bool:
    """Return whether a file may well hold manifests and is not read for its name alone.

    Such are files of Helm and Kustomize, copies that an editor or a mail program named, and, below
    the root, files whose names begin with a dot. Folders that begin with a dot are other tools'.

    >>> _is_nearly_input("charts/web/Chart.yaml"), _is_nearly_input("policies/new.yaml.txt")
    (True, True)
    >>> _is_nearly_input("policies/new.yaml"), _is_nearly_input(".github/workflows/new.yaml.txt")
    (False, False)
    """
    folder, _, name = path.rpartition("/")
    if folder.startswith(".") or "/." in folder:
        return False
    if is_manifest_name(path):
        return matches_any(path, NOT_MANIFESTS) or (bool(folder) and name.startswith("."))
    return _NEARLY.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Chooses the files that people write.

    Attributes:
        ours: Folders that passes write to, each with a slash at its end: the output root, and those
            that are delivered to.
        include: Globs of the configuration.
        exclude: Globs of the configuration.
    """

    ours: tuple[str, ...]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __call__(self, path: str) -> bool:
        """Return whether a file is input, by its root-relative path as it is shown."""
        if path == CONFIGURATION_PATH:
            return True
        return not path.startswith(self.ours) and selects(
            path, include=self.include, exclude=self.exclude
        )

    def passes_over(self, path: str) -> bool:
        """Return whether a file may hold manifests and is no input for nothing but its name."""
        if path.startswith(self.ours) or not _is_nearly_input(path):
            return False
        wanted = not self.include or matches_any(path, self.include)
        return wanted and not matches_any(path, self.exclude)

    def among(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield those of many files that are input."""
        theirs = [path for path in paths if not path.startswith(self.ours)]
        if CONFIGURATION_PATH in theirs:
            theirs.remove(CONFIGURATION_PATH)
            yield CONFIGURATION_PATH
        yield from selected(theirs, include=self.include, exclude=self.exclude)


def input_files(
    settings: Settings, layout: RepositoryLayout, outputs: Mapping[ObjectKey, Manifest]
) -> InputFiles:
    """Return which files are input.

    Args:
        settings: Those of the configuration in force.
        layout: Where passes write.
        outputs: What stands in it; the record of delivery says where was delivered to.
    """
    return _outside(layout.output_root, settings, outputs)


def inputs_in(world: World) -> InputFiles:
    """Return which files are input in a world."""
    return _outside(world.output_root, settings_in(world), world.outputs)


def _outside(folder: str, settings: Settings, outputs: Mapping[ObjectKey, Manifest]) -> InputFiles:
    """Return which files are input beside a folder of outputs and what these say of delivery."""
    folders = (folder, *filter(None, roots_of(recorded(outputs))))
    ours = tuple(f"{folder}/" for folder in folders)
    return InputFiles(ours, settings.include, settings.exclude)
