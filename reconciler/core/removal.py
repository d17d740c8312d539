"""Removing a person's finished object: its file, or its document where the file holds others."""

from collections import defaultdict
from collections.abc import Container, Iterable

from reconciler.core.changes import Change, DeleteFile, WriteFile
from reconciler.manifests.edits.document_removal import cut
from reconciler.manifests.text.reader import Document, read
from reconciler.model.fields import text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.rebalance.kinds import REBALANCE_KINDS

REMOVABLE = frozenset((kind.group, kind.kind) for kind in REBALANCE_KINDS)


def remove_documents(world: World, removed: Iterable[ObjectKey]) -> list[Change]:
    """Return the changes that take the documents of the removed objects out of their files.

    Every other byte of the files stays: comments, other documents, their order.
    """
    indices: dict[str, list[int]] = defaultdict(list)
    for key in removed:
        origin = world.inputs[key].origin
        indices[origin.path].append(origin.index)
    changes: list[Change] = []
    for path, positions in indices.items():
        data = world.texts[path]
        for index in sorted(positions, reverse=True):
            data = cut(data, index)
        changes.append(WriteFile(path, data.decode("utf-8")) if data else DeleteFile(path))
    return changes


def removable(world: World, key: ObjectKey, busy: Container[str] = ()) -> bool:
    """Return whether the document of an object can be taken out of its file now.

    Never from a List, of which it is a part, nor where outputs are on a branch of their own. Not
    while the file is faulty: its documents cannot be told apart for sure, and an earlier version
    of them may be in force. Not either while it is among the `busy` ones.
    """
    origin = world.inputs[key].origin
    path = origin.path
    if origin.pointer or world.apart:
        return False
    faulty = {entry.path for entry in world.held} | {fault.path for fault in world.faults}
    return path in world.texts and path not in faulty and path not in busy


def loses_demands_only(before: bytes, after: bytes | None, path: str) -> bool:
    """Return whether a file lost documents of rebalancers or triggers, and is otherwise the same.

    Args:
        before: The file as it was.
        after: As it is now, `None` if it is gone.
        path: Root-relative.
    """
    left = [] if after is None else [one.body for one in read(after, path).documents]
    lost = [one for one in read(before, path).documents if one.body not in left]
    data = before
    try:
        for document in reversed(lost):
            if not _is_removable(document):
                return False
            data = cut(data, document.index)
    except ValueError:
        return False
    return (data or None) == after


def _is_removable(document: Document) -> bool:
    group = text(document.body, "apiVersion").rpartition("/")[0]
    return not document.pointer and (group, text(document.body, "kind")) in REMOVABLE
