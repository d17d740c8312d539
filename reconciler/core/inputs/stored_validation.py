"""What was found in a file without faults, as text and back.

Faults are not stored: their files are read again each time, so places and sentences come from one
place only. Nor are files with a Secret, whose values have no business outside of the repository.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from reconciler.core.inputs.file_validation import FileValidation, ValidDocument
from reconciler.manifests.identify import Identity
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
    return not (needs_text(file, known) or SECRET in _kinds(file))


def encode_validation(file: FileValidation) -> str:
    """Return what was found in a file as text; ask `is_storable` first."""
    documents = [
        (*_named(one.identity), one.index, one.line, one.column, one.pointer, one.body)
        for one in file.documents
    ]
    return _encode((file.ignored, file.canonical, documents))


def decode_validations(
    stored: Sequence[tuple[str, str, str]], texts: dict[str, str]
) -> Iterator[FileValidation]:
    """Yield what was found in files, but for their texts, as `encode_validation` wrote it.

    They are read as one text, and equal keys and values of their documents are one in memory, or
    else a large repository would take a third more of it.

    Args:
        stored: Path, blob id and what was stored of each file.
        texts: The values that were met so far; it grows.
    """
    found: list[Any] = _decode(f"[{','.join(text for _, _, text in stored)}]")
    _share(found, texts)
    for (path, blob, _), (ignored, canonical, documents) in zip(stored, found, strict=True):
        yield FileValidation(
            path,
            blob,
            tuple(
                ValidDocument(Identity(*named), index, line, body, column, pointer)
                for *named, index, line, column, pointer, body in documents
            ),
            (),
            ignored,
            b"",
            canonical=canonical,
        )


def _share(found: list[Any], texts: dict[str, str]) -> None:
    """Replace each text by the first that is equal to it."""
    share = texts.setdefault
    nodes: list[Any] = [found]
    for node in nodes:  # it grows on the way
        for place, value in node.items() if isinstance(node, dict) else enumerate(node):
            kind = type(value)
            if kind is str:
                node[place] = share(value, value)
            elif kind is dict or kind is list:
                nodes.append(value)


def _named(identity: Identity) -> tuple[str, str, str, str]:
    """Return the fields of an identity, in their order."""
    return identity.api_version, identity.kind, identity.namespace, identity.name


def _kinds(file: FileValidation) -> frozenset[Kind]:
    """Return the kinds of the documents of a file."""
    return frozenset((one.identity.group, one.identity.kind) for one in file.documents)
