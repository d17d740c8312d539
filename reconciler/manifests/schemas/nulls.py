"""Nulls of a document: a plain field that is null is absent, an entry of a map must have a value.

What a schema judges and what is decoded are one document, the one that is returned here.
"""

from collections.abc import Mapping
from typing import Any

from reconciler.manifests.schemas.schema_nodes import Json, SchemaNode, below, part, resolved


def without_nulls(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document without the plain fields that are null; itself where there are none.

    A field is plain if the schema names it, unless null has a meaning of its own there, or takes
    fields that it does not name into a mapping that has others. Content of any form passes through.
    # Unlike upstream: an entry of a map (labels, a selector, quantities) keeps its null, so that
    # the schema refuses it. An API server reads "" there; without the entry, more is selected.

    Args:
        value: The document, or a part of it.
        node: What the schema says of it, `None` where it says nothing.
        files: Path to schema file.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is dict:
        kept = {
            key: without_nulls(one, below(node, key), files)
            for key, one in value.items()
            if one is not None or not _is_plain(node, key, files)
        }
        same = len(kept) == len(value) and all(kept[key] is one for key, one in value.items())
        return value if same else kept
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        items = [without_nulls(one, within, files) for one in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def _is_plain(node: SchemaNode, key: str, files: Mapping[str, Json]) -> bool:
    """Return whether a key is a field that has no meaning for null, and no entry of a map."""
    fields = node.schema.get("properties", {})
    if key not in fields:
        return bool(fields) and node.schema.get("additionalProperties") is not False
    return "null" not in resolved(SchemaNode(node.file, fields[key]), files).schema.get("type", ())
