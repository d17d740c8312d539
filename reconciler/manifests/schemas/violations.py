"""What is wrong with a manifest by its schema, in sentences of ours.

Lists whose items are told apart by keys are judged by `x-kubernetes-list-map-keys`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from reconciler.manifests.text.raw import MAX_VIOLATIONS, quoted
from reconciler.model.records import dataclass

KEYWORD = "x-kubernetes-list-map-keys"


def repeated(keys: Sequence[str], value: object) -> Iterator[int]:
    """Yield the position of each item whose keys an earlier item has.

    A key that is absent is alike with another that is absent. What is no list of mappings is a
    matter of its type.

    Source: apiextensions-apiserver pkg/apiserver/schema/listtype `ValidateListSetsAndMaps`.

    >>> [*repeated(["name"], [{"name": "a"}, {"name": "b"}, {"name": "a"}])]
    [2]
    """
    seen = set()
    for position, element in enumerate(value if isinstance(value, list) else ()):
        if isinstance(element, Mapping):
            identity = tuple(repr(element.get(key)) for key in keys)
            if identity in seen:
                yield position
            seen.add(identity)


class ListMapKeys:
    """The keyword, as jsonschema-rs asks for it."""

    def __init__(self, _schema: object, keys: list[str], _path: object) -> None:
        self.keys = keys

    def validate(self, instance: object) -> None:
        """Refuse a list in which two items have the same keys.

        Raises:
            ValueError: It has two such items.
        """
        for position in repeated(self.keys, instance):
            raise ValueError(f"item {position} is there before")


SIMPLE_KEY = re.compile(r"[A-Za-z0-9_-]{1,40}")
MANY = 30  # fields or values to list
INT32 = 2**31 - 1  # bounds of a type are not worth telling

TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One field in the wrong.

    `pointer` is a JSON pointer: to the field, or to the parent of one that is absent. `rule` is a
    stable id, `message` says what must be, `expected` what would be valid. `unless` names the
    setting with which it is no violation, `""` for none.
    """

    pointer: str
    rule: str
    message: str
    expected: str = ""
    unless: str = ""


Admission = Callable[[Mapping[str, object]], tuple[Violation, ...]]
"""What a webhook would say of a document that its schema accepts: nothing, or what is wrong."""

UpdateAdmission = Callable[[Mapping[str, object], Mapping[str, object]], tuple[Violation, ...]]
"""What a webhook would say of an edit, given the object in force and as it is wanted."""


def violations_of(errors: Iterable[Any], *, hidden: bool = False) -> tuple[Violation, ...]:
    """Return the errors of a jsonschema validator as violations.

    Args:
        errors: All errors of one manifest.
        hidden: The manifest is a Secret: no value of it is quoted.

    Returns:
        Sorted, no two alike, at most `MAX_VIOLATIONS` of those that are found first. Where a field
        has the wrong type, nothing else is said of it.
    """
    every = (one for error in errors for one in _explained(_deepest(error), hidden=hidden))
    violations = set(islice(every, MAX_VIOLATIONS))
    mistyped = {violation.pointer for violation in violations if violation.rule == "schema-type"}
    return tuple(
        sorted(
            one for one in violations if one.rule == "schema-type" or one.pointer not in mistyped
        )
    )


