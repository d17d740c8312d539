"""What a signed commit of ours is for: a purpose, a branch and a root, named in its message.

A signature covers a commit, not the branch that it stands on: whoever may push can move any branch
to it. So what our key signs says in a trailer where it belongs. There is one writer of it and one
parser, and nothing that it says ever lets a commit count; it can only stop one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, unquote

FOR = "Reconciled-For"
PARAGRAPH = "\n\n"


class Purpose(StrEnum):
    """What a commit of ours does to its branch."""

    DECISIONS = "decisions"
    DELIVERY = "delivery"
    REPORTS = "reports"


@dataclass(frozen=True, slots=True)
class CommitPurpose:
    """Where a commit belongs: what it does, to which branch, for which root (`""` for the top)."""

    purpose: Purpose
    branch: str
    root: str = ""

    def __str__(self) -> str:
        """Return it as the trailer has it.

        >>> str(CommitPurpose(Purpose.DELIVERY, "fleet", "teams/a b"))
        'delivery fleet teams/a%20b'
        """
        return " ".join(filter(None, (self.purpose, _quoted(self.branch), _quoted(self.root))))


def with_purpose(message: str, purpose: CommitPurpose) -> str:
    r"""Return a commit message with the trailer that names its purpose.

    >>> with_purpose("Place web\n", CommitPurpose(Purpose.DECISIONS, "main"))
    'Place web\n\nReconciled-For: decisions main\n'
    """
    text = message.rstrip("\n")
    _, paragraph, last = text.rpartition(PARAGRAPH)
    trailers = bool(paragraph) and all(_is_trailer(line) for line in last.split("\n"))
    between = "\n" if trailers else PARAGRAPH
    return f"{text}{between}{FOR}: {purpose}\n"


def purposes_in(trailers: Sequence[tuple[str, str]]) -> list[CommitPurpose | None]:
    """Return what trailers say that a commit is for, `None` for what cannot be read."""
    return [_decoded(value) for key, value in trailers if key.lower() == FOR.lower()]


def _is_trailer(line: str) -> bool:
    key, colon, _ = line.partition(": ")
    return bool(colon) and key.replace("-", "").isalnum()


def _decoded(value: str) -> CommitPurpose | None:
    """Return what a trailer says, `None` if it is not to the letter as it is written."""
    words = value.split(" ")
    if words[0] not in list(Purpose) or len(words) not in (2, 3):
        return None
    found = CommitPurpose(Purpose(words[0]), *map(_unquoted, words[1:]))
    return found if str(found) == value else None


def _quoted(name: str) -> str:
    """Return a name without spaces and line ends; other characters of UTF-8 are written as %XX."""
    return quote(name, safe="/", errors="surrogateescape")


def _unquoted(text: str) -> str:
    return unquote(text, errors="surrogateescape")
