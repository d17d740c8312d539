"""Texts and names: what may be shown, what may be named, and how it is spelled.

No name reaches a path, a ref or a message before it passed the checks of names here. User text is
made fit for a terminal, and for messages, in one line and no longer than they need. Numbers with a
fraction are spelled as Go writes them, commit ids are short, and a list in a sentence has the first
names, and how many more there are.
"""

import hashlib
import math
import re
from collections.abc import Iterable


def enumerated(names: Iterable[str], most: int) -> str:
    """Return the first names of a list, and how many more there are.

    >>> enumerated(("a", "b", "c", "d"), 3), enumerated(("a", "b"), 3), enumerated((), 3)
    ('a, b, c and 1 more', 'a, b', '')
    """
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def printable(text: str) -> str:
    r"""Return text as one line without control characters; all else is as it was written.

    White space becomes a blank, what else cannot be printed its escape: nothing moves the cursor,
    and a file's text is unambiguous.

    >>> printable("spec.items[0]\nis \x1b[2J")
    'spec.items[0] is \\x1b[2J'
    """
    if text.isprintable():
        return text.strip()
    return _escaped("".join(" " if c.isspace() else c for c in text)).strip()


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


SHORT_ID = 12
"""Ours: digits enough for one commit of a large repository, and few enough for a line of text."""


def short_id(revision: str) -> str:
    """Return the first digits of a commit id.

    >>> short_id("0123456789abcdef0123456789abcdef01234567")
    '0123456789ab'
    """
    return revision[:SHORT_ID]


_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LOOSE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_FOREIGN = re.compile(r"[^a-z0-9]")
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?|[a-z0-9]([-a-z0-9]*[a-z0-9])?")

LONGEST_NAME = 253  # DNS-1123 subdomain
LONGEST_LABEL = 63  # DNS-1123 label
LONGEST_KIND = 63
TOKEN = 10  # hexadecimal digits of a digest

SUBDOMAIN_RULE = (
    "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit, "
    "at most 253 characters"
)
LABEL_RULE = (
    "lower-case letters, digits and '-', beginning and ending with a letter or digit, "
    "at most 63 characters"
)
LOOSE_RULE = (
    "letters, digits, '-', '_', '.' and ':', beginning and ending with a letter or digit, "
    "at most 253 characters"
)


def is_subdomain(name: str) -> bool:
    """Return whether a name is a DNS-1123 subdomain."""
    return len(name) <= LONGEST_NAME and _SUBDOMAIN.fullmatch(name) is not None


def is_label(name: str) -> bool:
    """Return whether a name is a DNS-1123 label."""
    return len(name) <= LONGEST_LABEL and _LABEL.fullmatch(name) is not None


def is_loose_name(name: str) -> bool:
    """Return whether a workload may have this name: RBAC kinds use upper case and colons."""
    return len(name) <= LONGEST_NAME and _LOOSE.fullmatch(name) is not None


def built_name(wanted: str, identity: str) -> str:
    """Return a name that is built from others: as wanted where that is valid, else mended.

    Every character that no such name may hold becomes `-`, and a hash of whose name it is follows.

    >>> built_name("web-deployment", "Deployment web")
    'web-deployment'
    >>> built_name("system..leader-role", "Role system::leader")
    'system--leader-role-afc4d85f9d'
    """
    if is_subdomain(wanted):
        return wanted
    token = hashlib.sha256(identity.encode()).hexdigest()[:TOKEN]
    plain = _FOREIGN.sub("-", wanted.lower())[: LONGEST_NAME - TOKEN - 1].strip("-")
    return f"{plain}-{token}" if plain else token


def is_kind(kind: str) -> bool:
    """Return whether a text is a kind in upper camel case."""
    return len(kind) <= LONGEST_KIND and _KIND.fullmatch(kind) is not None


def is_api_version(api_version: str) -> bool:
    """Return whether a text is `version` or `group/version`."""
    group, slash, version = api_version.rpartition("/")
    return _VERSION.fullmatch(version) is not None and (not slash or is_subdomain(group))


EXPONENT = 6  # greater powers of ten, and those below -4, are written with an exponent


def float_text(number: float) -> str:
    """Return a number in the fewest digits, as `strconv.FormatFloat` with the format `g` does.

    >>> float_text(1.0), float_text(1234567.5), float_text(0.00001), float_text(1e21)
    ('1', '1.2345675e+06', '1e-05', '1e+21')
    """
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1, number) < 0 else ""
    digits, power = digits_of(number)
    if not -4 <= power < EXPONENT:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):02}"
    return sign + _plain(digits, power)


def plain_text(number: float) -> str:
    """Return a finite number in the fewest digits, never with an exponent.

    >>> plain_text(1e21), plain_text(-0.00001)
    ('1000000000000000000000', '-0.00001')
    """
    return ("-" if number < 0 else "") + _plain(*digits_of(number))


def digits_of(number: float) -> tuple[str, int]:
    """Return the fewest digits that tell a finite number, and the power of ten of the first."""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + ("" if fraction == "0" else fraction)
    power = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(digits.lstrip("0")))
    stripped = digits.lstrip("0").rstrip("0")
    return (stripped, power) if stripped else ("0", 0)


def _plain(digits: str, power: int) -> str:
    if power < 0:
        return f"0.{'0' * (-power - 1)}{digits}"
    rest = digits[power + 1 :]
    return digits[: power + 1].ljust(power + 1, "0") + (f".{rest}" if rest else "")


LONGEST_MESSAGE_BYTES = 1024


def cut(text: str, limit: int = 200) -> str:
    r"""Return user text fit for a message, without quotes: one line, no control characters.

    >>> cut("a\nb"), cut("abcdef", 4)
    ('a\\nb', 'abc…')
    """
    return _escaped(text if len(text) <= limit else text[: limit - 1] + "…")


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
