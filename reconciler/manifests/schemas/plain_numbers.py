"""Numbers of a document as its schema has them: `2.0` is the whole number 2, `0.5` a quantity."""

from collections.abc import Mapping
from typing import Any

from reconciler.manifests.schemas.schema_nodes import Json, SchemaNode, below, part, resolved


def with_plain_numbers(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document whose numbers have the types that its schema asks for, where they can.

    A number without a remainder is a whole number where one is asked for, as for an API server. A
    fraction becomes text where the schema takes both, which it does for the quantities of an
    aggregated API: those are decoded from their text. Content of any form passes through.

    Args:
        value: The document, or a part of it.
        node: What the schema says of it, `None` where it says nothing.
        files: Path to schema file.

    Source: kube-openapi pkg/validation/validate/type.go `typeValidator`; apimachinery
    pkg/api/resource/quantity.go `UnmarshalJSON`.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is dict:
        return {key: with_plain_numbers(one, below(node, key), files) for key, one in value.items()}
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        return [with_plain_numbers(one, within, files) for one in value]
    return _plain(value, node.schema.get("type", ())) if type(value) is float else value


def _plain(number: float, types: object) -> object:
    """Return a number as one of the types that a schema allows.

    >>> _plain(2.0, "integer"), _plain(2.5, "integer"), _plain(0.5, ["number", "string"])
    (2, 2.5, '0.5')
    """
    allowed = [types] if isinstance(types, str) else types
    if not isinstance(allowed, list):
        return number
    if "number" in allowed:
        return repr(number) if "string" in allowed else number
    return int(number) if "integer" in allowed and number.is_integer() else number
