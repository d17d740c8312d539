"""Bytes of a file to text that may be parsed; the repository is untrusted input.

Encoding and size are checked, files that are no manifests are known, and limits say how large, deep
and numerous documents may be. The error that readers raise and catch among themselves is here, with
how it quotes user text.
"""

import math
import re

from reconciler.errors import MalformedManifest
from reconciler.model.records import dataclass

MAX_BYTES = 1 << 20  # ours: Kubernetes refuses objects above 1.5 MiB, etcd's limit
MAX_READ_BYTES = 16 << 20  # ours: a larger file is not even looked into
MAX_DEPTH = 64  # ours: real manifests stay below 20
MAX_NODES = 100_000  # ours: nodes of one document with its aliases written out
MAX_DOCUMENTS = 1000  # ours: documents of one file
MAX_REPORTS = 20  # ours: faults of one document, so that no report is endless
MAX_VIOLATIONS = 1000  # ours: what a schema finds wrong in one document, so that it ends soon
MAX_DIGITS = 100  # ours: int() is quadratic in the number of digits
SKIM_DEPTH = 1000  # ours: nesting at which the rest of a file is not even skimmed


@dataclass(frozen=True, slots=True)
class Oversized:
    """Stands in for the content of a file that is larger than the limit."""

    size_bytes: int


UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
SHOWN = 60  # characters of user text in a message


class Unreadable(MalformedManifest):
    """One rule of the reader is broken at one place.

    `rule` is a stable id, `expected` says what would be valid, `line` and `column` count from 1
    and are 0 where nothing can be pointed at.
    """

    def __init__(
        self, rule: str, message: str, expected: str = "", *, line: int = 0, column: int = 0
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.expected = expected
        self.line = line
        self.column = column


def quoted(text: str) -> str:
    r"""Return user text in double quotes, cut at 60 characters, with nothing unprintable in it.

    >>> quoted("a\nb")
    '"a\\nb"'
    """
    cut = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return f'"{UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), cut)}"'


def too_deep(line: int, column: int) -> Unreadable:
    """Return that a document is nested too deeply at a place."""
    return Unreadable(
        "yaml-depth",
        f"A document must be at most {MAX_DEPTH} levels deep.",
        "Flatten it.",
        line=line,
        column=column,
    )


def sized_integer(text: str, base: int = 10) -> int:
    """Return a whole number; where it stands is left to the caller, as below.

    Raises:
        Unreadable: It has too many digits.
    """
    if len(text) > MAX_DIGITS:
        raise Unreadable(
            "yaml-number",
            f"A number must have at most {MAX_DIGITS} digits, {quoted(text)} has more.",
            "Put it in quotes if it is text.",
        )
    return int(text, base)


def finite(text: str) -> float:
    """Return a number with a fraction or an exponent.

    Raises:
        Unreadable: It is too large.
    """
    number = float(text)
    if not math.isfinite(number):
        raise not_finite(text)
    return number


def not_finite(text: str) -> Unreadable:
    """Return that what is written is no finite number."""
    return Unreadable(
        "yaml-non-finite",
        f"A number must be finite, {quoted(text)} is not.",
        f"Write {quoted(text)} in quotes for the text.",
    )


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
