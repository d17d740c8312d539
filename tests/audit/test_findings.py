"""Findings in every format: as readers of SARIF and JUnit take them, whatever files hold."""

import json
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.audit.findings import RULES, finding_of
from reconciler.audit.reports import (
    WIDEST,
    FindingsReport,
    as_github,
    as_junit,
    as_sarif,
    as_text,
    excerpt,
    findings_json,
    lines_of,
)
from reconciler.cli.validate import check
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import Fault
from reconciler.shell.reading.checked import FolderSource
from tests.documents.generated import rule_pages
from tests.documents.test_rules import files_of
from tests.shell.fleet import EXAMPLE

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


NO_TEXT = "\x00\x1b[2J\x85\ufffe\uffff\udcff\r\n\t"
"""What is no text: controls, no characters at all, and a byte that is no UTF-8."""
HOSTILE = "]]> <![CDATA[ &lt; \" ' </failure> \U0001f600 名前" + NO_TEXT


def checked(folder: Path, files: Mapping[str, bytes]) -> FindingsReport:
    """What `validate` reports on files that stand in a folder."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    found = check(FolderSource(folder, RepositoryLayout()), (), references=None, forced=True)
    texts = {file.path: file.data for file in found.inspections}
    return FindingsReport(findings=found.findings, texts=texts, version="1.2.3", prefix="fleet/")


def told(*faults: Fault) -> FindingsReport:
    """A report on faults, each in its own words."""
    findings = tuple(sorted(map(finding_of, faults)))
    return FindingsReport(findings=findings, texts={"a.yaml": b""}, version="1.2.3")


def reports(folder: Path) -> Iterable[tuple[str, FindingsReport]]:
    """Yield reports as people get them, and as an attacker would like them to."""
    yield "nothing-at-all", FindingsReport(findings=(), texts={}, version="1.2.3")
    example = {path: text.encode() for path, text in EXAMPLE.items()}
    yield "no-finding", checked(folder / "clean", example)
    for rule, page in sorted(rule_pages().items()):
        if page.wrong:
            yield rule, checked(folder / rule, files_of(page.wrong))
    yield "every-rule", told(*(Fault("a.yaml", 1, 1, "", rule, "Wrong.") for rule in RULES))
    yield "no-line", told(Fault("a.yaml", 0, 0, "", "score-missing", "Far away."))
    yield "outside", told(Fault("/srv/x y/a.yaml", 3, 1, "", "yaml-tag", "Far away."))
    yield "standard-input", told(Fault("<stdin>", 3, 1, "", "yaml-tag", "Not saved yet."))
    for path in ("a:b.yaml", "//a.yaml", "http://a.yaml", "?a#b.yaml", "%zz.yaml", HOSTILE):
        yield f"path {path!r}", told(Fault(path, 1, 1, "", "yaml-tag", "Of an odd name."))
    yield (
        "hostile",
        told(Fault("a.yaml", 1, 1, HOSTILE, "yaml-tag", HOSTILE, HOSTILE, subject=HOSTILE)),
    )
    yield "unlisted-rule", told(Fault("a.yaml", 1, 1, "", "not-listed", "New."))


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, FindingsReport]:
    """Every report by its name."""
    return dict(reports(tmp_path_factory.mktemp("reports")))


def test_sarif_is_as_its_standard_says(some: Mapping[str, FindingsReport]) -> None:
    """Formats of addresses included."""
    assert {} == {
        name: found for name, one in some.items() if (found := sarif_faults(as_sarif(one)))
    }


def test_junit_is_as_its_readers_want_it(some: Mapping[str, FindingsReport]) -> None:
    """Whether warnings fail or not."""
    refused: dict[str, list[str]] = {}
    for name, one in some.items():
        strict = FindingsReport(
            findings=one.findings, texts=one.texts, version="1.2.3", warnings_fail=True
        )
        refused[name] = junit_faults(as_junit(one)) + junit_faults(as_junit(strict))

    assert {} == {name: found for name, found in refused.items() if found}


def test_the_formats_refuse_what_is_wrong() -> None:
    """So that agreeing with them says something."""
    assert sarif_faults('{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}')
    assert sarif_faults('{"version": "2.1.0", "runs": [], "$schema": "not a uri"}')
    assert junit_faults('<testsuites><testsuite name="a"/></testsuites>')
    assert junit_faults('<testsuites disabled="0"></testsuites>')
    assert junit_faults("<testsuites>text</testsuites>")
    assert junit_faults("<testcase/>")


def results(report: FindingsReport) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each result of a SARIF log with the rule that it names."""
    (run,) = json.loads(as_sarif(report))["runs"]
    for result in run["results"]:
        yield result, run["tool"]["driver"]["rules"][result["ruleIndex"]]


