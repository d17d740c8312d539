"""Plain scalars: the YAML 1.2 core schema, and what YAML 1.1 would have made of them.

Kubernetes tools read YAML 1.1, people think in 1.2. Where the two agree there is a value; where
they do not, the writer must say which is meant. A plain integer with a leading zero is the
exception: it is read in base eight, as Kubernetes reads it.
"""

import math
import re
from dataclasses import dataclass

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
TRUES = frozenset({"true", "True", "TRUE"})
FALSES = frozenset({"false", "False", "FALSE"})
YES = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
NO = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})

_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_OCTAL = re.compile(r"([-+]?)0([0-7]+)")
_PREFIXED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NON_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_UNDERSCORED = re.compile(r"[-+]?(0[bx])?[0-9a-fA-F]*_[0-9a-fA-F_]*(\.[0-9_]*)?")
_BINARY = re.compile(r"[-+]?0b[01]+")
_BASE_SIXTY = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?")
LONGEST_NUMBER = 64  # more digits than any quantity has
_MAYBE_NUMBER = frozenset("0123456789+-.")


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A plain scalar without one meaning: the rule it breaks, and the spellings that have one."""

    rule: str
    message: str
    expected: str


def resolve(text: str) -> object:
    """Return the value of a plain scalar, or why it has none.

    >>> resolve("0755"), resolve("1e3"), resolve("2026-01-02")
    (493, 1000.0, '2026-01-02')
    >>> resolve("no").expected
    '"no" in quotes for the text, false for the boolean'
    """
    if text in NULLS:
        return None
    if text[0] in _MAYBE_NUMBER:
        return _number(text)
    if text in TRUES or text in FALSES:
        return text in TRUES
    if text in YES or text in NO:
        return Ambiguous(
            "yaml-ambiguous-scalar",
            f"{text} is a boolean to some readers and a text to others",
            f'"{text}" in quotes for the text, {"true" if text in YES else "false"} '
            "for the boolean",
        )
    return text


def _number(text: str) -> object:
    """Read what begins like a number."""
    if len(text) > LONGEST_NUMBER and not text.lstrip("+-").strip("0123456789_."):
        return _non_finite(text)
    if _DECIMAL.fullmatch(text):
        return int(text)
    if octal := _OCTAL.fullmatch(text):
        return int(octal[1] + octal[2], 8)
    if _PREFIXED.fullmatch(text):
        return int(text, 0)
    if _NON_FINITE.fullmatch(text):
        return _non_finite(text)
    if _FLOAT.fullmatch(text):
        if text.lstrip("+-").startswith("0") and text.lstrip("+-").isdigit():
            return _ambiguous_number(text)
        value = float(text)
        return value if math.isfinite(value) else _non_finite(text)
    if _BINARY.fullmatch(text) or _BASE_SIXTY.fullmatch(text) or _UNDERSCORED.fullmatch(text):
        return _ambiguous_number(text)
    return text


def _non_finite(text: str) -> Ambiguous:
    """Say that no field holds such a number."""
    return Ambiguous(
        "yaml-not-finite",
        f"{text} is not a finite number",
        f'"{text}" in quotes for the text, or a number of usual size',
    )


def _ambiguous_number(text: str) -> Ambiguous:
    """Say that readers disagree about a number."""
    return Ambiguous(
        "yaml-ambiguous-scalar",
        f"{text} is a number to some readers and a text to others",
        f'"{text}" in quotes for the text, plain decimal digits for the number',
    )
