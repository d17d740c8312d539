"""Tables as kubectl prints them: aligned, without lines."""

import sys
from collections.abc import Sequence

import click

from reconciler.core.message import plain


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, headers: bool = True
) -> None:
    """Print an aligned table without lines, as kubectl does, to standard output."""
    shown = [[plain(cell) for cell in row] for row in rows]
    lines = [list(titles), *shown] if headers else shown
    widths = [max(len(line[i]) for line in lines) for i in range(len(titles))] if lines else []
    bold = headers and sys.stdout.isatty()
    for number, line in enumerate(lines):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        row = "   ".join(cells).rstrip()
        click.echo(click.style(row, bold=True) if bold and number == 0 else row)
