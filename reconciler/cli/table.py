"""Tables as kubectl prints them: aligned, without lines."""

import sys
from collections.abc import Sequence

import click

from reconciler.audit.printable import printable


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, headers: bool = True
) -> None:
    """Print an aligned table without lines, as kubectl does, to standard output."""
    for line in table_lines(titles, rows, headers=headers):
        click.echo(line)


def table_lines(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, headers: bool = True
) -> list[str]:
    """Return an aligned table line by line; its head is bold on a terminal."""
    shown = [[printable(cell) for cell in row] for row in rows]
    lines = [list(titles), *shown] if headers else shown
    widths = [max(len(line[i]) for line in lines) for i in range(len(titles))] if lines else []
    aligned = [
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    if headers and sys.stdout.isatty():
        aligned[0] = click.style(aligned[0], bold=True)
    return aligned