def test_code_scanning_gets_what_it_shows(some: Mapping[str, FindingsReport]) -> None:
    """GitHub asks more of a rule than the standard: both descriptions, and a help text."""
    for report in some.values():
        for result, rule in results(report):
            assert result["ruleId"] == rule["id"]
            assert rule["shortDescription"]["text"]
            assert rule["fullDescription"]["text"]
            assert rule["helpUri"] in rule["help"]["text"]
            assert rule["helpUri"] in rule["help"]["markdown"]
            assert result["message"]["text"]
            assert result["partialFingerprints"]


def test_addresses_are_relative_to_the_repository(some: Mapping[str, FindingsReport]) -> None:
    """But for a file outside of it; decoded, each is the path again."""
    for report in some.values():
        uris = [
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for result, _ in results(report)
        ]
        paths = [report.path(finding.fault.path) for finding in report.findings]

        assert [urlsplit(uri).scheme for uri in uris] == [
            "file" if path.startswith("/") else "" for path in paths
        ]
        assert ["" for _ in uris] == [urlsplit(uri).netloc for uri in uris]
        assert [path.encode("utf-8", "surrogateescape") for path in paths] == [
            unquote(urlsplit(uri).path, errors="surrogateescape").encode("utf-8", "surrogateescape")
            for uri in uris
        ]


def test_every_report_can_be_read_as_unicode(some: Mapping[str, FindingsReport]) -> None:
    """A file name may be no UTF-8; no lone surrogate may reach a reader that is strict."""
    for report in some.values():
        as_junit(report).encode()
        for _, value in walk(json.loads(as_sarif(report))):
            value.encode()


