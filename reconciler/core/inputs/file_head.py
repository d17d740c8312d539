"""What a file holds, in short: whose its documents are, and their labels; no bodies, no faults.

The short form says enough to choose the files that a question is about. A file with a fault has
none, so that places and sentences come from the file itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reconciler.core.inputs.file_validation import FileValidation, ValidDocument
from reconciler.core.inputs.input_index import misplaced_fault
from reconciler.core.inputs.stored_validation import SECRET
from reconciler.manifests.feedback import is_feedback, reporter_of
from reconciler.manifests.identify import Identity
from reconciler.manifests.scope import CRD, namespace_for
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.labels import labels_of
from reconciler.model.settings import CONFIGURATION

NOTHING = ""

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class DocumentHead(NamedTuple):
    """Whose a document is. `labels` of `None` are not told here: the document has to be read."""

    group: str
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str] | None

    @property
    def id(self) -> Kind:
        """Group and kind."""
        return self.group, self.kind


class FileHead(NamedTuple):
    """What a file holds; `ignored` counts documents that are no manifests."""

    ignored: int
    documents: Sequence[DocumentHead]


def encode_head(file: FileValidation) -> str:
    """Return the short form of a file on one line, `NOTHING` of one that has to be read itself."""
    if file.broken or file.traces:
        return NOTHING
    hidden = any((one.identity.group, one.identity.kind) == SECRET for one in file.documents)
    return _encode((file.ignored, [_document(one, hidden=hidden) for one in file.documents]))


def decode_heads(lines: Iterable[str]) -> Iterator[FileHead | None]:
    """Yield what `encode_head` wrote, `None` for `NOTHING`."""
    found: list[Any] = _decode(f"[{','.join(line or 'null' for line in lines)}]")
    make = DocumentHead._make
    for one in found:
        yield None if one is None else FileHead(one[0], [make(named) for named in one[1]])


def is_always_read(path: str, head: FileHead, known: KnownKinds) -> bool:
    """Return whether a file of people has a say in what others mean, or may be faulty where it is.

    So has one with a definition of a kind, with documents that are no manifests, with a
    configuration, and one whose documents may not stand there.
    """
    return bool(head.ignored) or any(
        one.id == CRD
        or one.id in known.owned
        or one.id == CONFIGURATION
        or (is_feedback(path) and _is_misplaced(path, one, known))
        for one in head.documents
    )


def key_in(path: str, document: DocumentHead, scopes: Mapping[Kind, bool]) -> ObjectKey:
    """Return the key of a document as the index of inputs has it."""
    group, kind, written, name, _ = document
    namespace = namespace_for(group, kind, written, scopes)
    return ObjectKey(group, kind, namespace, name, reporter_of(path))


def _is_misplaced(path: str, document: DocumentHead, known: KnownKinds) -> bool:
    group, kind, namespace, name, _ = document
    identity = Identity(f"{group}/v1", kind, namespace, name)  # no rule of places asks the version
    return misplaced_fault(path, ValidDocument(identity, 0, 1, {}), known) is not None


def _document(document: ValidDocument, *, hidden: bool) -> tuple[object, ...]:
    """Return the fields of a `DocumentHead`; of a file with a Secret no labels are kept."""
    named = document.identity
    labels = None if hidden else labels_of(document.body)
    return named.group, named.kind, named.namespace, named.name, labels
