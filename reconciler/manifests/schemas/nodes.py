"""Documents made as their schema has them: nulls, plain numbers, and what a webhook writes back.

The way down a schema leads to what it says of the value of a key, behind references. By that a
plain field that is null is absent, and an entry of a map must have a value; `2.0` is the whole
number 2, `0.5` a quantity. What a schema judges and what is decoded are one document, the one that
is returned here.

A webhook that decodes a document and writes it back drops what is empty, or adds it. A schema says
with `x-reconciler-rewritten` that its kind is written so before it is judged. The formats that our
schemas assert are here, too.

What makes a document takes it or a part of it, what its schema says of that (`None` where it says
nothing), and the schema files by their paths.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from posixpath import dirname, join, normpath
from typing import Any, NamedTuple

from reconciler.model.moments import parse_instant

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


MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def is_moment(value: object) -> bool:
    """Return whether a value is an RFC 3339 moment as Kubernetes takes it; other types pass.

    >>> is_moment("2026-01-02T15:04:05Z"), is_moment("2026-02-30T00:00:00Z")
    (True, False)
    """
    if not isinstance(value, str):
        return True
    if not MOMENT.fullmatch(value):
        return False
    try:
        parse_instant(value)  # refuses a year that UTC does not have, too
    except ValueError:
        return False
    return True


def is_base64(value: object) -> bool:
    """Return whether a value is Base64; other types pass.

    >>> is_base64("YQ=="), is_base64("YQ")
    (True, False)
    """
    if not isinstance(value, str):
        return True
    try:
        b64decode(value.encode("utf-8"), validate=True)
    except binascii.Error:
        return False
    return True


def _is_wrapped_base64(value: object) -> bool:
    r"""Return whether a value is Base64 but for line breaks, which Go passes over.

    >>> _is_wrapped_base64("YQ==\n"), _is_wrapped_base64("YQ")
    (True, False)
    """
    return not isinstance(value, str) or is_base64(value.replace("\n", "").replace("\r", ""))


def is_re2(value: object) -> bool:
    """Return whether a value is a regular expression as RE2 takes it; other types pass.

    >>> is_re2("kube-.*"), is_re2("kube-(")
    (True, False)
    """
    if not isinstance(value, str):
        return True
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  # where a schema asks for it

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(value, options=options)
    except re2.error:
        return False
    return True


FORMATS: Mapping[str, Callable[[object], bool]] = {
    "date-time": is_moment,
    "byte": is_base64,
    "base64": _is_wrapped_base64,
    "re2": is_re2,
}
"""What our schemas may ask for, by name."""


def without_nulls(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document without the plain fields that are null; itself where there are none.

    A field is plain if the schema names it, unless null has a meaning of its own there, or takes
    fields that it does not name into a mapping that has others. Content of any form passes through.
    # Unlike upstream: an entry of a map (labels, a selector, quantities) keeps its null, so that
    # the schema refuses it. An API server reads "" there; without the entry, more is selected.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is dict:
        kept = {
            key: without_nulls(item, below(node, key), files)
            for key, item in value.items()
            if item is not None or not _is_plain(node, key, files)
        }
        same = len(kept) == len(value) and all(kept[key] is item for key, item in value.items())
        return value if same else kept
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        items = [without_nulls(item, within, files) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def _is_plain(node: SchemaNode, key: str, files: Mapping[str, Json]) -> bool:
    """Return whether a key is a field that has no meaning for null, and no entry of a map."""
    fields = node.schema.get("properties", {})
    if key not in fields:
        return bool(fields) and node.schema.get("additionalProperties") is not False
    return "null" not in resolved(SchemaNode(node.file, fields[key]), files).schema.get("type", ())


def with_plain_numbers(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document whose numbers have the types that its schema asks for, where they can.

    A number without a remainder is a whole number where one is asked for, as for an API server. A
    fraction becomes text where the schema takes both, which it does for the quantities of an
    aggregated API: those are decoded from their text. Content of any form passes through.

    Source: kube-openapi pkg/validation/validate/type.go `typeValidator`; apimachinery
    pkg/api/resource/quantity.go `UnmarshalJSON`.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is dict:
        return {
            key: with_plain_numbers(item, below(node, key), files) for key, item in value.items()
        }
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        return [with_plain_numbers(item, within, files) for item in value]
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


KEYWORD = "x-reconciler-rewritten"

EMPTY: Mapping[object, object] = {"string": "", "integer": 0, "boolean": False, "object": {}}
"""What Go writes of a field that is absent and must be there; a list or a map is left out."""


def with_required(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document with an empty text, number or object for each required one it lacks.

    So only enumerations and bounds refuse what is absent. Lists and maps are not filled in.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/mutating.go `Handle`: the policy is
    decoded, and encoded whole.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        return [with_required(item, within, files) for item in value]
    fields = node.schema.get("properties")
    if type(value) is not dict or not fields:
        return value
    filled = dict(value)
    for key in node.schema.get("required", ()):
        empty = _empty(SchemaNode(node.file, fields[key]), files) if key in fields else None
        if empty is not None:
            filled.setdefault(key, empty)
    return {key: with_required(item, below(node, key), files) for key, item in filled.items()}


def without_empty(value: Any, node: SchemaNode | None, files: Mapping[str, Json]) -> Any:
    """Return a document without the optional texts and lists that are empty.

    They are gone before the schema is asked, so no enumeration refuses them. Entries of maps and
    content of any form stay.

    Source: as above; Go's `omitempty` stands where a CRD does not require a field.
    """
    if node is None:
        return value
    node = resolved(node, files)
    if type(value) is list:
        within = part(node, node.schema.get("items"))
        return [without_empty(item, within, files) for item in value]
    if type(value) is not dict:
        return value
    fields, required = node.schema.get("properties", {}), node.schema.get("required", ())
    return {
        key: without_empty(item, below(node, key), files)
        for key, item in value.items()
        if key in required or key not in fields or not _is_left_out(item, below(node, key), files)
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
