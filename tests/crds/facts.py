"""What is known of one field, in the words of the field tables."""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from reconciler.model.body import Body
from tests.manifests.shipped_schemas import documents

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


NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
TEXT = re.compile(".*", re.DOTALL)
TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "int-or-string": (int, str),
    "any": (object,),
}
EMBEDDED = "x-kubernetes-embedded-resource"


def refusals(body: Body, fields: Fields) -> Iterator[str]:
    """Yield what an API server would refuse or prune, a sentence each.

    Args:
        body: The object.
        fields: The facts of its kind.
    """
    yield from metadata_refusals(body)
    rest = {name: one for name, one in body.items() if name not in ("apiVersion", "kind")}
    rest.pop("metadata", None)
    yield from _of_object(rest, "", fields)


def metadata_refusals(body: object) -> Iterator[str]:
    """Yield what any API server refuses of an object, whatever its kind."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(metadata, Mapping):
        yield "metadata is missing"
        return
    yield from (f"{name} is missing" for name in ("apiVersion", "kind") if not body.get(name))
    if "name" not in metadata:
        yield "metadata.name is missing"
    for name in ("name", "namespace"):
        if name in metadata and not NAME.fullmatch(str(metadata[name])):
            yield f"metadata.{name} is no name: {metadata[name]!r}"
    for field, form in (("labels", LABEL), ("annotations", TEXT)):
        for key, value in metadata.get(field, {}).items():
            if not isinstance(value, str) or not form.fullmatch(value):
                yield f"metadata.{field}.{key} is no {field[:-1]}: {value!r}"


def _of_object(value: Mapping[str, object], path: str, fields: Fields) -> Iterator[str]:
    """Yield what is wrong with the fields of an object, those that are missing included."""
    below = f"{path}." if path else ""
    for name, one in value.items():
        inner = f"{below}{name}"
        if inner in fields:
            yield from _of_value(one, inner, fields)
        elif f"{path}{{}}" in fields:
            yield from _of_value(one, f"{path}{{}}", fields)
        elif "open" not in fields.get(path, {}):
            yield f"{inner} is no field of its CRD"
    for inner, facts in fields.items():
        name = inner.removeprefix(below)
        is_child = inner.startswith(below) and not re.search(r"[.\[{]", name)
        if is_child and "required" in asked(facts) and name not in value:
            yield f"{inner} is required"


def _of_value(value: object, path: str, fields: Fields) -> Iterator[str]:
    """Yield what is wrong with a value, and with what is in it."""
    facts = asked(fields[path])
    if value is None and "nullable" in facts:
        return
    if not _is_of(value, facts["type"]):
        yield f"{path} must be of type {facts['type']}: {value!r}"
        return
    yield from _of_limits(value, path, facts)
    if isinstance(value, Mapping):
        if EMBEDDED in facts:
            yield from (f"{path}: {one}" for one in metadata_refusals(value))
        if "open" not in facts:
            yield from _of_object(value, path, fields)
    elif isinstance(value, list | tuple) and f"{path}[]" in fields:
        for one in value:
            yield from _of_value(one, f"{path}[]", fields)


def _is_of(value: object, kind: str) -> bool:
    """Return whether a value is of a type; in JSON true is no number."""
    if isinstance(value, bool):
        return kind in ("boolean", "any")
    return isinstance(value, TYPES[kind])


def _of_limits(value: object, path: str, facts: Facts) -> Iterator[str]:
    """Yield which limits a value is beyond."""
    if "enum" in facts and str(value) not in facts["enum"].split("|"):
        yield f"{path} must be one of {facts['enum']}: {value!r}"
    if LAST in facts and isinstance(value, str) and not re.search(facts[LAST], value):
        yield f"{path} must match {facts[LAST]}: {value!r}"
    if facts.get("format") == "date-time" and isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            yield f"{path} must be a moment: {value!r}"
    size = value if isinstance(value, int | float) else _size(value)
    for prefix in ("", "Len", "Items", "Properties"):
        low, high = facts.get(f"min{prefix}"), facts.get(f"max{prefix}")
        if low is not None and size < float(low):
            yield f"{path} is below its limit of {low}"
        if high is not None and size > float(high):
            yield f"{path} is beyond its limit of {high}"


def _size(value: object) -> int:
    """Return how long a text or a list is, and how many fields a mapping has."""
    return len(value) if isinstance(value, str | list | tuple | Mapping) else 0


AT_END = r"(?!\n)"  # Python's "$" also matches before a line end
SEVERAL = ["integer", "string"]


@cache
def our_schemas() -> Mapping[KindVersion, str]:
    """Return the file of each kind that we have a schema for."""
    found = {}
    for name, document in documents().items():
        if not name.startswith("definitions/"):
            properties = document["properties"]
            api_version, kind = properties["apiVersion"]["const"], properties["kind"]["const"]
            group, _, version = api_version.partition("/")
            found[KindVersion(group, version, kind)] = name
    return found


def schema_fields(name: str) -> Fields:
    """Return the fields that a schema file describes."""
    walked = walk(documents()[name], name, "")
    return {path: _facts(node, required=required) for path, node, required in walked}


def walk(
    node: dict[str, Any], base: str, path: str, *, required: bool = False
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield each field below a node: its path, its schema, and whether it is required."""
    node, base = resolved(node, base)
    if path:
        yield path, node, required
    for name, one in node.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        if below not in {"apiVersion", "kind", "metadata"}:
            yield from walk(one, base, below, required=name in node.get("required", ()))
    if isinstance(node.get("additionalProperties"), dict):
        yield from walk(node["additionalProperties"], base, path + "{}")
    if "items" in node:
        yield from walk(node["items"], base, path + "[]")


def resolved(node: dict[str, Any], base: str) -> tuple[dict[str, Any], str]:
    """Return a node with what its reference says, and the document that is from."""
    if "$ref" not in node:
        return node, base
    target, _, pointer = node["$ref"].partition("#")
    base = posixpath.normpath(posixpath.join(posixpath.dirname(base), target)) if target else base
    found: Any = documents()[base]
    for part in pointer.split("/")[1:]:
        found = found[part]
    inner, base = resolved(found, base)
    return {**inner, **{key: one for key, one in node.items() if key != "$ref"}}, base


def _is_open(node: dict[str, Any], kinds: list[str]) -> bool:
    """Return whether a node takes fields that it does not name."""
    if "object" not in kinds and kinds != ["any"]:
        return False
    return "properties" not in node and node.get("additionalProperties", True) is True


def _facts(node: dict[str, Any], *, required: bool) -> Facts:
    kinds = node.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    plain = [kind for kind in kinds if kind != "null"]
    found = {"type": "int-or-string" if plain == SEVERAL else "|".join(plain), **limits_of(node)}
    flags = {
        "required": required,
        "nullable": "null" in kinds,
        "open": _is_open(node, plain),
    }
    found |= {name: "" for name, holds in flags.items() if holds}
    if "x-kubernetes-list-map-keys" in node:
        found["listMapKeys"] = ",".join(node["x-kubernetes-list-map-keys"])
    if node.get("uniqueItems"):
        found["listType"] = "set"
    if LAST in found:
        assert not found[LAST].endswith("$"), found[LAST]  # it would also end before a line break
        found[LAST] = found[LAST].removesuffix(AT_END)
    return found
