"""Findings for people: where, what, the line itself with a caret, and what would be right."""

from reconciler.audit.findings import Finding
from reconciler.audit.printable import printable
from reconciler.audit.reports.excerpt import excerpt
from reconciler.audit.reports.report import Report, is_hidden


def as_text(report: Report) -> str:
    """Return each finding in a few lines; empty if there is none."""
    texts: dict[str, str] = {}
    lines: list[str] = []
    for finding in report.findings:
        path = finding.fault.path
        if path not in texts:
            texts[path] = report.texts.get(path, b"").decode("utf-8", errors="replace")
        lines.extend(_lines(finding, texts[path].removeprefix("\ufeff")))
    return "".join(f"{line}\n" for line in lines)


def _lines(finding: Finding, text: str) -> list[str]:
    """Return one finding."""
    fault = finding.fault
    place = f":{fault.line}:{fault.column}" if fault.line else ""
    subject = f" ({fault.subject})" if fault.subject else ""
    message = printable(f"{fault.message}{subject} [{fault.rule}]")
    lines = [f"{_path(fault.path)}{place}: {finding.severity}: {message}"]
    found = None if is_hidden(finding, text) else excerpt(text, fault.line, fault.column)
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
