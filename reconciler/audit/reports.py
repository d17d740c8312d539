"""The result of a check of files, as text, JSON, JUnit XML, SARIF and workflow commands.

Text is for users: the place, what is wrong, the line itself with a caret, aligned on any terminal,
and what would be right. JSON is for scripts. GitLab, Jenkins and others show JUnit XML as tests.
Code scanning services read SARIF 2.1.0. GitHub shows workflow commands beside the lines of a pull
request: ten errors and ten warnings of a step; SARIF has room for more.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import groupby, takewhile
from typing import Annotated, TypedDict
from urllib.parse import quote
from xml.sax.saxutils import escape

from reconciler.audit.findings import RULES, Finding, Severity, finding_of, help_uri
from reconciler.audit.json_shapes import FaultJson, fault_json
from reconciler.model.records import dataclass, replace
from reconciler.model.text import printable
from reconciler.model.world import Fault

TAB_COLUMNS = 4  # ours: a tab is shown as so many columns at most
WIDEST = 100  # columns: of a longer line only the part around the place is shown
BEFORE = 60  # columns kept before the place in a long line
NEAR = 4 * WIDEST  # characters of a long line that are looked at, before the place and after it


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A line fit for a terminal, and the number of columns before the place."""

    line: str
    offset: int


def lines_of(text: str) -> Sequence[str]:
    """Return the lines of a file, whatever they end in."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def excerpt(lines: Sequence[str], line: int, column: int) -> Excerpt | None:
    """Return a line of a file and where in it a place is shown, `None` if there is no such line.

    Tabs become spaces, what cannot be printed becomes "?", so nothing in a file moves the cursor.

    Args:
        lines: Those of the file.
        line: From 1.
        column: From 1, in characters.
    """
    if not 0 < line <= len(lines) or column < 1:
        return None
    whole = lines[line - 1]
    first = max(0, column - 1 - NEAR)  # a line may be the whole file
    cells = _cells(whole[first : column - 1 + NEAR])
    place = min(column - 1 - first, len(cells))
    offset = sum(width for _, width in cells[:place])
    start = place
    if offset + sum(width for _, width in cells[place:]) > WIDEST:
        cells_kept = 0
        while start and cells_kept + cells[start - 1][1] <= BEFORE:
            start -= 1
            cells_kept += cells[start][1]
    else:
        start = 0
    shown = ""
    width = 0
    for cell, size in cells[start:]:
        if width + size > WIDEST:
            shown += "…"
            break
        shown += cell
        width += size
    mark = "…" if start or first else ""
    before = sum(size for _, size in cells[start:place]) + len(mark)
    return Excerpt(f"{mark}{shown}".rstrip(), before)


def _cells(line: str) -> list[tuple[str, int]]:
    """Return each character as it is shown, and its width in columns."""
    cells: list[tuple[str, int]] = []
    at = 0
    for character in line:
        cell = _cell(character, at)
        cells.append(cell)
        at += cell[1]
    return cells


def _cell(character: str, at: int) -> tuple[str, int]:
    """Return a character as it is shown at a column, and its width."""
    if character == "\t":
        width = TAB_COLUMNS - at % TAB_COLUMNS
        return " " * width, width
    if not character.isprintable():
        return "?", 1
    if unicodedata.category(character) in ("Mn", "Me"):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


SECRET = "Secret"  # noqa: S105  # a kind, no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsReport:
    """The findings of one run.

    Attributes:
        findings: Sorted by place.
        texts: Path to content of every file that was checked.
        version: Version of the reconciler.
        prefix: What leads from the folder where a pipeline runs to the root that was checked, with
            a slash at its end; `""` if they are the same. Formats that a forge reads put it before
            each path.
        warnings_fail: Whether a warning is as bad as an error for who runs this.
    """

    findings: tuple[Finding, ...]
    texts: Mapping[str, bytes]
    version: str
    prefix: str = ""
    warnings_fail: bool = False

    def path(self, relative: str) -> str:
        """Return a path as the forge knows it; one outside of the root is absolute already."""
        return relative if relative.startswith(("/", "<")) else f"{self.prefix}{relative}"

    def clarified(self) -> "FindingsReport":
        """Return the same with what files show beside their findings."""
        findings: list[Finding] = []
        for path, group in groupby(self.findings, key=lambda one: one.fault.path):
            text = self.texts.get(path, b"").decode("utf-8", errors="replace")
            lines = lines_of(text)
            # of one long line there may be a thousand findings
            marks = cache(partial(_marks_at, lines))
            for finding in group:
                if 0 < finding.fault.line <= len(lines):
                    hidden = is_hidden(finding, text)
                    findings.append(
                        replace(
                            finding, fault=_clarified(finding.fault, lines, marks, hidden=hidden)
                        )
                    )
                else:
                    findings.append(finding)
        return replace(self, findings=tuple(sorted(findings)))


_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*\}", re.ASCII)
_UNSEEN = re.compile(r"[^\S \t\r\n\f\v]|[\u200b-\u200f\u2060\ufeff]")


Marks = tuple[re.Match[str] | None, re.Match[str] | None]
"""The first character of a line that nobody sees, and its first variable."""


def _marks_at(lines: Sequence[str], number: int) -> Marks:
    line = lines[number - 1]
    return _UNSEEN.search(line), _VARIABLE.search(line)


def _clarified(
    fault: Fault, lines: Sequence[str], marks: Callable[[int], Marks], *, hidden: bool
) -> Fault:
    """Return a fault with what the lines of its file show beside it.

    A pass says what is wrong where it stopped. The cause may be a character that looks like a blank
    or like nothing, a variable that Flux would replace, or a name that each cluster is to make.
    """
    if fault.rule == "yaml-syntax":
        return _at_the_unseen(fault, lines)
    (unseen, variable), added = marks(fault.line), []
    if unseen:
        added.append(f"{_described(unseen)} stands at column {unseen.start() + 1}")
    if variable and not hidden and fault.rule != "workload-variable":
        added.append(f"Flux replaces {variable[0]} when it applies the file, nothing does before")
    if fault.rule == "identity-name" and _makes_names(lines[fault.line - 1 :]):
        message = "`metadata.name` is missing; `generateName` makes another object at each pass"
        fault = replace(fault, message=message, expected="metadata.name")
    if not added:
        return fault
    return replace(fault, expected="; ".join([fault.expected.rstrip("."), *added]).strip("; "))


def _described(unseen: re.Match[str]) -> str:
    """Return in words a character that nobody sees."""
    name = unicodedata.name(unseen[0], "character without a name").lower()
    return f"a {name} (U+{ord(unseen[0]):04X})"


def _at_the_unseen(fault: Fault, lines: Sequence[str]) -> Fault:
    """Return a fault of syntax at the last unseen character before it, itself if there is none."""
    for number in range(fault.line, 0, -1):
        unseen = _UNSEEN.search(lines[number - 1].partition("#")[0])
        if unseen:
            return replace(
                fault,
                line=number,
                column=unseen.start() + 1,
                message=f"{_described(unseen)} stands here, which is no blank to YAML",
                expected="a plain blank",
            )
    return fault


def _makes_names(lines: Iterable[str]) -> bool:
    """Return whether the document that goes on here has `generateName`."""
    document = takewhile(lambda line: not line.startswith("---"), lines)
    return any(line.strip(" {").startswith("generateName:") for line in document)


def is_hidden(finding: Finding, text: str) -> bool:
    """Return whether the line of a finding must not be shown: it may be that of a Secret.

    Of a document that says who it is, the kind decides. Of any other it is unknown: then a file
    that mentions Secrets anywhere is not shown at all.
    """
    kind = finding.fault.subject.partition(".")[0]
    return kind == SECRET if kind else SECRET in text


DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
PROPERTY = (*DATA, (":", "%3A"), (",", "%2C"))


def as_github(report: FindingsReport) -> str:
    """Return one workflow command a finding."""
    return "".join(f"{_command(finding, report)}\n" for finding in report.findings)


def _command(finding: Finding, report: FindingsReport) -> str:
    """Return one workflow command.

    Source: github.com/actions/toolkit packages/core/src/command.ts `escapeData`, `escapeProperty`.
    """
    fault = finding.fault
    properties = {"file": report.path(fault.path)}
    if fault.line:
        properties |= {"line": str(fault.line), "col": str(fault.column)}
    properties["title"] = fault.rule
    listed = ",".join(f"{name}={_escape(value, PROPERTY)}" for name, value in properties.items())
    expected = f"\nexpected: {fault.expected}" if fault.expected else ""
    subject = f" ({fault.subject})" if fault.subject else ""
    message = _escape(f"{fault.message}{subject}{expected}", DATA)
    return f"::{finding.severity} {listed}::{message}"


def _escape(text: str, table: tuple[tuple[str, str], ...]) -> str:
    r"""Return a text that cannot end its command, or begin another one.

    >>> _escape("50%,\n::error::", PROPERTY)
    '50%25%2C%0A%3A%3Aerror%3A%3A'
    """
    for character, escaped in table:
        text = text.replace(character, escaped)
    return "".join(c if c.isprintable() else " " for c in text)


class FindingJson(FaultJson):
    """A fault, how bad it is, and where its rule is explained."""

    severity: Annotated[str, "`error` or `warning`."]
    help: Annotated[str, "Address of the page of its rule."]


class ValidateJson(TypedDict):
    """What is wrong in files."""

    findings: Annotated[list[FindingJson], "Sorted by place."]


def findings_json(report: FindingsReport) -> ValidateJson:
    """Return the findings as flat objects; `line` and `column` are 0 where unknown."""
    return {
        "findings": [
            {
                **fault_json(finding.fault),
                "severity": str(finding.severity),
                "help": help_uri(finding.fault.rule),
            }
            for finding in report.findings
        ]
    }


QUOTES = {'"': "&quot;", "\n": "&#10;"}


def as_junit(report: FindingsReport) -> str:
    """Return one test suite a file, one test a finding, and one that passes where there is none.

    What makes the command fail is a failed test; a warning that does not is a test that passes and
    says so in its output.

    Source: github.com/jenkinsci/xunit-plugin junit-10.xsd, the elements and attributes that the
    common readers agree on.
    """
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        by_path[finding.fault.path].append(finding)
    suites = [
        _suite(report.path(path), by_path.get(path, []), report)
        for path in sorted({*report.texts, *by_path})
    ]
    tests = sum(max(1, len(by_path.get(path, []))) for path in {*report.texts, *by_path})
    failures = sum(_fails(finding, report) for finding in report.findings)
    root = {"name": "reconciler validate", "tests": tests, "failures": failures, "errors": 0}
    body = "".join(suites)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites{_attributes(root)}>\n{body}</testsuites>\n"
    )


def _suite(path: str, findings: list[Finding], report: FindingsReport) -> str:
    """Return the tests of one file."""
    cases = [_case(path, finding, report) for finding in findings] or [
        f"    <testcase{_attributes({'name': 'valid', 'classname': path})}/>\n"
    ]
    failures = sum(_fails(finding, report) for finding in findings)
    counts = {"name": path, "tests": len(cases), "failures": failures, "errors": 0, "skipped": 0}
    return f"  <testsuite{_attributes(counts)}>\n{''.join(cases)}  </testsuite>\n"


def _case(path: str, finding: Finding, report: FindingsReport) -> str:
    """Return the test of one finding."""
    fault = finding.fault
    place = f"{path}:{fault.line}:{fault.column}" if fault.line else path
    where = f" at {fault.line}:{fault.column}" if fault.line else ""
    attributes = {"name": f"{fault.rule}{where}", "classname": path}
    lines = [f"{place}: {finding.severity}: {fault.message}"]
    lines += [f"object: {fault.subject}"] if fault.subject else []
    lines += [f"expected: {fault.expected}"] if fault.expected else []
    text = _text("\n".join(lines))
    if _fails(finding, report):
        failure = _attributes({"message": fault.message, "type": fault.rule})
        inner = f"<failure{failure}>{text}</failure>"
    else:
        inner = f"<system-out>{text}</system-out>"
    return f"    <testcase{_attributes(attributes)}>\n      {inner}\n    </testcase>\n"


def _fails(finding: Finding, report: FindingsReport) -> bool:
    """Return whether a finding is a failed test."""
    return finding.severity is Severity.ERROR or report.warnings_fail


def _attributes(values: Mapping[str, object]) -> str:
    """Return attributes, each with a space before it."""
    return "".join(f' {name}="{_text(str(value), QUOTES)}"' for name, value in values.items())


def _text(text: str, quotes: Mapping[str, str] | None = None) -> str:
    """Return text fit for XML 1.0, which has no control characters at all."""
    allowed = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    return escape(allowed, dict(quotes or {}))


SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
FINGERPRINT = "findingHash/v1"


def as_sarif(report: FindingsReport) -> str:
    """Return one run with its rules and results.

    A result carries a fingerprint that does not change when lines move, so that a service knows a
    finding again.

    Source: OASIS, Static Analysis Results Interchange Format 2.1.0; GitHub, "SARIF support for code
    scanning", which asks for both descriptions and a help text of each rule.
    """
    rules = sorted({finding.fault.rule for finding in report.findings})
    driver = {
        "name": "reconciler",
        "version": report.version,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": list(_results(report, rules)),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _rule(rule: str) -> dict[str, object]:
    """Return what is to be known of a rule; one that is not in the list goes by its id."""
    severity = finding_of(Fault("", 0, 0, "", rule, "")).severity
    line, page = f"{RULES.get(rule, rule)}.", help_uri(rule)
    return {
        "id": rule,
        "shortDescription": {"text": line},
        "fullDescription": {"text": line},
        "help": {"text": f"{line} See {page}", "markdown": f"{line} See [{rule}]({page})."},
        "helpUri": page,
        "defaultConfiguration": {"level": str(severity)},
    }


def _results(report: FindingsReport, rules: list[str]) -> Iterable[dict[str, object]]:
    """Yield one result a finding."""
    alike: Counter[str] = Counter()
    for finding in report.findings:
        fault = finding.fault
        digest = _digest(fault)
        alike[digest] += 1
        expected = f"\nExpected: {fault.expected}" if fault.expected else ""
        yield {
            "ruleId": fault.rule,
            "ruleIndex": rules.index(fault.rule),
            "level": str(finding.severity),
            "message": {"text": _words(f"{fault.message}{expected}")},
            "locations": [_location(finding, report)],
            "partialFingerprints": {FINGERPRINT: f"{digest}:{alike[digest]}"},
        }


def _location(finding: Finding, report: FindingsReport) -> dict[str, object]:
    """Return where a finding is; one without a line is shown at the first one."""
    fault = finding.fault
    path = report.path(fault.path)
    uri = quote(path.encode("utf-8", errors="surrogateescape"))
    artifact = {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": ROOT}
    region = {"startLine": max(fault.line, 1), "startColumn": max(fault.column, 1)}
    location: dict[str, object] = {
        "physicalLocation": {"artifactLocation": artifact, "region": region}
    }
    if fault.subject:
        location["logicalLocations"] = [{"fullyQualifiedName": _words(fault.subject + fault.field)}]
    return location


def _words(text: str) -> str:
    """Return text that is Unicode: a file name may hold bytes that are no UTF-8."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _digest(fault: Fault) -> str:
    """Return what makes a finding the same one, but for its place in the file."""
    parts = (fault.rule, fault.path, fault.subject, fault.field, fault.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


MOST_FINDINGS = 20  # ours: of one file; whoever mends those runs it again


def as_text(report: FindingsReport) -> str:
    """Return each finding in a few lines; empty if there is none."""
    lines: list[str] = []
    for path, group in groupby(report.findings, key=lambda finding: finding.fault.path):
        text = report.texts.get(path, b"").decode("utf-8", errors="replace").removeprefix("\ufeff")
        file = lines_of(text)
        findings = list(group)
        for finding in findings[:MOST_FINDINGS]:
            shown = () if is_hidden(finding, text) else file
            lines.extend(_lines(finding, shown))
        rest = len(findings) - MOST_FINDINGS
        if rest > 0:
            lines.append(f"{_path(path)}: and {rest} more {'finding' if rest == 1 else 'findings'}")
    return "".join(f"{line}\n" for line in lines)


def _lines(finding: Finding, file: Sequence[str]) -> list[str]:
    """Return one finding, with its line of the file where there is one."""
    fault = finding.fault
    place = f":{fault.line}:{fault.column}" if fault.line else ""
    subject = f" ({fault.subject})" if fault.subject else ""
    message = printable(f"{fault.message}{subject} [{fault.rule}]")
    lines = [f"{_path(fault.path)}{place}: {finding.severity}: {message}"]
    shown = excerpt(file, fault.line, fault.column)
    if shown is not None and shown.line:
        number = str(fault.line)
        lines.append(f"  {number} | {shown.line}")
        lines.append(f"  {' ' * len(number)} | {' ' * shown.offset}^")
    if fault.expected:
        lines.append(f"  expected: {printable(fault.expected)}")
    return lines


def _path(path: str) -> str:
    """Return a path that begins no command of a forge's log, such as `::stop-commands::`."""
    shown = printable(path)
    return f"./{shown}" if shown.startswith((":", "#")) else shown
