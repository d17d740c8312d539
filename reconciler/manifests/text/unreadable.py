"""The error that readers raise and catch among themselves, and how user text is quoted."""

import re

from reconciler.errors import MalformedManifest

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
    return f'"{UNPRINTABLE.sub(_escape, cut)}"'


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