def walk(value: object, where: str = "") -> Iterable[tuple[str, str]]:
    """Yield every text of a JSON document with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, f"{where}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, f"{where}/{index}")
    elif isinstance(value, str):
        yield where, value


def test_junit_tells_the_words_of_every_finding(some: Mapping[str, FindingsReport]) -> None:
    """Whatever stands in them, the reader gets one test a finding, each with its text."""
    for report in some.values():
        cases = ET.fromstring(as_junit(report)).findall(".//testcase")  # noqa: S314  # our own text
        told_of = [case for case in cases if case.get("name") != "valid"]

        assert len(report.findings) == len(told_of)
        assert all("".join(case.itertext()).strip() for case in told_of)


SUBJECT = "PropagationPolicy.policy.karmada.io default/web"


def fault(path: str = "a.yaml", line: int = 1, column: int = 1, **more: str) -> Fault:
    """A fault; the dullest unless told otherwise."""
    known = {"field": "/spec", "rule": "schema-type", "message": "It is wrong.", **more}
    return Fault(path, line, column, **known)


def report(
    *faults: Fault, text: bytes | str = "", prefix: str = "", strict: bool = False
) -> FindingsReport:
    """A report on one file."""
    data = text.encode() if isinstance(text, str) else text
    return FindingsReport(
        findings=tuple(sorted(map(finding_of, faults))),
        texts={one.path: data for one in faults} or {"a.yaml": data},
        version="1.2.3",
        prefix=prefix,
        warnings_fail=strict,
    )


def test_text_shows_the_place() -> None:
    """File, line and column as editors read them; the line, and a caret under the place."""
    found = fault(line=2, column=3, expected="a list", subject=SUBJECT)

    assert (
        "a.yaml:2:3: error: It is wrong. (PropagationPolicy.policy.karmada.io default/web) "
        "[schema-type]\n"
        "  2 |   spec: [x]\n"
        "    |   ^\n"
        "  expected: a list\n"
    ) == as_text(report(found, text="kind: x\n  spec: [x]\n"))


def test_a_finding_without_a_line_has_no_excerpt() -> None:
    """Where nothing can be pointed at, nothing is."""
    assert "a.yaml: warning: Far. [score-missing]\n" == as_text(
        report(fault(line=0, column=0, rule="score-missing", message="Far."), text="kind: x\n")
    )


def columns(text: str) -> int:
    """How many columns a terminal takes for a text."""
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return wide - sum(unicodedata.category(c) in ("Mn", "Me") for c in text)


@pytest.mark.parametrize(
    ("line", "column", "shown"),
    [
        pytest.param("name: web", 7, "name: web", id="plain"),
        pytest.param("\tname:\tweb", 8, "    name:   web", id="tabs"),
        pytest.param("名前: web", 5, "名前: web", id="wide"),
        pytest.param("cafe\u0301: web", 8, "cafe\u0301: web", id="combining"),
        pytest.param("a\u202eb: web", 6, "a?b: web", id="right-to-left-override"),
        pytest.param("a\x1b[2J: web", 8, "a?[2J: web", id="escape"),
        pytest.param("a: 😀 web", 6, "a: 😀 web", id="emoji"),
    ],
)
def test_the_caret_is_under_the_place(line: str, column: int, shown: str) -> None:
    """Tabs, wide and combining characters count as a terminal counts; nothing moves the cursor."""
    found = excerpt(lines_of(f"first\n{line}\nlast"), 2, column)

    assert found is not None
    assert shown == found.line
    assert columns(shown.partition("web")[0]) == found.offset


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    """One line of JSON may be a megabyte."""
    found = excerpt(["x" * 500 + "!" + "y" * 500], 1, 501)

    assert found is not None
    assert "!" == found.line[found.offset]
    assert found.line.startswith("…x")
    assert found.line.endswith("y…")
    assert len(found.line) <= WIDEST + 2


@given(st.text(), st.integers(0, 9), st.integers(0, 2000))
def test_an_excerpt_never_fails(text: str, line: int, column: int) -> None:
    """Nor does it ever hold what cannot be printed."""
    found = excerpt(lines_of(text), line, column)

    assert found is None or (found.line.isprintable() and found.offset <= WIDEST + 1)


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hunter2}\n"  # noqa: S105  # a manifest


@pytest.mark.parametrize(
    ("subject", "text", "hidden"),
    [
        pytest.param("Secret.core default/a", SECRET, True, id="secret"),
        pytest.param("", SECRET, True, id="unreadable-beside-a-secret"),
        pytest.param("SealedSecret.bitnami.com default/a", SECRET, False, id="sealed"),
        pytest.param("Deployment.apps default/a", SECRET, False, id="other-document"),
        pytest.param("", SECRET.replace("Secret", "ConfigMap"), False, id="unreadable"),
    ],
)
def test_no_line_of_a_secret_is_shown(subject: str, text: str, *, hidden: bool) -> None:
    """Nor one that may be of a Secret."""
    found = report(fault(line=4, column=1, subject=subject), text=text)

    assert hidden == ("hunter2" not in as_text(found))
    assert all("hunter2" not in show(found) for show in (as_junit, as_sarif, as_github))
    assert "hunter2" not in str(findings_json(found))


def test_a_path_begins_no_command_of_a_log() -> None:
    """A pull request may add a file of any name."""
    assert as_text(report(fault("::stop-commands::x.yaml"))).startswith(
        "./::stop-commands::x.yaml:"
    )


def test_github_commands() -> None:
    """Path from where the pipeline runs, everything escaped as GitHub asks."""
    found = fault("a,b:c%.yaml", 3, 5, message="50%\r\n::error::x", expected="one")

    assert (
        "::error file=fleet/a%2Cb%3Ac%25.yaml,line=3,col=5,title=schema-type::"
        "50%25%0D%0A::error::x%0Aexpected: one\n"
    ) == as_github(report(found, prefix="fleet/"))
    assert "::warning file=a.yaml,title=score-missing::It is wrong.\n" == as_github(
        report(fault(line=0, column=0, rule="score-missing"))
    )


ANYTHING = st.text(max_size=20)
FAULTS = st.lists(
    st.builds(
        Fault,
        path=st.sampled_from(["a.yaml", "b c.yaml", "ü/%2e.yaml", "/x/y.yaml", "<stdin>"]),
        line=st.integers(0, 9),
        column=st.integers(0, 9),
        field=ANYTHING,
        rule=st.sampled_from([*RULES, "not-listed"]),
        message=st.text(min_size=1, max_size=20),
        expected=ANYTHING,
        subject=ANYTHING,
    ),
    max_size=5,
)


@given(FAULTS)
def test_sarif_is_valid(faults: list[Fault]) -> None:
    """As the standard says; every rule of a result is described."""
    text = as_sarif(report(*faults))
    run = json.loads(text)["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]

    assert [] == sarif_faults(text)
    assert [one["ruleId"] for one in run["results"]] == [
        rules[one["ruleIndex"]] for one in run["results"]
    ]
    prints = [one["partialFingerprints"]["findingHash/v1"] for one in run["results"]]
    assert len(prints) == len(set(prints))


def test_a_sarif_fingerprint_stays_when_lines_move() -> None:
    """So that a service knows the finding again."""
    first, second = (
        json.loads(as_sarif(report(fault(line=line))))["runs"][0]["results"][0] for line in (1, 9)
    )

    assert first["partialFingerprints"] == second["partialFingerprints"]
    assert first["locations"] != second["locations"]


@given(faults=FAULTS, strict=st.booleans())
def test_junit_is_valid(*, faults: list[Fault], strict: bool) -> None:
    """As Jenkins' xUnit plugin reads it, and the counts are right."""
    text = as_junit(report(*faults, strict=strict))
    root = ET.fromstring(text)  # noqa: S314  # our own text

    assert [] == junit_faults(text)
    assert str(len(root.findall(".//testcase"))) == root.get("tests")
    assert str(len(root.findall(".//failure"))) == root.get("failures")
    for suite in root:
        assert str(len(suite.findall("testcase"))) == suite.get("tests")
        assert str(len(suite.findall(".//failure"))) == suite.get("failures")


def test_junit_fails_on_what_makes_the_command_fail() -> None:
    """A warning is a passing test with output, unless warnings fail."""
    warning = fault(rule="score-missing")

    assert 'failures="0"' in as_junit(report(warning))
    assert 'failures="1"' in as_junit(report(warning, strict=True))


def test_junit_names_a_file_without_findings() -> None:
    """So that a pipeline shows what was looked at."""
    assert '<testcase name="valid" classname="a.yaml"/>' in as_junit(report())


def test_json_tells_everything() -> None:
    """A flat object a finding."""
    assert {
        "findings": [
            {
                "path": "a.yaml",
                "line": 1,
                "column": 1,
                "field": "/spec",
                "rule": "schema-type",
                "message": "It is wrong.",
                "expected": "",
                "subject": "",
                "severity": "error",
                "help": "https://reconciler.dev/docs/rules/schema-type",
            }
        ]
    } == findings_json(report(fault()))
