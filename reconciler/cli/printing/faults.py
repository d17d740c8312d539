"""How faults are shown to people: where, what, and what would be right."""

from collections.abc import Iterable

import click

from reconciler.audit.printable import printable
from reconciler.model.world import Fault, Trace


def print_faults(faults: Iterable[Fault]) -> None:
    """Print faults to standard error: where, what, and what would be right."""
    for fault in faults:
        click.echo(fault_text(fault), err=True)


def print_traces(traces: Iterable[Trace]) -> None:
    """Print to standard error where the errors of our own come from, for a report of them."""
    for trace in traces:
        click.echo(f"{printable(fault_line(trace.fault))}, trace for a report:", err=True)
        for line in trace.text.splitlines():
            click.echo(f"  {printable(line)}", err=True)


def fault_text(fault: Fault) -> str:
    """Return a fault in one or two lines."""
    first = fault_line(fault)
    if fault.subject:
        first = f"{first} ({fault.subject})"
    lines = [printable(first)]
    if fault.expected:
        lines.append(f"  expected: {printable(fault.expected)}")
    return "\n".join(lines)


def fault_line(fault: Fault) -> str:
    """Return where a fault is and what is wrong."""
    where = f"{fault.path}:{fault.line}:{fault.column}" if fault.line else fault.path
    return f"{where}: {fault.message}"
