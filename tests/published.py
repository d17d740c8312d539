"""Reports held to the schemas that their formats are published with: `fixtures/published/`."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import jsonschema_rs
from jsonschema import Draft7Validator, FormatChecker
from xmlschema import XMLSchema10

PUBLISHED = Path(__file__).parent.parent / "fixtures" / "published"


def sarif_faults(text: str) -> list[str]:
    """Return what SARIF's schema refuses of a log, its formats (uri, date-time) included."""
    return [error.message for error in _sarif().iter_errors(json.loads(text))]


def junit_faults(text: str) -> list[str]:
    """Return what Jenkins' schema refuses of a JUnit report."""
    return [str(error) for error in _junit().iter_errors(text.encode())]


@cache
def _sarif() -> Draft7Validator:
    schema = json.loads((PUBLISHED / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    formats = FormatChecker(())
    for name in ("uri", "uri-reference", "date-time"):  # all that the schema uses
        formats.checks(name)(_has_format(name))
    return Draft7Validator(schema, format_checker=formats)


def _has_format(name: str) -> Callable[[object], bool]:
    """Return what tells whether a value has a format; jsonschema itself knows none of addresses."""
    known = jsonschema_rs.Draft7Validator({"format": name}, validate_formats=True)
    return known.is_valid


@cache
def _junit() -> XMLSchema10:
    return XMLSchema10(str(PUBLISHED / "junit-10.xsd"), allow="local")
