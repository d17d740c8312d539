"""What a file holds, in short: whose its documents are, and their labels; no bodies, no faults.

The short form says enough to choose the files that a question is about. A file with a fault has
none, so that places and sentences come from the file itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.file_validation import FileValidation, ValidDocument
from reconciler.core.inputs.input_index import misplaced_fault
from reconciler.core.inputs.stored_validation import SECRET
from reconciler.manifests.feedback import reporter_of
from reconciler.manifests.identify import Identity
from reconciler.manifests.scope import namespace_for
from reconciler.manifests.suspension import suspends
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.labels import labels_of

NOTHING = ""

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class DocumentHead(NamedTuple):
    """Whose a document is, and whether it suspends anything.

    `labels` of `None` are not told here: the document has to be read.
    """

    group: str
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str] | None
    suspends: bool


WIDTH = {len(DocumentHead._fields)}


class FileHead(NamedTuple):
    """What a file holds; `ignored` counts documents that are no manifests."""

    ignored: int
    documents: Sequence[DocumentHead]


def encode_head(file: FileValidation) -> str:
    """Return the short form of a file on one line, `NOTHING` of one that has to be read itself."""
    if file.broken or file.traces or any(one.unless for one in file.documents):
        return NOTHING
    hidden = any((one.identity.group, one.identity.kind) == SECRET for one in file.documents)
    return _encode((file.ignored, [_document(one, hidden=hidden) for one in file.documents]))


def decode_heads(lines: Iterable[str]) -> Iterator[FileHead | None]:
    """Yield what `encode_head` wrote, `None` for `NOTHING`.

    Raises:
        ValueError: Something else is there.
    """
    found: list[Any] = _decode(f"[{','.join(line or 'null' for line in lines)}]")
    new: Any = tuple.__new__  # as `_make` does, in a fourth of the time
    for one in found:
        if one is None:
            yield None
        else:
            ignored, documents = one
            if {*map(len, documents)} - WIDTH:
                raise ValueError("a document has other fields")
            yield new(FileHead, (ignored, [new(DocumentHead, named) for named in documents]))


def is_misplaced(path: str, head: FileHead, known: KnownKinds) -> bool:
    """Return whether a document of a file may not stand there."""
    for group, kind, namespace, name, *_ in head.documents:
        identity = Identity(f"{group}/v1", kind, namespace, name)  # no place asks the version
        if misplaced_fault(path, ValidDocument(identity, 0, 1, {}), known) is not None:
            return True
    return False


def key_in(path: str, document: DocumentHead, scopes: Mapping[Kind, bool]) -> ObjectKey:
    """Return the key of a document as the index of inputs has it."""
    group, kind, written, name, *_ = document
    namespace = namespace_for(group, kind, written, scopes)
    return ObjectKey(group, kind, namespace, name, reporter_of(path))


def _document(document: ValidDocument, *, hidden: bool) -> tuple[object, ...]:
    """Return the fields of a `DocumentHead`; of a file with a Secret no labels are kept."""
    named = document.identity
    labels = None if hidden else labels_of(document.body)
    kind = named.group, named.kind
    return *kind, named.namespace, named.name, labels, suspends(kind, document.body, KINDS)
