"""What a file holds, as text and back: all that validation found in it, or its short form.

Neither has a fault in it: a file with one is read again each time, so that places and sentences
come from the file itself. Nor is a file with a Secret stored, whose values have no business outside
of the repository. The short form has whose the documents are, and their labels, but no bodies: just
enough to choose the files that a question is about.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.index import misplaced_fault
from reconciler.core.inputs.validation import FileValidation, ValidDocument
from reconciler.manifests.admission import suspends
from reconciler.manifests.identity import Identity, namespace_for
from reconciler.manifests.paths import reporter_of
from reconciler.model.body import stored_bodies
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.labels import labels_of

SECRET: Kind = ("", "Secret")

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def needs_text(file: FileValidation, known: KnownKinds) -> bool:
    """Return whether the text of a file is asked for once it was read.

    It is where something is wrong, and where a pass may have to remove a document, or tells the
    lines of its fields.
    """
    return bool(file.broken or file.traces) or not known.texts.isdisjoint(_kinds(file))


def is_storable(file: FileValidation, known: KnownKinds) -> bool:
    """Return whether what was found in a file may be stored."""
    allowable = any(one.unless for one in file.documents)  # faults, too
    return not (allowable or needs_text(file, known) or SECRET in _kinds(file))


def encode_validation(file: FileValidation) -> str:
    """Return what was found in a file as text; ask `is_storable` first.

    The first line says which documents there are, the others hold their bodies.
    """
    documents = [
        (*_named(one.identity), one.index, one.line, one.column, one.pointer)
        for one in file.documents
    ]
    head = _encode((file.ignored, file.canonical, documents))
    return "\n".join((head, *(_encode(one.body) for one in file.documents)))


def decode_validations(
    stored: Sequence[tuple[str, str, str]], texts: dict[str, str]
) -> Iterator[FileValidation]:
    """Yield what was found in files, but for their texts, as `encode_validation` wrote it.

    Bodies are decoded when they are read.

    Args:
        stored: Path, blob id and what was stored of each file.
        texts: The values that were met so far; it grows.
    """
    lines = [text.split("\n") for _, _, text in stored]
    heads: list[Any] = _decode(f"[{','.join(head for head, *_ in lines)}]")
    held = iter(stored_bodies([body for _, *found in lines for body in found], texts))
    share = texts.setdefault
    for (path, blob, _), head in zip(stored, heads, strict=True):
        ignored, canonical, documents = head
        yield FileValidation(
            path,
            blob,
            tuple(
                ValidDocument(
                    Identity(*(share(name, name) for name in named)),
                    index,
                    line,
                    next(held),
                    column,
                    pointer,
                )
                for *named, index, line, column, pointer in documents
            ),
            (),
            ignored,
            b"",
            canonical=canonical,
        )


def _named(identity: Identity) -> tuple[str, str, str, str]:
    """Return the fields of an identity, in their order."""
    return identity.api_version, identity.kind, identity.namespace, identity.name


def _kinds(file: FileValidation) -> frozenset[Kind]:
    """Return the kinds of the documents of a file."""
    return frozenset((one.identity.group, one.identity.kind) for one in file.documents)


NOTHING = ""


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
    heads: list[Any] = _decode(f"[{','.join(line or 'null' for line in lines)}]")
    new: Any = tuple.__new__  # as `_make` does, in a fourth of the time
    for head in heads:
        if head is None:
            yield None
        else:
            ignored, documents = head
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
