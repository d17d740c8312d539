"""A step: from the input tree of the last committing pass to the present one.

What the shell knows of both trees without reading a file, and the earlier versions that must be
read where something cannot be understood now.
"""

from collections.abc import Callable, Container, Iterator, Mapping

from reconciler.core.inputs.index import InputIndex, key_of, misplaced_fault, origin_of
from reconciler.core.inputs.validation import FileValidation, ValidDocument
from reconciler.core.record import LastPass
from reconciler.manifests.schemas.violations import UpdateAdmission
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import CONFIGURATION_PATH, decode_settings
from reconciler.model.world import HeldFile, Manifest

Versions = Mapping[tuple[str, str], FileValidation]
"""What a file held in an earlier version, by path and blob id."""


@dataclass(frozen=True, slots=True)
class FileTree:
    """The manifest files of a commit, path to blob id, and its symbolic links and submodules."""

    files: Mapping[str, str] = field(default_factory=dict)
    links: frozenset[str] = frozenset()

    def link_at(self, path: str) -> str:
        """Return the link that stands at a path or at a folder above it, `""` if none does.

        >>> FileTree({}, frozenset({"clusters"})).link_at("clusters/member1.yaml")
        'clusters'
        """
        parts = path.split("/") if self.links else []
        heads = ("/".join(parts[: i + 1]) for i in range(len(parts)))
        return next((head for head in heads if head in self.links), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From the last committing pass to now.

    Attributes:
        index: What the input tree holds now.
        now: The files of the input tree now.
        then: The files of the input tree of the last committing pass.
        last: What that pass recorded.
        covers: Return whether a path is read as an input.
        recorded: Objects that the last pass left a file of.
        edited: The files that differ since, with the kinds of what they hold now.
        updates: What must not change of an object, by kind.
        versions: Those that `versions_needed` named; empty until they are read.
    """

    index: InputIndex
    now: FileTree
    then: FileTree
    last: LastPass
    covers: Callable[[str], bool]
    recorded: Container[ObjectKey]
    edited: Mapping[str, frozenset[Kind] | None] = field(default_factory=dict)
    updates: Mapping[Kind, UpdateAdmission] = field(default_factory=dict)
    versions: Versions = field(default_factory=dict)

    def versions_needed(self) -> frozenset[tuple[str, str]]:
        """Return path and blob id of the earlier versions that stand in, or are compared with."""
        then, broken, partial = self.then.files, self.index.broken, self.index.partial
        doubtful = {*broken, *partial, *(path for path, _ in self.linked())}
        needed = {(path, then[path]) for path in doubtful if path in then}
        if broken and CONFIGURATION_PATH in then:  # it says what was allowed then
            needed.add((CONFIGURATION_PATH, then[CONFIGURATION_PATH]))
        needed |= {(entry.path, entry.blob) for entry in self.last.held}
        judged = self.judged_paths()
        needed |= {(path, then[path]) for path in judged if path in then}
        doubtful.update(path for path in judged if path not in then)
        if any(then.get(path) != self.now.files.get(path) for path in doubtful):
            needed.update(self.vanished())
        return frozenset(needed)

    def judged_paths(self) -> frozenset[str]:
        """Return the edited files with an object of which not everything may change."""
        kinds = self.updates.keys()
        return frozenset(path for path, found in self.edited.items() if found and found & kinds)

    def in_force(self) -> Mapping[ObjectKey, Manifest]:
        """Return what was in force at the last committing pass, of the versions that are read."""
        manifests: dict[ObjectKey, Manifest] = {}
        for inspection in self.versions.values():
            if self.then.files.get(inspection.path) == inspection.blob:
                manifests |= self.offer(inspection).manifests
        for entry in self.last.held:
            manifests |= self.held_offer(entry).manifests
        return manifests

    def with_versions(self, versions: Versions) -> "Step":
        """Return the step with the versions that were needed."""
        return replace(self, versions=versions)

    def linked(self) -> Iterator[tuple[str, str]]:
        """Yield each path where a link has taken the place of a file, and the link."""
        if self.now.links:
            for path in sorted({*self.then.files, *(entry.path for entry in self.last.held)}):
                link = self.now.link_at(path)
                if link and self.covers(path):
                    yield path, link

    def vanished(self) -> Iterator[tuple[str, str]]:
        """Yield path and blob id of each file that is gone and stands nowhere else as it was."""
        moved = {blob for path, blob in self.now.files.items() if path not in self.index.broken}
        for path, blob in sorted(self.then.files.items()):
            gone = path not in self.now.files and blob not in moved
            if gone and self.covers(path) and not self.now.link_at(path):
                yield path, blob

    def then_at(self, path: str) -> FileValidation | None:
        """Return what a file held at the last committing pass, `None` if it was not there."""
        return self.versions.get((path, self.then.files.get(path, "")))

    def offers_at(self, path: str) -> "Iterator[EarlierVersion]":
        """Yield the versions of a file that may stand in for it, the preferred one first.

        First the version at the last committing pass, but for what was written twice in it; after
        that the versions that were already held at that pass.
        """
        recorded = self.then_at(path)
        if recorded is not None:
            yield self.offer(recorded)
        for entry in self.last.held:
            if entry.path == path:
                yield self.held_offer(entry)

    def offer(self, inspection: FileValidation) -> "EarlierVersion":
        """Return what a file offers as it was at the last committing pass.

        An object of which an earlier version was held then was not in force as its file had it, nor
        was one that the configuration did not allow.
        """
        twice = self.last.written_twice.get(inspection.path, frozenset())
        held = {key for entry in self.last.held for key in entry.keys}
        manifests = {
            key: one
            for key, one in self._manifests(inspection, self._allowed_then()).items()
            if str(key) not in twice and key not in held
        }
        return EarlierVersion(inspection, manifests)

    def held_offer(self, entry: HeldFile) -> "EarlierVersion":
        """Return what a version offers that was held already."""
        inspection = self.versions[entry.path, entry.blob]
        manifests = self._manifests(inspection)
        return EarlierVersion(
            inspection,
            {key: one for key, one in manifests.items() if key in entry.keys},
            entry.beside,
        )

    def _allowed_then(self) -> frozenset[str]:
        """Return what the configuration in force at the last committing pass allowed."""
        held = [one.blob for one in self.last.held if one.path == CONFIGURATION_PATH]
        blobs = (*held, self.then.files.get(CONFIGURATION_PATH, ""))
        versions = (self.versions.get((CONFIGURATION_PATH, blob)) for blob in blobs)
        bodies = (one.body for file in versions if file is not None for one in file.documents)
        return decode_settings(next(bodies, None)).allowed

    def _manifests(
        self, inspection: FileValidation, allowed: frozenset[str] | None = None
    ) -> dict[ObjectKey, Manifest]:
        """Return the valid documents of an earlier version; `allowed` of `None` allows all.

        What a pass itself removed when its time was over left no record, and stays removed.
        """
        offered = (
            self._keyed(inspection.path, document)
            for document in inspection.documents
            if misplaced_fault(inspection.path, document, self.index.known) is None
            and not (allowed is not None and document.refused_under(allowed))
        )
        removable = self.index.known.removable
        return {
            key: manifest
            for key, manifest in offered
            if (key.group, key.kind) not in removable or key in self.recorded
        }

    def _keyed(self, path: str, document: ValidDocument) -> tuple[ObjectKey, Manifest]:
        """Return a document with its key."""
        key = key_of(path, document, self.index.scopes)
        return key, Manifest(key, origin_of(path, document), document.body)


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """An earlier version of a file, and the documents that may be taken from it.

    `beside` are the files beside which its own file vanished, empty if it did not.
    """

    inspection: FileValidation
    manifests: Mapping[ObjectKey, Manifest]
    beside: tuple[str, ...] = ()
