"""Findings for scripts: one JSON list."""

import json

from reconciler.audit.reports.report import Report
from reconciler.audit.rules import help_uri


def as_json(report: Report) -> str:
    """Return the findings as a list of flat objects; `line` and `column` are 0 where unknown."""
    listed = [
        {
            "path": finding.fault.path,
            "line": finding.fault.line,
            "column": finding.fault.column,
            "severity": str(finding.severity),
            "field": finding.fault.field,
            "rule": finding.fault.rule,
            "message": finding.fault.message,
            "expected": finding.fault.expected,
            "object": finding.fault.subject,
            "help": help_uri(finding.fault.rule),
        }
        for finding in report.findings
    ]
    return json.dumps(listed, indent=2) + "\n"
