"""Findings as workflow commands, which GitHub shows beside the lines of a pull request.

GitHub shows ten errors and ten warnings of a step; SARIF has room for more.
"""

from reconciler.audit.findings import Finding
from reconciler.audit.reports.report import FindingsReport

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
