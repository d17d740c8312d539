"""The way down a schema: what it says of the value of a key, behind which references."""

from collections.abc import Mapping
from posixpath import dirname, join, normpath
from typing import Any, NamedTuple

Json = Mapping[str, Any]


class SchemaNode(NamedTuple):
    """A part of a schema, and the schema file that its references start from."""

    file: str
    schema: Json


def below(node: SchemaNode, key: str) -> SchemaNode | None:
    """Return what the schema says of the value of a key, `None` if nothing."""
    named = node.schema.get("properties", {}).get(key)
    return part(node, node.schema.get("additionalProperties") if named is None else named)


def part(node: SchemaNode, schema: object) -> SchemaNode | None:
    """Return a part of a node, `None` if there is no schema for it."""
    return SchemaNode(node.file, schema) if isinstance(schema, Mapping) else None


def resolved(node: SchemaNode, files: Mapping[str, Json]) -> SchemaNode:
    """Return what the references of a node lead to."""
    while "$ref" in node.schema:
        path, _, pointer = node.schema["$ref"].partition("#")
        file = normpath(join(dirname(node.file), path)) if path else node.file
        schema = files[file]
        for step in pointer.split("/")[1:]:
            schema = schema[step]
        node = SchemaNode(file, schema)
    return node
