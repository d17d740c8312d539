"""What the formats of reports ask of the fields that we write; any other field is a mistake.

SARIF by OASIS, Static Analysis Results Interchange Format 2.1.0, section 3; JUnit by junit-10.xsd
of github.com/jenkinsci/xunit-plugin.
"""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
URI: Schema = {"type": "string", "format": "uri"}
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
FROM_ONE: Schema = {"type": "integer", "minimum": 1}


def one(must: Mapping[str, Schema], **may: Schema) -> Schema:
    """Return the schema of an object with these fields and no other."""
    return {
        "type": "object",
        "properties": {**must, **may},
        "required": list(must),
        "additionalProperties": False,
    }


def many(items: Schema, *, unique: bool = False) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, "uniqueItems": unique}


WORDS = one({"text": TEXT}, markdown=TEXT)
RULE = one(
    {"id": TEXT},
    shortDescription=WORDS,
    fullDescription=WORDS,
    help=WORDS,
    helpUri=URI,
    defaultConfiguration=one({}, level=LEVEL),
)
FILE = one({}, uri={"type": "string", "format": "uri-reference"}, uriBaseId=TEXT)
PLACE = one(
    {},
    physicalLocation=one(
        {"artifactLocation": FILE}, region=one({}, startLine=FROM_ONE, startColumn=FROM_ONE)
    ),
    logicalLocations=many(one({}, fullyQualifiedName=TEXT), unique=True),
)
RESULT = one(
    {"message": one({"text": TEXT})},
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    locations=many(PLACE),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
)
DRIVER = one({"name": TEXT}, version=TEXT, rules=many(RULE, unique=True))
RUN = one(
    {"tool": one({"driver": DRIVER})},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=many(RESULT),
)
LOG = one({"version": {"const": "2.1.0"}, "runs": many(RUN)}, **{"$schema": URI})
SARIF = jsonschema_rs.Draft7Validator(dict(LOG), validate_formats=True)

COUNTS = frozenset({"name", "tests", "failures", "errors"})
JUNIT: Mapping[str, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {
    "testsuites": (frozenset(), COUNTS, frozenset({"testsuite"})),
    "testsuite": (COUNTS, frozenset({"skipped"}), frozenset({"testcase"})),
    "testcase": (
        frozenset({"name"}),
        frozenset({"classname"}),
        frozenset({"failure", "system-out"}),
    ),
    "failure": (frozenset(), frozenset({"type", "message"}), frozenset()),
    "system-out": (frozenset(), frozenset(), frozenset()),
}
"""Of each element the attributes that it must have and may have, and the elements in it."""


def sarif_faults(text: str) -> list[str]:
    """Return what is wrong with a log, its formats (of addresses) included."""
    return [error.message for error in SARIF.iter_errors(json.loads(text))]


def junit_faults(text: str) -> list[str]:
    """Return what is wrong with a JUnit report."""
    root = ET.fromstring(text.encode())  # noqa: S314  # our own text
    return [*([] if root.tag == "testsuites" else [f"the root is {root.tag}"]), *_faults(root)]


def _faults(element: ET.Element) -> Iterator[str]:
    must, may, inside = JUNIT[element.tag]
    given, below = set(element.attrib), {child.tag for child in element}
    yield from (f"{element.tag} lacks {name}" for name in sorted(must - given))
    yield from (f"{element.tag} has no {name}" for name in sorted(given - must - may))
    yield from (f"{element.tag} holds no {name}" for name in sorted(below - inside))
    if inside - {"failure", "system-out"} and (element.text or "").strip():
        yield f"{element.tag} holds no text"
    for child in element:
        if child.tag in inside:
            yield from _faults(child)