def pointer_of(path: Sequence[object]) -> str:
    """Return the JSON pointer of a path.

    >>> pointer_of(["spec", "a/b", 0])
    '/spec/a~1b/0'
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _deepest(error: Any) -> Any:
    """Return the error that matters among the alternatives of `oneOf` and `anyOf`."""
    if not error.context:
        return error
    from jsonschema.exceptions import best_match  # noqa: PLC0415  # slow to import

    return best_match([error])


def _explained(error: Any, *, hidden: bool) -> Iterable[Violation]:
    path = list(error.absolute_path)
    if error.validator == "additionalProperties":
        return _unknown_fields(error, path)
    rule, explain = RULES.get(error.validator, (f"schema-{error.validator}", _otherwise))
    shown = "the value" if hidden else _quoted_value(error.instance)
    message, expected = explain(error, _spelled(path), shown)
    return [Violation(pointer_of(path), rule, message, expected)]


def _unknown_fields(error: Any, path: list[object]) -> Iterator[Violation]:
    """Yield one violation for each field that the schema does not know."""
    fields = sorted(error.schema.get("properties", {}))
    for key in error.instance:
        if key not in error.schema.get("properties", {}):
            yield Violation(
                pointer_of([*path, key]),
                "schema-unknown-field",
                f"{quoted(key)} is not a field of {_spelled(path)}.",
                _suggestion(key, fields),
            )


def _suggestion(key: str, known: list[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # only for failing documents

    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(key[:60].lower(), by_lower, n=1, cutoff=0.7)
    if close:
        return f'Did you mean "{by_lower[close[0]]}"?'
    return f"Its fields are {_listed(known)}." if known else "It has no fields."


def _type(error: Any, where: str, shown: str) -> tuple[str, str]:
    wanted = error.validator_value
    names = [TYPES[name] for name in ([wanted] if isinstance(wanted, str) else wanted)]
    must = " or ".join(names)
    hint = ""
    if isinstance(error.instance, int | float) and "text" in names:
        hint = "Put it in quotes."
    return f"{where} must be {must}, {shown} is {_kind(error.instance)}.", hint


def _enum(error: Any, where: str, shown: str) -> tuple[str, str]:
    values = [str(value) for value in error.validator_value]
    return f"{where} must be one of its known values, {shown} is none.", f"{_listed(values)}."


def _range(error: Any, where: str, shown: str) -> tuple[str, str]:
    low, high = error.schema.get("minimum"), error.schema.get("maximum")
    broken = f"at least {low}" if error.validator == "minimum" else f"at most {high}"
    wide = low is None or high is None or high >= INT32 or low <= -INT32
    expected = f"A whole number of {broken}." if wide else f"A whole number from {low} to {high}."
    return f"{where} must be {broken}, {shown} is not.", expected


def _pattern(error: Any, where: str, shown: str) -> tuple[str, str]:
    pattern = error.validator_value.removesuffix(r"(?!\n)")
    examples = [f'"{example}"' for example in error.schema.get("examples", ())]
    expected = f"Text such as {_listed(examples)}." if examples else f"Text that matches {pattern}"
    return f"{where} must have its proper form, {shown} has not.", expected


def _required(error: Any, where: str, _: str) -> tuple[str, str]:
    absent = [name for name in error.validator_value if name not in error.instance]
    name = next((name for name in absent if f"'{name}'" in error.message), absent[0])
    about = error.schema.get("properties", {}).get(name, {}).get("description", "")
    return f'{where} must have the field "{name}".', f"{name}: {about}" if about else ""


def _items(error: Any, where: str, _: str) -> tuple[str, str]:
    least, most = error.schema.get("minItems", 0), error.schema.get("maxItems")
    count = len(error.instance)
    limits = f"at least {least}" if count < least else f"at most {most}"
    plural = "item" if limits.endswith(" 1") else "items"
    return f"{where} must have {limits} {plural}, it has {count}.", ""


def _length(error: Any, where: str, shown: str) -> tuple[str, str]:
    least, most = error.schema.get("minLength", 0), error.schema.get("maxLength")
    if len(error.instance) < least:
        return f"{where} must not be empty.", f"Text of at least {least} characters."
    return (
        f"{where} must have at most {most} characters, {shown} has {len(error.instance)}.",
        f"Text of at most {most} characters.",
    )


def _format(error: Any, where: str, shown: str) -> tuple[str, str]:
    if error.validator_value == "date-time":
        return (
            f"{where} must be a moment with its time zone by RFC 3339, {shown} is not.",
            "Write it as 2026-01-02T15:04:05Z.",
        )
    if error.validator_value == "re2":
        expected = "A pattern as RE2 reads it, such as team-.*."
        return f"{where} must be a regular expression, {shown} is not.", expected
    return f"{where} must be Base64, {shown} is not.", "Encode it as Base64."


def _repeated(error: Any, where: str, _: str) -> tuple[str, str]:
    keys = " and ".join(error.validator_value)
    values = " and ".join(_quoted_value(error.instance.get(key)) for key in error.validator_value)
    there = "are" if len(error.validator_value) > 1 else "is"
    message = f"{where} must have a {keys} of its own, {values} {there} in an item before it."
    return message, f"One item for each {keys}."


def _otherwise(error: Any, where: str, shown: str) -> tuple[str, str]:
    return f'{where} must satisfy "{error.validator}" of its schema, {shown} does not.', ""


RULES: dict[str, tuple[str, Callable[[Any, str, str], tuple[str, str]]]] = {
    "type": ("schema-type", _type),
    "enum": ("schema-enum", _enum),
    "minimum": ("schema-range", _range),
    "maximum": ("schema-range", _range),
    "pattern": ("schema-pattern", _pattern),
    "required": ("schema-required", _required),
    "minItems": ("schema-items", _items),
    "maxItems": ("schema-items", _items),
    "minLength": ("schema-length", _length),
    "maxLength": ("schema-length", _length),
    "format": ("schema-format", _format),
    KEYWORD: ("list-key", _repeated),
}


def _spelled(path: Sequence[object]) -> str:
    """Return a path as people spell it: `spec.items[0].name`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif SIMPLE_KEY.fullmatch(str(part)):
            text += f".{part}" if text else str(part)
        else:
            text += f"[{quoted(str(part))}]"
    return text or "the manifest"


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, float):
        return "a number with a fraction"
    names = {int: "a number", str: "text", list: "a list", dict: "a mapping"}
    return names.get(type(value), "null")


def _quoted_value(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)[:60]
    return "this"


def _listed(names: Sequence[str]) -> str:
    """Return names as `a, b or c`, cut when there are many."""
    if len(names) > MANY:
        return ", ".join(names[:MANY]) + " and others"
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
