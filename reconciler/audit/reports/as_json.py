"""Findings for scripts."""

from reconciler.audit.json_shapes import fault_json
from reconciler.audit.reports.report import FindingsReport
from reconciler.audit.rules import help_uri


def findings_json(report: FindingsReport) -> dict[str, object]:
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
