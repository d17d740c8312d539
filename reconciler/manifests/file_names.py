r"""Names of manifest files as people see them: what cannot be printed is written as git writes it.

Git allows every byte in a name but NUL. A name with a character that no eye sees, or that is not
UTF-8, stands everywhere with octal escapes, such as `web\302\240.yaml`. Only what reads a folder
knows the name as it is stored.
"""

import re
import unicodedata

SUFFIXES = (".yaml", ".yml", ".json")

_ESCAPE = re.compile(r"\\[0-3][0-7]{2}")


def shown_path(path: str) -> str:
    r"""Return a stored path as it is shown; no two paths are shown alike.

    A name that holds such an escape itself is escaped, too: its backslashes are `\134`.

    Args:
        path: POSIX, with surrogates in place of bytes that are not UTF-8.

    >>> shown_path("apps/web\u00a0.yaml"), shown_path("apps/web.yaml")
    ('apps/web\\302\\240.yaml', 'apps/web.yaml')
    """
    if path.isprintable() and ("\\" not in path or _ESCAPE.search(path) is None):
        return path
    return "".join(char if char.isprintable() and char != "\\" else _octal(char) for char in path)


def stored_path(shown: str) -> str:
    r"""Return the path that is shown so.

    >>> stored_path("apps/web\\302\\240.yaml") == "apps/web\u00a0.yaml"
    True
    """
    if not is_escaped(shown):
        return shown
    data = _ESCAPE.sub(lambda match: chr(int(match[0][1:], 8)), shown.encode().decode("latin-1"))
    return data.encode("latin-1").decode(errors="surrogateescape")


def is_escaped(shown: str) -> bool:
    """Return whether the name of a file holds what cannot be printed."""
    return "\\" in shown and _ESCAPE.search(shown) is not None


def is_manifest_name(shown: str) -> bool:
    r"""Return whether a file is named like a manifest, whatever unseen stands in the name.

    >>> is_manifest_name("web.yaml"), is_manifest_name("web.yaml\\302\\240")
    (True, True)
    >>> is_manifest_name("web.txt")
    False
    """
    return shown.endswith(SUFFIXES) or (is_escaped(shown) and plain_name(shown).endswith(SUFFIXES))


def unprintable_in(shown: str) -> str:
    r"""Return in words what an escaped name holds that cannot be printed, the first of it.

    >>> unprintable_in("web\\302\\240.yaml"), unprintable_in("caf\\351.yaml")
    ('U+00A0 NO-BREAK SPACE', 'the byte 351, which is not UTF-8')
    """
    char = next(c for c in stored_path(shown) if not c.isprintable() or c == "\\")
    if char == "\\":
        return "a backslash before three digits"
    if "\udc80" <= char <= "\udcff":
        return f"the byte {ord(char) - 0xDC00:03o}, which is not UTF-8"
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X}{f' {name}' if name else ''}"


def plain_name(shown: str) -> str:
    r"""Return an escaped name without its escapes, as a suggestion.

    >>> plain_name("apps/web\\302\\240.yaml")
    'apps/web.yaml'
    """
    return _ESCAPE.sub("", shown)


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode(errors="surrogateescape"))
