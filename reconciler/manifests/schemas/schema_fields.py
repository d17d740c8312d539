"""The fields that a schema describes: type, default, values, limits, description, required."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reconciler.manifests.schemas.schema_nodes import Json, SchemaNode, resolved

LIMITS: Mapping[str, str] = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matches {}",
    "format": "format {}",
}
"""Keyword of a schema to how its limit is said."""

WIDE = frozenset({-(2**31), 2**31 - 1, -(2**63), 2**63 - 1})
"""Limits that an integer has by its format; they go without saying."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaField:
    """One field.

    Attributes:
        name: Its name, of a whole document its kind.
        type: As kubectl spells types: `string`, `[]Object`, `map[string]string`.
        description: What it means.
        required: Whether the mapping that it is in must have it.
        default: As JSON, `""` without one.
        values: The only ones that it may have, empty if there are others.
        limits: What else must hold.
        fields: Of the mapping that it is, or of those that are listed in it; sorted.
    """

    name: str
    type: str
    description: str
    required: bool
    default: str
    values: tuple[str, ...]
    limits: tuple[str, ...]
    fields: tuple["SchemaField", ...]

    def below(self, name: str) -> "SchemaField | None":
        """Return a field of it, `None` if it has no such field."""
        return next((field for field in self.fields if field.name == name), None)


def field_of(
    node: SchemaNode, files: Mapping[str, Json], name: str, *, required: bool = False
) -> SchemaField:
    """Return what a schema says of a field, with all that is below it.

    Args:
        node: The part of the schema.
        files: Path to schema file; what they refer to must end somewhere.
        name: Of the field.
        required: Whether it must be there.
    """
    whole = resolved(node, files)
    schema, inner = whole.schema, _innermost(whole, files)
    needed = inner.schema.get("required", ())
    default = node.schema.get("default", schema.get("default"))
    named = schema.get("else", schema)  # but for what a setting may allow
    values = named.get("enum", [schema["const"]] if "const" in schema else [])
    below = inner.schema.get("properties", {})
    return SchemaField(
        name=name,
        type=_type(whole, files),
        description=node.schema.get("description", schema.get("description", "")),
        required=required,
        default="" if default is None else json.dumps(default, ensure_ascii=False),
        values=tuple(str(value) for value in values if value is not None),
        limits=tuple(_limits(schema)),
        fields=tuple(
            field_of(SchemaNode(inner.file, below[one]), files, one, required=one in needed)
            for one in sorted(below)
        ),
    )


def _innermost(node: SchemaNode, files: Mapping[str, Json]) -> SchemaNode:
    """Return what is listed in a list, or is the value of each entry of a map; else the node."""
    inside = node.schema.get("items", node.schema.get("additionalProperties"))
    if not isinstance(inside, Mapping) or "properties" in node.schema:
        return node
    return _innermost(resolved(SchemaNode(node.file, inside), files), files)


def _type(node: SchemaNode, files: Mapping[str, Json]) -> str:
    """Return a type as kubectl spells it."""
    schema = node.schema
    kinds = schema.get("type", "string" if "const" in schema or "enum" in schema else "any")
    if isinstance(kinds, list):
        return " or ".join(kind for kind in kinds if kind != "null")
    inside = schema.get("items" if kinds == "array" else "additionalProperties")
    if isinstance(inside, Mapping) and "properties" not in schema:
        part = _type(resolved(SchemaNode(node.file, inside), files), files)
        return f"[]{part}" if kinds == "array" else f"map[string]{part}"
    return "Object" if kinds == "object" else str(kinds)


def _limits(schema: Json) -> Iterator[str]:
    """Yield what must hold besides."""
    for keyword, said in LIMITS.items():
        limit = schema.get(keyword)
        if limit is not None and limit not in WIDE and limit not in ("int32", "int64"):
            yield said.format(limit)
