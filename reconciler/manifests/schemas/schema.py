"""Manifests against the JSON Schema of their kind; the schemas are given as a value."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.manifests.schemas.list_maps import KEYWORD, ListMapKeys, repeated
from reconciler.manifests.schemas.nulls import without_nulls
from reconciler.manifests.schemas.plain_numbers import with_plain_numbers
from reconciler.manifests.schemas.rewritten import KEYWORD as REWRITTEN
from reconciler.manifests.schemas.rewritten import with_required, without_empty
from reconciler.manifests.schemas.schema_fields import SchemaField, field_of
from reconciler.manifests.schemas.schema_nodes import Json, SchemaNode, below
from reconciler.manifests.schemas.violations import Violation, violations_of
from reconciler.model.identity import group_of

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

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
        self._validators: dict[Question, Validator] = {}
        self._make: Callable[[Json], Validator] | None = None
        self._gates: dict[Question, Callable[[object], bool]] = {}
        self._gate: Callable[[Json], Callable[[object], bool]] | None = None

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
        found = [version for version, name in self._names if name == kind]
        return tuple(sorted(version for version in found if group_of(version) == group))

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
        subject: Any = self._settled(body, root) if _is_doubtful(body) else body
        written = subject
        if root.schema.get(REWRITTEN) is True:
            subject = self._spec(with_required, subject, root)
            written = self._spec(without_empty, subject, root)
        if self._passes(question, written):
            return Judged(subject, ())
        errors = self._validator(question).iter_errors(written)
        return Judged(subject, violations_of(errors, hidden=key[1] == "Secret"))

    def _settled(self, body: Mapping[str, object], root: SchemaNode) -> Any:
        """Return a document without its nulls and with numbers of the types that are asked for."""
        plain = with_plain_numbers(body, root, self._documents)
        return without_nulls(plain, root, self._documents)

    def _spec(self, change: "Change", body: Json, root: SchemaNode) -> Json:
        """Return a document with its spec changed by what the schema says of it."""
        if "spec" not in body:
            return body
        return {**body, "spec": change(body["spec"], below(root, "spec"), self._documents)}

    def _root(self, key: tuple[str, str]) -> SchemaNode:
        """Return the schema of a kind."""
        name = self._names.get(key)
        if name is None:
            raise ValueError(f"there is no schema for {key[0]} {key[1]}")
        return SchemaNode(name, self._documents[name])

    def _passes(self, question: "Question", subject: Mapping[str, object]) -> bool:
        """Return whether a manifest is plainly valid; any other one is jsonschema's to judge.

        jsonschema-rs agrees with jsonschema, is a hundred times faster, and its import does not
        cost a third of a command's time.
        """
        if self._gate is None:
            self._gate = _gate(self._documents)
        if question not in self._gates:
            self._gates[question] = self._gate(self._entry(question))
        return self._gates[question](subject)

    def _validator(self, question: "Question") -> "Validator":
        if self._make is None:
            self._make = _compiler(self._documents)
        if question not in self._validators:
            self._validators[question] = self._make(self._entry(question))
        return self._validators[question]

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
    found: list[Any] = [body]
    for one in found:  # it grows on the way
        kind = type(one)
        if kind is dict:
            found.extend(one.values())
        elif kind is list:
            found.extend(one)
        elif one is None or kind is float:
            return True
    return False


def kind_of(document: Json) -> tuple[str, str]:
    """Return `apiVersion` and kind that the schema of a kind is for."""
    properties = document["properties"]
    return properties["apiVersion"]["const"], properties["kind"]["const"]


def _gate(documents: Mapping[str, Json]) -> "Callable[[Json], Callable[[object], bool]]":
    """Return what makes the quick check of one schema; the import is late, for it is slow."""
    from jsonschema_rs import Draft202012Validator, Registry  # noqa: PLC0415

    from reconciler.manifests.schemas.formats import FORMATS  # noqa: PLC0415

    registry = Registry([(BASE + name, dict(one)) for name, one in documents.items()])

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

    from reconciler.manifests.schemas.formats import FORMATS  # noqa: PLC0415

    checker = FormatChecker(formats=())
    for name, holds in FORMATS.items():
        checker.checks(name)(holds)
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)

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
    return {key: one for key, one in document.items() if key != "$schema"}


def _is_integer(_checker: object, value: object) -> bool:
    """Return whether a value is a whole number; 2.0 has become one where it was to be."""
    return isinstance(value, int) and not isinstance(value, bool)
