"""JSON Schema: which fields a document may have, said in a sentence for each that is wrong.

The schemas are given as a value; nothing is read here, and no reference leaves the given set.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reconciler.manifests.names import shown
from reconciler.model.identity import group_of
from reconciler.model.world import Body

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

MOST_LISTED = 12  # valid fields or values named in one message


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """What is wrong at one place of a document.

    `pointer` is a JSON pointer, `rule` a stable id, `message` one sentence, `expected` what would
    be valid.
    """

    pointer: str
    rule: str
    message: str
    expected: str = ""


class Schemas:
    """The schemas of all kinds, by `<group>/<kind>_<version>.json`; compiled when first asked."""

    def __init__(self, documents: Mapping[str, Mapping[str, object]]) -> None:
        """Take parsed schemas by name, shared definitions among them."""
        self._documents = documents
        self._validators: dict[str, Draft202012Validator] = {}

    def covers(self, api_version: str, kind: str) -> bool:
        """Say whether there is a schema for a kind in this version."""
        return _name(api_version, kind) in self._documents

    def versions_of(self, group: str, kind: str) -> tuple[str, ...]:
        """Return the versions in which a kind is known, sorted; none for a foreign kind."""
        prefix = f"{group}/{kind.lower()}_"
        return tuple(
            sorted(
                name.removeprefix(prefix).removesuffix(".json")
                for name in self._documents
                if name.startswith(prefix)
            )
        )

    def validate(self, body: Body) -> tuple[Violation, ...]:
        """Hold a document against the schema of its kind; a field of null counts as absent.

        Raises:
            KeyError: There is no schema for it; ask `covers` first.
        """
        validator = self._validator(_name(str(body["apiVersion"]), str(body["kind"])))
        subject = _without_nulls(body)
        if validator.is_valid(subject):
            return ()
        secret = body.get("kind") == "Secret"
        errors = validator.iter_errors(subject)
        return tuple(sorted({v for error in errors for v in _violations(error, secret=secret)}))

    def _validator(self, name: str) -> "Draft202012Validator":
        """Compile a schema; jsonschema is imported here since it takes long."""
        if name not in self._validators:
            from jsonschema import Draft202012Validator, FormatChecker  # noqa: PLC0415
            from referencing import Registry, Resource  # noqa: PLC0415
            from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

            checker = FormatChecker(formats=())
            checker.checks("date-time")(_is_moment)
            registry: Registry[Any] = Registry().with_resources(
                (key, Resource.from_contents(document, default_specification=DRAFT202012))
                for key, document in self._documents.items()
            )
            self._validators[name] = Draft202012Validator(
                dict(self._documents[name]), registry=registry, format_checker=checker
            )
        return self._validators[name]


def _name(api_version: str, kind: str) -> str:
    """Return the name of a kind's schema."""
    version = api_version.rpartition("/")[2]
    return f"{group_of(api_version)}/{kind.lower()}_{version}.json"


def _without_nulls(value: object) -> object:
    """Return a value without fields of null; it is the same object where there are none."""
    if isinstance(value, Mapping):
        cleaned = {key: _without_nulls(item) for key, item in value.items() if item is not None}
        same = len(cleaned) == len(value) and all(cleaned[key] is value[key] for key in cleaned)
        return value if same and isinstance(value, dict) else cleaned
    if isinstance(value, list | tuple):
        items = [_without_nulls(item) for item in value]
        same = isinstance(value, list) and all(a is b for a, b in zip(items, value, strict=True))
        return value if same else items
    return value


def _is_moment(value: object) -> bool:
    """Say whether a text is RFC 3339 with a time zone; other types are not judged."""
    if not isinstance(value, str):
        return True
    try:
        return datetime.fromisoformat(value).tzinfo is not None and "T" in value.upper()
    except ValueError:
        return False


def _violations(error: "ValidationError", *, secret: bool) -> Iterable[Violation]:
    """Turn one error of jsonschema into sentences of ours."""
    while error.context:  # of alternatives, the one that came nearest
        from jsonschema.exceptions import best_match  # noqa: PLC0415

        error = best_match(error.context) or error
    rule = str(error.validator)
    pointer, name = _pointer(error.absolute_path), _field(error.absolute_path)
    value: Any = error.instance
    limit: Any = error.validator_value
    if rule == "additionalProperties":
        known: Any = error.schema
        yield from _unknown(value, sorted(known.get("properties", {})), pointer, name)
    elif rule == "required":
        for field in (field for field in limit if field not in value):
            message = f"`{field}` must be given in {name}"
            yield Violation(f"{pointer}/{field}", "schema-required", message, str(field))
    else:
        known_rule, expected = _limit(rule, limit)
        found = "the value" if secret else _found(rule, value)
        yield Violation(pointer, known_rule, f"{name} must be {expected}, it is {found}", expected)


def _limit(rule: str, limit: Any) -> tuple[str, str]:
    """Return the rule's id, and in words what it allows."""
    match rule:
        case "type":
            return "schema-type", _types(limit)
        case "enum":
            return "schema-enum", f"one of {_listed(limit)}"
        case "const":
            return "schema-enum", str(limit)
        case "minimum" | "maximum":
            return "schema-range", f"at {'least' if rule == 'minimum' else 'most'} {limit}"
        case "minLength" | "maxLength" | "minItems" | "maxItems":
            word = "least" if rule.startswith("min") else "most"
            unit = "characters" if rule.endswith("Length") else "items"
            return "schema-length", f"of at {word} {limit} {unit}"
        case "pattern":
            return "schema-pattern", f"a text that matches {limit}"
        case "format":
            return "schema-format", "a moment such as 2026-01-02T15:04:05Z"
        case _:
            return f"schema-{rule}", "as its schema says"


def _found(rule: str, value: object) -> str:
    """Return in words what stands there instead."""
    if rule == "type":
        return _type_of(value)
    if rule in ("minItems", "maxItems") and isinstance(value, list):
        return f"a list of {len(value)}"
    return shown(value)


def _unknown(
    value: Mapping[str, object], known: Sequence[str], pointer: str, name: str
) -> Iterable[Violation]:
    """Name each field that the schema does not have, and the one that may have been meant."""
    for field in value:
        if field in known:
            continue
        near = difflib.get_close_matches(field, known, n=1, cutoff=0.6)
        expected = f'did you mean "{near[0]}"?' if near else _listed(known)
        escaped = field.replace("~", "~0").replace("/", "~1")
        yield Violation(
            f"{pointer}/{escaped}",
            "schema-unknown-field",
            f"{shown(field)} is not a field of {name}",
            expected,
        )


def _pointer(path: Iterable[object]) -> str:
    """Return the JSON pointer of a path."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _field(path: Iterable[object]) -> str:
    """Return a path as people write it, in back-quotes."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return f"`{text}`" if text else "the document"


def _types(names: str | Sequence[str]) -> str:
    """Return the words for JSON types."""
    words = {
        "array": "a list",
        "boolean": "true or false",
        "integer": "a whole number",
        "null": "null",
        "number": "a number",
        "object": "a mapping",
        "string": "a text",
    }
    listed = [names] if isinstance(names, str) else list(names)
    return " or ".join(words[name] for name in listed)


def _type_of(value: object) -> str:
    """Return the word for the type of a value."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case None:
            return "null"
        case _:
            return "a mapping"


def _listed(values: Sequence[object]) -> str:
    """Return values in a row, cut after a dozen."""
    words = [str(value) for value in values[:MOST_LISTED]]
    more = f" and {len(values) - MOST_LISTED} more" if len(values) > MOST_LISTED else ""
    return ", ".join(words) + more
