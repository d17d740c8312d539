"""Which objects a commit has, told by the short forms of its files, as for a Tab."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.file_head import key_in
from reconciler.manifests.paths import output_path
from reconciler.manifests.scope import CRD, scopes_of_crds
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import World
from reconciler.shell.reading.commit_part import CommitHeads, CommitPart
from reconciler.shell.reading.part_reader import PartReader


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
    crds = (one.body for one in world.of_kind(*CRD))
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
            for one in head.documents:
                key = key_in(path, one, scopes)
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
