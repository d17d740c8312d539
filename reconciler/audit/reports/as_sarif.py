"""Findings as SARIF 2.1.0, which code scanning services read."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from urllib.parse import quote

from reconciler.audit.findings import Finding, finding_of
from reconciler.audit.reports.report import FindingsReport
from reconciler.audit.rules import RULES, help_uri
from reconciler.model.world import Fault

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
