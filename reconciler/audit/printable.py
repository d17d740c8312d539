"""User text as a terminal may show it."""


def printable(text: str) -> str:
    r"""Return text as one line without control characters; all else is as it was written.

    White space becomes a blank, what else cannot be printed its escape: nothing moves the cursor,
    and a file's text is unambiguous.

    >>> printable("spec.items[0]\nis \x1b[2J")
    'spec.items[0] is \\x1b[2J'
    """
    shown = text if text.isprintable() else "".join(map(_shown, text))
    return shown.strip()


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() else char.encode("unicode_escape").decode("ascii")
