"""What was found in a file without faults, as text and back.

Faults are not stored: their files are read again each time, so places and sentences come from one
place only. Nor are files with a Secret, whose values have no business outside of the repository.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from reconciler.core.inputs.file_validation import FileValidation, ValidDocument
from reconciler.manifests.identify import Identity
from reconciler.model.body import stored_bodies
from reconciler.model.known_kinds import Kind, KnownKinds

SECRET: Kind = ("", "Secret")

_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def needs_text(file: FileValidation, known: KnownKinds) -> bool:
    """Return whether the text of a file is asked for once it was read.

    It is where something is wrong, and where a pass may have to remove a document.
    """
    return bool(file.broken or file.traces) or not known.removable.isdisjoint(_kinds(file))


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
