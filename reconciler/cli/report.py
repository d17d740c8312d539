"""How faults and passes are shown to people."""

import sys
from collections.abc import Iterable, Sequence

import click

from reconciler.core.changes import DeleteFile
from reconciler.core.message import decision_line, plain
from reconciler.model.moments import format_moment
from reconciler.model.world import Fault
from reconciler.shell.passes import Report


def print_faults(faults: Iterable[Fault]) -> None:
    """Print faults to standard error: where, what, and what would be right."""
    for fault in faults:
        click.echo(fault_text(fault), err=True)


def fault_text(fault: Fault) -> str:
    """Return a fault in one or two lines."""
    where = f"{fault.path}:{fault.line}:{fault.column}" if fault.line else fault.path
    first = f"{where}: {fault.message}"
    if fault.subject:
        first = f"{first} ({fault.subject})"
    lines = [plain(first)]
    if fault.expected:
        lines.append(f"  expected: {plain(fault.expected)}")
    return "\n".join(lines)


def print_pass(report: Report, *, branch: str, dry_run: bool, moved: bool) -> None:
    """Print what a pass decided to standard output."""
    outcome = report.outcome
    for decision in outcome.decisions:
        if decision.before != decision.after:
            click.echo(decision_line(decision))
        if decision.problem:
            click.echo(f"{plain(decision.subject)}: {plain(decision.problem)}")
    if dry_run:
        for change in outcome.changes:
            verb = "delete" if isinstance(change, DeleteFile) else "write "
            click.echo(f"{verb} {plain(change.path)}")
    click.echo(_summary(report, branch, dry_run=dry_run, moved=moved))
    if outcome.recheck_at is not None:
        click.echo(f"next look at {format_moment(outcome.recheck_at)}", err=True)


def _summary(report: Report, branch: str, *, dry_run: bool, moved: bool) -> str:
    """Return the last line: what became of the pass."""
    count = len(report.outcome.changes)
    files = f"{count} file{'s' if count != 1 else ''}"
    if not count:
        return "nothing to do"
    if dry_run:
        return f"{files} would change"
    if report.commit is None:
        return "nothing to do"
    if not moved:
        return f"{files} changed in {report.commit}, which no branch points to"
    return f"{files} changed in {report.commit[:12]} on {plain(branch)}"


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an aligned table without lines, as kubectl does, to standard output."""
    shown = [[plain(cell) for cell in row] for row in rows]
    widths = [
        max(len(header), *(len(row[i]) for row in shown)) if shown else len(header)
        for i, header in enumerate(headers)
    ]
    bold = sys.stdout.isatty()
    for number, row in enumerate([list(headers), *shown]):
        line = "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(click.style(line.rstrip(), bold=True) if bold and number == 0 else line.rstrip())
