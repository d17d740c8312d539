"""Manifests against the JSON Schema of their kind; the schemas are given as a value.

Schemas also describe fields: type, default, values, limits, description, required.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.manifests.schemas.nodes import KEYWORD as REWRITTEN
from reconciler.manifests.schemas.nodes import (
    Json,
    SchemaNode,
    below,
    resolved,
    with_plain_numbers,
    with_required,
    without_empty,
    without_nulls,
)
from reconciler.manifests.schemas.violations import (
    KEYWORD,
    ListMapKeys,
    Violation,
    repeated,
    violations_of,
)
from reconciler.model.identity import group_of
from reconciler.model.records import dataclass

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


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


BASE = "https://reconciler.dev/schemas/"  # a name only; nothing is ever fetched from it
DEFINITIONS = "definitions/"

Change = Callable[[Any, SchemaNode | None, Mapping[str, Json]], Any]
"""A document, or a part of it, changed by what its schema says of it."""

Question = tuple[str, str]
"""A file below `schemas/`, and the field that is not required; `""` for none."""


class Judged(NamedTuple):
    """A manifest as it is to be decoded, and what is wrong with it."""

    body: Mapping[str, object]
    violations: tuple[Violation, ...]


class Schemas:
    """All schemas, each compiled when a manifest of its kind first comes along."""

    def __init__(self, documents: Mapping[str, Json]) -> None:
        """Take the parsed schema files.

        Args:
            documents: Path below `schemas/` to content. Those below `definitions/` are referred to,
                each other one describes the kind that its `apiVersion` and `kind` name.
        """
        self._documents = documents
        own = (name for name in documents if not name.startswith(DEFINITIONS))
        self._names = {kind_of(documents[name]): name for name in own}

    def __reduce__(self) -> "tuple[type[Schemas], tuple[Mapping[str, Json]]]":
        """Travel to another process as the documents; they are compiled anew there."""
        return Schemas, (self._documents,)

    @property
    def documents(self) -> Mapping[str, Json]:
        """Path below `schemas/` to content."""
        return self._documents

    def covers(self, api_version: str, kind: str) -> bool:
        """Return whether there is a schema for the kind, in exactly this version."""
        return (api_version, kind) in self._names

    def versions_of(self, group: str, kind: str) -> tuple[str, ...]:
        """Return each `apiVersion` of the kind that there is a schema for, sorted."""
        versions = [version for version, name in self._names if name == kind]
        return tuple(sorted(version for version in versions if group_of(version) == group))

    def described(self, api_version: str, kind: str) -> SchemaField:
        """Return the fields of a kind; ask `covers` first.

        Raises:
            ValueError: There is no schema for the kind.
        """
        return field_of(self._root((api_version, kind)), self._documents, kind)

    def judge(self, body: Mapping[str, object], *, optional: str = "") -> Judged:
        """Hold a manifest against the schema of its kind.

        Args:
            body: The manifest.
            optional: A field that it may lack, though its schema requires it; `""` for none.

        Returns:
            The document to be decoded, see `without_nulls`, `with_plain_numbers` and
            `with_required`, and what is wrong with it: one violation for each field in the wrong,
            sorted by pointer; empty if all is well.

        Raises:
            ValueError: There is no schema for the kind; ask `covers` first.
        """
        key = (str(body.get("apiVersion")), str(body.get("kind")))
        root = self._root(key)
        question = (root.file, optional)
        subject: Any = body
        if _is_doubtful(body):
            plain = with_plain_numbers(body, root, self._documents)
            subject = without_nulls(plain, root, self._documents)
        written = subject
        if root.schema.get(REWRITTEN) is True:
            subject = self._spec(with_required, subject, root)
            written = self._spec(without_empty, subject, root)
        # jsonschema-rs agrees with jsonschema, is a hundred times faster, and its import does not
        # cost a third of a command's time; the other one says what is wrong.
        if self._gate(question)(written):
            return Judged(subject, ())
        errors = self._validator(question).iter_errors(written)
        return Judged(subject, violations_of(errors, hidden=key[1] == "Secret"))

    def _spec(self, change: "Change", body: Json, root: SchemaNode) -> Json:
        """Return a document with its spec changed by what the schema says of it."""
        if "spec" not in body:
            return body
        return {**body, "spec": change(body["spec"], below(root, "spec"), self._documents)}

    def _root(self, key: tuple[str, str]) -> SchemaNode:
        name = self._names.get(key)
        if name is None:
            raise ValueError(f"there is no schema for {key[0]} {key[1]}")
        return SchemaNode(name, self._documents[name])

    @cached_property
    def _gate(self) -> "Callable[[Question], Callable[[object], bool]]":
        make = _gate(self._documents)
        return cache(lambda question: make(self._entry(question)))

    @cached_property
    def _validator(self) -> "Callable[[Question], Validator]":
        make = _compiler(self._documents)
        return cache(lambda question: make(self._entry(question)))

    def _entry(self, question: "Question") -> Json:
        """Return the schema of a file, by reference unless it is to require less than it says."""
        name, optional = question
        if not optional:
            return {"$ref": BASE + name}
        document = _undated(self._documents[name])
        required = [field for field in document.get("required", ()) if field != optional]
        return {**document, "$id": BASE + name, "required": required}


def _is_doubtful(body: object) -> bool:
    """Return whether a number with a point or a `null` stands anywhere in a body."""
    values: list[Any] = [body]
    for value in values:  # it grows on the way
        kind = type(value)
        if kind is dict:
            values.extend(value.values())
        elif kind is list:
            values.extend(value)
        elif value is None or kind is float:
            return True
    return False


def kind_of(document: Json) -> tuple[str, str]:
    """Return `apiVersion` and kind that the schema of a kind is for."""
    properties = document["properties"]
    return properties["apiVersion"]["const"], properties["kind"]["const"]


def _gate(documents: Mapping[str, Json]) -> "Callable[[Json], Callable[[object], bool]]":
    """Return what makes the quick check of one schema; the import is late, for it is slow."""
    from jsonschema_rs import Draft202012Validator, Registry  # noqa: PLC0415

    from reconciler.manifests.schemas.nodes import FORMATS  # noqa: PLC0415

    registry = Registry([(BASE + name, dict(document)) for name, document in documents.items()])

    def make(entry: Json) -> Callable[[object], bool]:
        validator = Draft202012Validator(
            dict(entry),
            registry=registry,
            validate_formats=True,
            formats=dict(FORMATS),
            keywords={KEYWORD: ListMapKeys},
        )
        return validator.is_valid

    return make


def _compiler(documents: Mapping[str, Json]) -> "Callable[[Json], Validator]":
    """Return what makes the validator of one schema; imports are late, for they are slow."""
    from jsonschema import Draft202012Validator, FormatChecker  # noqa: PLC0415
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415
    from jsonschema.validators import extend  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    from reconciler.manifests.schemas.nodes import FORMATS  # noqa: PLC0415

    checker = FormatChecker(formats=())
    for name, holds in FORMATS.items():
        checker.checks(name)(holds)
    types = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer",  # 2.0 has become 2 where a whole number was asked for
        lambda _, value: isinstance(value, int) and not isinstance(value, bool),
    )

    def told_apart(_: object, keys: list[str], value: Any, _schema: object) -> Iterator[object]:
        for position in repeated(keys, value):
            yield ValidationError("", path=[position], instance=value[position])

    keywords = {KEYWORD: told_apart}
    strict: Any = extend(Draft202012Validator, keywords, type_checker=types)  # type: ignore[no-untyped-call]
    registry: Registry[Any] = Registry().with_resources(
        (BASE + name, DRAFT202012.create_resource(_undated(one))) for name, one in documents.items()
    )

    def make(entry: Json) -> "Validator":
        validator: Validator = strict(dict(entry), registry=registry, format_checker=checker)
        return validator

    return make


def _undated(document: Json) -> Json:
    """Return a document without `$schema`, which would bring back jsonschema's own integers."""
    return {key: value for key, value in document.items() if key != "$schema"}
