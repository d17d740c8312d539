"""Reads as much of a commit as a question is about, with the help of an index of its files.

Which objects a commit has follows from the short forms of its files, as for a Tab.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.index import inputs_in
from reconciler.core.inputs.stored import key_in
from reconciler.manifests.identity import CRD, scopes_of_crds
from reconciler.manifests.paths import ALONE, RECORD, folder_of, is_escaped, output_path
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.world import World
from reconciler.shell.reading.commit_part import CommitHeads, CommitPart, NamedFiles
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.tables import INPUTS, OUTPUTS, File, FileIndex

MOST_UNKNOWN_PERCENT = 10  # ours: where more has to be read, all is


class PartReader:
    """Answers for one repository; without an index it has no answer, and all is to be loaded."""

    def __init__(self, loader: Loader, index: FileIndex | None, place: str) -> None:
        self._loader = loader
        self._index = index
        self._place = place

    def heads(self, revision: str) -> CommitHeads | None:
        """Return what the files of a commit hold in short, `None` if all is sooner loaded.

        What all hold is noted then, for the next question.
        """
        heads = self.known_heads(revision)
        if heads is None and self._index is not None:
            self._loader.load(revision)
            self._note()
        return heads

    def known_heads(self, revision: str) -> CommitHeads | None:
        """Return what the files of a commit hold in short, `None` if too many are unknown.

        Raises:
            GitError: The commit cannot be read.
            ShellError: The last good version of a faulty file is not in this repository.
            UsageError: The output root is a folder of people's manifests.
        """
        if self._index is None or not self._index.is_worth(len(self._loader.entries(revision)[0])):
            return None
        root = self._loader.layout.output_root
        records = frozenset(output_path(root, key) for key in ALONE)
        world = self._loader.load(revision, part=CommitPart(NamedFiles(), NamedFiles(records)))
        if RECORD not in world.outputs:
            return None  # whether a pass wrote what stands there, all of it tells
        files = self._files(revision, world)
        heads = self._index.find(self._place, files)
        if heads is None:
            return None
        unknown = [file for file in files if heads[file[1]] is None]
        if len(unknown) * 100 > len(files) * MOST_UNKNOWN_PERCENT:
            return None
        # What was removed depends on the records of what a pass may remove.
        folders = tuple(f"{root}/{folder_of(*kind)}/" for kind in KINDS.removable)
        removable = (path for _, path, _ in files if path.startswith(folders))
        return CommitHeads(
            inputs={path: heads[path] for rules, path, _ in files if rules == INPUTS},
            outputs={path: heads[path] for rules, path, _ in files if rules == OUTPUTS},
            always=records.union(world.edited, removable),
        )

    def world(self, revision: str, part: CommitPart) -> World:
        """Return a world of a part: what was asked for is as in the whole one, of others any.

        Raises:
            GitError: The commit cannot be read.
            ShellError: The last good version of a faulty file is not in this repository.
        """
        world = self._loader.load(revision, part=part)
        self._note()
        return world

    def _note(self) -> None:
        """Note what was read that was not known."""
        if self._index is not None:
            for rules, files in self._loader.read_last():
                self._index.note(rules, files)

    def _files(self, revision: str, world: World) -> list[File]:
        """Return the files of people and those below the output root."""
        covers, below = inputs_in(world), f"{world.output_root}/"
        inputs, outputs = self._loader.entries(revision)
        return [
            *((INPUTS, path, inputs[path].blob) for path in covers.among(inputs)),
            *(
                (OUTPUTS, path, entry.blob)
                for path, entry in outputs.items()
                if path.startswith(below) and not is_escaped(path)
            ),
        ]


class PresentKeys(NamedTuple):
    """The keys of what people wrote and of what passes wrote, as the whole world has them."""

    inputs: frozenset[ObjectKey]
    outputs: frozenset[ObjectKey]

    @property
    def every(self) -> frozenset[ObjectKey]:
        """All of them."""
        return self.inputs | self.outputs


def keys_of(world: World) -> PresentKeys:
    """Return the objects of a world."""
    return PresentKeys(frozenset(world.inputs), frozenset(world.outputs))


def present_keys(reader: PartReader, revision: str) -> PresentKeys | None:
    """Return the objects of a commit, `None` where only the whole world tells.

    That is so without an index, and where an object is written more than once.
    """
    heads = reader.known_heads(revision)
    if heads is None:
        return None
    part = heads.part({})
    world = reader.world(revision, part)
    crds = (manifest.body for manifest in world.of_kind(*CRD))
    scopes = {**scopes_of_crds(crds), **KINDS.scopes}
    unread = [*_unread(heads, part, scopes)]
    inputs = frozenset(unread)
    if len(inputs) < len(unread) or not inputs.isdisjoint(world.inputs):
        return None
    outputs = frozenset(_outputs(heads, part, scopes, world.output_root))
    return PresentKeys(inputs.union(world.inputs), outputs.union(world.outputs))


def _unread(
    heads: CommitHeads, part: CommitPart, scopes: Mapping[Kind, bool]
) -> Iterator[ObjectKey]:
    """Yield the keys in the files of people beside those that were read, but for reports."""
    for path, head in heads.inputs.items():
        if head is not None and not part.inputs(path):
            for document in head.documents:
                key = key_in(path, document, scopes)
                if not key.reporter:
                    yield key


def _outputs(
    heads: CommitHeads, part: CommitPart, scopes: Mapping[Kind, bool], root: str
) -> Iterator[ObjectKey]:
    """Yield the keys of the outputs that were not read, each at its own place."""
    for path, head in heads.outputs.items():
        if head is None or part.outputs(path) or len(head.documents) != 1:
            continue
        key = key_in(path, head.documents[0], scopes)
        if key[:2] in KINDS.outputs and output_path(root, key) == path:
            yield key
