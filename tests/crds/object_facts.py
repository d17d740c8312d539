"""What of an object the facts of its CRD do not allow: as an API server would refuse it."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.model.body import Body
from tests.crds.facts import LAST, Facts, Fields, asked

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
