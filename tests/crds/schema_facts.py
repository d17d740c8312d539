"""What our schemas say of each field, in the words of the field tables."""

import posixpath
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tests.crds.facts import LAST, Facts, Fields, KindVersion, limits_of
from tests.manifests.shipped_schemas import documents

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
