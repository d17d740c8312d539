"""Documents as a webhook writes them back that decodes them: what is empty goes, or comes.

A schema says with `x-reconciler-rewritten` that its kind is written so before it is judged.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.manifests.schemas.schema_nodes import Json, SchemaNode, below, part, resolved

KEYWORD = "x-reconciler-rewritten"

EMPTY: Mapping[object, object] = {"string": "", "integer": 0, "boolean": False, "object": {}}
"""What Go writes of a field that is absent and must be there; a list or a map is left out."""


def with_required(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document with an empty text, number or object for each required one it lacks.

    So only enumerations and bounds refuse what is absent. Lists and maps are not filled in.

    Args:
        value: The document, or a part of it.
        node: What the schema says of it, `None` where it says nothing.
        files: Path to schema file.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/mutating.go `Handle`: the policy is
    decoded, and encoded whole.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        return [with_required(one, within, files) for one in value]
    fields = node.schema.get("properties")
    if type(value) is not dict or not fields:
        return value
    filled = dict(value)
    for key in node.schema.get("required", ()):
        empty = _empty(SchemaNode(node.file, fields[key]), files) if key in fields else None
        if empty is not None:
            filled.setdefault(key, empty)
    return {key: with_required(one, below(node, key), files) for key, one in filled.items()}


def without_empty(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document without the optional texts and lists that are empty.

    They are gone before the schema is asked, so no enumeration refuses them. Entries of maps and
    content of any form stay.

    Args:
        value: The document, or a part of it.
        node: What the schema says of it, `None` where it says nothing.
        files: Path to schema file.

    Source: as above; Go's `omitempty` stands where a CRD does not require a field.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        return [without_empty(one, within, files) for one in value]
    if type(value) is not dict:
        return value
    fields, required = node.schema.get("properties", {}), node.schema.get("required", ())
    return {
        key: without_empty(one, below(node, key), files)
        for key, one in value.items()
        if key in required or key not in fields or not _is_left_out(one, below(node, key), files)
    }


def _is_left_out(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> bool:
    """Return whether a value is the empty text or list of a field that is one.

    Of a field of another type it is what cannot be decoded.
    """
    kind = None if node is None else resolved(node, files).schema.get("type")
    return (value == "" and kind in ("string", None)) or (value == [] and kind in ("array", None))


def _empty(node: SchemaNode, files: Mapping[str, Json]) -> object:
    """Return the empty value of a field, `None` for a list, a map or an unknown type."""
    schema = resolved(node, files).schema
    if schema.get("type") == "object" and "properties" not in schema:
        return None
    return EMPTY.get(schema.get("type"))
