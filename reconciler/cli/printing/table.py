"""Tables as kubectl prints them: aligned, without lines."""

import sys
from collections.abc import Collection, Iterable, Sequence

import click

from reconciler.audit.printable import printable

GAP = "   "


def print_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    headers: bool = True,
    bad: Collection[int] = (),
) -> None:
    """Print an aligned table without lines, as kubectl does, to standard output.

    Args:
        titles: Its head.
        rows: Cells, as many each.
        headers: Whether the head is printed.
        bad: Numbers of the rows, from 0, that are red on a terminal.
    """
    for line in table_lines(titles, rows, headers=headers, bad=bad):
        click.echo(line)


def table_lines(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    headers: bool = True,
    bad: Collection[int] = (),
) -> list[str]:
    """Return an aligned table line by line; on a terminal its head is bold, what is bad is red."""
    widths = widths_of([titles, *rows] if headers else rows)
    aligned = [aligned_line(row, widths) for row in rows]
    colours = sys.stdout.isatty()
    for number in bad if colours else ():
        aligned[number] = click.style(aligned[number], fg="red")
    if headers:
        head = aligned_line(titles, widths)
        aligned.insert(0, click.style(head, bold=True) if colours else head)
    return aligned


def widths_of(lines: Iterable[Sequence[str]]) -> list[int]:
    """Return how wide each column is."""
    return [max(map(len, map(printable, column))) for column in zip(*lines, strict=True)]


def aligned_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line of a table; a cell wider than its column moves the rest of its line."""
    shown = map(printable, cells)
    padded = (cell.ljust(width) for cell, width in zip(shown, widths, strict=True))
    return GAP.join(padded).rstrip()
