"""What a plain YAML scalar means: the 1.2 core schema, and where 1.1 would disagree.

Kubernetes reads manifests by rules close to YAML 1.1. A scalar that is one thing there and another
thing here is refused, so no file has two meanings.
"""

import math
import re
from functools import lru_cache

from reconciler.manifests.text.limits import MAX_DIGITS
from reconciler.manifests.text.unreadable import Unreadable, quoted

Scalar = str | int | float | bool | None

WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
BOOLEANS_1_1 = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), "true"),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), "false"),
}
INTEGER = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
BINARY = re.compile(r"[-+]?0b[01_]+")
SIGNED_HEXADECIMAL = re.compile(r"[-+]0x[0-9a-fA-F_]+")
SEXAGESIMAL = re.compile(
    r"[-+]?(?:[1-9][0-9_]*(?::[0-5]?[0-9])+|[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)"
)
UNDERSCORED = re.compile(
    r"[-+]?(?:0x[0-9a-fA-F_]+|0[0-7_]+|[0-9][0-9_]*|(?:[0-9][0-9_]*)?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?)"
)


@lru_cache(maxsize=1 << 14)
def plain_scalar(text: str) -> Scalar:
    """Return what a plain scalar means.

    Dates are text, as everywhere in Kubernetes. Integers with a leading zero are octal, as
    Kubernetes reads them.

    Raises:
        Unreadable: YAML 1.1 and 1.2 read the scalar differently, or it is no finite number. The
            position is left to the caller.

    Source: YAML 1.2.2 section 10.3.2, and YAML 1.1 types bool, int and float.

    >>> plain_scalar("0755"), plain_scalar("2026-01-02"), plain_scalar("~")
    (493, '2026-01-02', None)
    """
    if text in WORDS:
        return WORDS[text]
    if text in BOOLEANS_1_1:
        raise _ambiguous(text, BOOLEANS_1_1[text], "boolean")
    if text[0] not in "0123456789+-.":
        return text
    if INTEGER.fullmatch(text):
        return _integer(text)
    if BASED.fullmatch(text):
        return _sized(text, 0)
    if FLOAT.fullmatch(text):
        return _finite(text)
    if NOT_FINITE.fullmatch(text):
        raise _not_finite(text)
    return _text(text)


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    if len(digits) == 1 or digits[0] != "0":
        return _sized(text, 10)
    if "8" in digits or "9" in digits:
        raise _ambiguous(text, digits.lstrip("0"), "number")
    return _sized(text, 8)


def _sized(text: str, base: int) -> int:
    if len(text) > MAX_DIGITS:
        raise Unreadable(
            "yaml-number",
            f"A number must have at most {MAX_DIGITS} digits, {quoted(text)} has more.",
            "Put it in quotes if it is text.",
        )
    return int(text, base)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _not_finite(text)
    return number


def _text(text: str) -> str:
    """Return the scalar as text, unless YAML 1.1 sees a number in it."""
    if BINARY.fullmatch(text):
        raise _ambiguous(text, "", "number")
    if SIGNED_HEXADECIMAL.fullmatch(text) or ("_" in text and UNDERSCORED.fullmatch(text)):
        raise _ambiguous(text, text.replace("_", "") if text[1:2] != "0" else "", "number")
    if ":" in text and SEXAGESIMAL.fullmatch(text):
        raise _ambiguous(text, "", "number")
    return text


def _ambiguous(text: str, other: str, type_name: str) -> Unreadable:
    spelled = other or "its decimal digits"
    return Unreadable(
        "yaml-ambiguous-scalar",
        f"{quoted(text)} must be in quotes or spelled as a {type_name}: YAML 1.1 and 1.2 read it"
        " differently.",
        f"Write {quoted(text)} in quotes for the text, or {spelled} for the {type_name}.",
    )


def _not_finite(text: str) -> Unreadable:
    return Unreadable(
        "yaml-non-finite",
        f"A number must be finite, {quoted(text)} is not.",
        f"Write {quoted(text)} in quotes for the text.",
    )
