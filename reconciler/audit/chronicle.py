"""The events of commits: which outputs each changed, and what they held before and after."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.audit.happenings import TELLERS, Happening, edited, happened
from reconciler.audit.placed import PARTS
from reconciler.audit.revisions import Commit, FileChange, pass_of
from reconciler.manifests.identify import Identity, identify
from reconciler.manifests.reader import read
from reconciler.manifests.scope import PLURALS
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body

FOLDERS = frozenset(f"{PLURALS[kind]}.{group}" for group, kind in (*TELLERS, *PARTS.items()))

Texts = Mapping[str, bytes]
"""Blob id to content."""


def needed(changes: Sequence[FileChange], output_root: str) -> Iterator[str]:
    """Yield the ids of the blobs that the events of a commit are told from."""
    for change in changes:
        if _is_told(change.path, output_root):
            yield from (blob for blob in (change.before, change.after) if blob is not None)


def chronicle(
    commit: Commit, changes: Sequence[FileChange], texts: Texts, output_root: str
) -> list[Happening]:
    """Return the events of one commit, sorted by object, in upstream's order for each.

    Args:
        commit: A pass, or a person's commit: then its edits of outputs are told.
        changes: What it changed.
        texts: Every blob that `needed` names.
        output_root: Folder of the outputs.
    """
    found_pass = pass_of(commit)
    at = commit.committed_at if found_pass is None else found_pass[1]
    found = []
    for change in changes:
        if not _is_told(change.path, output_root):
            continue
        before, after = (
            _output(change.path, blob, texts) for blob in (change.before, change.after)
        )
        output = after or before
        if output is None:
            continue
        told = (
            [edited(*output, commit, gone=change.after is None)]
            if found_pass is None
            else happened(output[0], before and before[1], after and after[1])
        )
        found += [Happening(key=about, told=said, at=at, commit=commit) for about, said in told]
    return sorted(found, key=lambda happening: happening.key)


def _is_told(path: str, output_root: str) -> bool:
    """Say whether changes of a file are told as events: the rest need not be read."""
    folder, slash, rest = path.partition(f"{output_root}/")
    return not folder and bool(slash) and rest.partition("/")[0] in FOLDERS


def _output(path: str, blob: str | None, texts: Texts) -> tuple[ObjectKey, Body] | None:
    """Return an output and whose it is, `None` if it cannot be read."""
    documents = () if blob is None else read(texts.get(blob, b""), path).documents
    if not documents:
        return None
    body = documents[0].body
    match identify(body):
        case Identity() as found:
            return ObjectKey(found.group, found.kind, found.namespace, found.name), body
        case _:
            return None
