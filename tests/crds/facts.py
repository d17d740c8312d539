"""What is known of one field, in the words of the field tables."""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

Facts = Mapping[str, str]
"""Name of a fact to its text: `type` to `integer`, `min` to `0`, `required` to nothing."""

Fields = Mapping[str, Facts]
"""Path of a field (`[]` is an item of a list, `{}` a value of a map) to what is known of it."""

NUMBERS: Mapping[str, str] = {
    "minimum": "min",
    "maximum": "max",
    "minLength": "minLen",
    "maxLength": "maxLen",
    "minItems": "minItems",
    "maxItems": "maxItems",
    "minProperties": "minProperties",
    "maxProperties": "maxProperties",
}
"""Limits, by keyword."""

ORDER = ("type", "required", "default", "enum", *NUMBERS.values(), "format", "nullable", "open")
RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
LAST = "pattern"
"""It may hold what parts facts, so nothing follows it."""


class KindVersion(NamedTuple):
    """A kind in one version."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        """Return it as reasons name it."""
        return f"{self.group}/{self.version} {self.kind}"


def shown(name: str, text: str) -> str:
    """Return a fact as a table has it.

    >>> shown("type", "integer"), shown("required", ""), shown("min", "0")
    ('integer', 'required', 'min=0')
    """
    if name == "type":
        return text
    return f"{name}={text}" if text else name


def line_of(facts: Facts) -> str:
    """Return the facts of one field as a table has them.

    >>> line_of({"min": "0", "type": "integer"})
    'integer; min=0'
    """
    names = sorted(facts, key=lambda name: (name == LAST, _rank(name), name))
    return "; ".join(shown(name, facts[name]) for name in names)


def _rank(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def facts_in(line: str) -> Facts:
    """Return the facts that stand in a line of a table.

    >>> facts_in("string; required; pattern=a; b")
    {'type': 'string', 'required': '', 'pattern': 'a; b'}
    """
    line, _, pattern = line.partition("; pattern=")
    kind, *rest = line.split("; ")
    facts = {"type": kind}
    for part in rest:
        name, _, text = part.partition("=")
        facts[name] = text
    return {**facts, LAST: pattern} if pattern else facts


def limits_of(node: Mapping[str, object]) -> dict[str, str]:
    """Return the facts that CRDs and JSON Schema have the same words for."""
    found = {name: json.dumps(node[key]) for key, name in NUMBERS.items() if key in node}
    found |= {key: str(node[key]) for key in ("format", LAST) if key in node}
    if "default" in node:
        found["default"] = json.dumps(node["default"])
    named = node.get("else")
    enum = (named if isinstance(named, Mapping) else node).get("enum")
    if isinstance(enum, Iterable):
        found["enum"] = "|".join(map(str, enum))
    return found


def asked(facts: Facts) -> Facts:
    """Return what an API server asks of a field of which these facts are known.

    A format of numbers is a range. A default is filled in before it is asked whether the field is
    there.
    """
    found = dict(facts)
    for name, bound in zip(("min", "max"), RANGES.get(facts.get("format", ""), ()), strict=False):
        found.setdefault(name, str(bound))
    if "default" in facts:
        found.pop("required", None)
    return found
