"""Findings as JUnit XML, which GitLab, Jenkins and others show as tests."""

from collections import defaultdict
from collections.abc import Mapping
from xml.sax.saxutils import escape

from reconciler.audit.findings import Finding, Severity
from reconciler.audit.reports.report import FindingsReport

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
    told = [f"{place}: {finding.severity}: {fault.message}"]
    told += [f"object: {fault.subject}"] if fault.subject else []
    told += [f"expected: {fault.expected}"] if fault.expected else []
    text = _text("\n".join(told))
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
