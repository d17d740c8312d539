"""Findings for people: where, what, the line itself with a caret, and what would be right."""

from collections.abc import Sequence
from itertools import groupby

from reconciler.audit.findings import Finding
from reconciler.audit.printable import printable
from reconciler.audit.reports.excerpt import excerpt, lines_of
from reconciler.audit.reports.report import FindingsReport, is_hidden

MOST_FINDINGS = 20  # ours: of one file; whoever mends those runs it again


def as_text(report: FindingsReport) -> str:
    """Return each finding in a few lines; empty if there is none."""
    lines: list[str] = []
    for path, found in groupby(report.findings, key=lambda finding: finding.fault.path):
        text = report.texts.get(path, b"").decode("utf-8", errors="replace").removeprefix("\ufeff")
        file = lines_of(text)
        findings = list(found)
        for finding in findings[:MOST_FINDINGS]:
            shown = () if is_hidden(finding, text) else file
            lines.extend(_lines(finding, shown))
        left = len(findings) - MOST_FINDINGS
        if left > 0:
            lines.append(f"{_path(path)}: and {left} more {'finding' if left == 1 else 'findings'}")
    return "".join(f"{line}\n" for line in lines)


def _lines(finding: Finding, file: Sequence[str]) -> list[str]:
    """Return one finding, with its line of the file where there is one."""
    fault = finding.fault
    place = f":{fault.line}:{fault.column}" if fault.line else ""
    subject = f" ({fault.subject})" if fault.subject else ""
    message = printable(f"{fault.message}{subject} [{fault.rule}]")
    lines = [f"{_path(fault.path)}{place}: {finding.severity}: {message}"]
    found = excerpt(file, fault.line, fault.column)
    if found is not None and found.line:
        number = str(fault.line)
        lines.append(f"  {number} | {found.line}")
        lines.append(f"  {' ' * len(number)} | {' ' * found.offset}^")
    if fault.expected:
        lines.append(f"  expected: {printable(fault.expected)}")
    return lines


def _path(path: str) -> str:
    """Return a path that begins no command of a forge's log, such as `::stop-commands::`."""
    shown = printable(path)
    return f"./{shown}" if shown.startswith((":", "#")) else shown
