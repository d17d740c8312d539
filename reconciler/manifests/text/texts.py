"""Bytes of a file to text that may be parsed: encoding, size, and files that are no manifests."""

import re

from reconciler.manifests.text.limits import MAX_BYTES
from reconciler.manifests.text.unreadable import Unreadable

BOM = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
CONFLICT = re.compile(rb"^<{7}(?: |\r?$)", re.MULTILINE)
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


def text_of(data: bytes) -> str:
    """Return the text of a file, without its byte order mark.

    Raises:
        Unreadable: The file is too large, not UTF-8, has control characters or unresolved merge
            conflicts, or stands for a file that Git LFS keeps elsewhere.
    """
    if len(data) > MAX_BYTES:
        raise Unreadable(
            "yaml-size",
            f"A manifest file must have at most {MAX_BYTES} bytes, this one has {len(data)}.",
            "Split it, or exclude it in reconciler.yaml.",
            line=1,
            column=1,
        )
    if data.startswith(LFS_POINTER):
        raise Unreadable(
            "yaml-lfs-pointer",
            "A manifest must be in Git itself, this file is a Git LFS pointer.",
            "Remove the file's pattern from .gitattributes and add it again.",
            line=1,
            column=1,
        )
    conflict = CONFLICT.search(data) if b"<<<<<<<" in data else None
    if conflict:
        raise Unreadable(
            "yaml-conflict-marker",
            "A merge conflict must be resolved before it is committed.",
            "Keep one side and remove the lines <<<<<<<, ======= and >>>>>>>.",
            line=data.count(b"\n", 0, conflict.start()) + 1,
            column=1,
        )
    text = _decoded(data)
    control = CONTROL.search(text)
    if control:
        raise _encoding(
            f"A manifest must not have control characters, found U+{ord(control[0]):04X}.",
            'Write it as an escape in double quotes, such as "\\x07".',
            text[: control.start()],
        )
    return text


def _decoded(data: bytes) -> str:
    if data.startswith(UTF_16) or (len(data) > 1 and 0 in data[:2] and data[:2] != b"\0\0"):
        raise _encoding("A manifest must be UTF-8, this file is UTF-16.", "Save it as UTF-8.", "")
    start = len(BOM) if data.startswith(BOM) else 0
    try:
        return data[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        bad = data[start + error.start]
        raise _encoding(
            f"A manifest must be UTF-8, the byte 0x{bad:02X} is not.",
            "Save it as UTF-8.",
            data[start : start + error.start].decode("utf-8"),
        ) from error


def _encoding(message: str, expected: str, before: str) -> Unreadable:
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Unreadable("yaml-encoding", message, expected, line=line, column=column)
