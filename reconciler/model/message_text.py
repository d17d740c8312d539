"""Text of people as messages may hold it: in one line, and never more than they need."""

LONGEST_MESSAGE_BYTES = 1024


def cut(text: str, limit: int = 200) -> str:
    r"""Return user text fit for a message, without quotes: one line, no control characters.

    >>> cut("a\nb"), cut("abcdef", 4)
    ('a\\nb', 'abc…')
    """
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short)


def shown(text: object, limit: int = 60) -> str:
    r"""Return user text fit for a message: in quotes, one line, no control characters, cut.

    >>> shown("a\nb")
    '"a\\nb"'
    """
    return f'"{cut(str(text), limit)}"'


def bounded(message: str) -> str:
    """Return a message of at most `LONGEST_MESSAGE_BYTES`; a longer one ends in an ellipsis."""
    if len(message) * 4 <= LONGEST_MESSAGE_BYTES:
        return message
    data = message.encode("utf-8", "replace")
    if len(data) <= LONGEST_MESSAGE_BYTES:
        return message
    return data[: LONGEST_MESSAGE_BYTES - 3].decode("utf-8", "ignore") + "…"
