"""The line of a file with a caret under one place of it, aligned on any terminal."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

TAB_COLUMNS = 4  # ours: a tab is shown as so many columns at most
WIDEST = 100  # columns: of a longer line only the part around the place is shown
BEFORE = 60  # columns kept before the place in a long line
NEAR = 4 * WIDEST  # characters of a long line that are looked at, before the place and after it


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A line fit for a terminal, and the number of columns before the place."""

    line: str
    offset: int


def lines_of(text: str) -> Sequence[str]:
    """Return the lines of a file, whatever they end in."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def excerpt(lines: Sequence[str], line: int, column: int) -> Excerpt | None:
    """Return a line of a file and where in it a place is shown, `None` if there is no such line.

    Tabs become spaces, what cannot be printed becomes "?", so nothing in a file moves the cursor.

    Args:
        lines: Those of the file.
        line: From 1.
        column: From 1, in characters.
    """
    if not 0 < line <= len(lines) or column < 1:
        return None
    whole = lines[line - 1]
    first = max(0, column - 1 - NEAR)  # a line may be the whole file
    cells = _cells(whole[first : column - 1 + NEAR])
    place = min(column - 1 - first, len(cells))
    offset = sum(width for _, width in cells[:place])
    start = place
    if offset + sum(width for _, width in cells[place:]) > WIDEST:
        kept = 0
        while start and kept + cells[start - 1][1] <= BEFORE:
            start -= 1
            kept += cells[start][1]
    else:
        start = 0
    shown = ""
    width = 0
    for cell, size in cells[start:]:
        if width + size > WIDEST:
            shown += "…"
            break
        shown += cell
        width += size
    mark = "…" if start or first else ""
    before = sum(size for _, size in cells[start:place]) + len(mark)
    return Excerpt(f"{mark}{shown}".rstrip(), before)


def _cells(line: str) -> list[tuple[str, int]]:
    """Return each character as it is shown, and its width in columns."""
    cells: list[tuple[str, int]] = []
    at = 0
    for character in line:
        cell = _cell(character, at)
        cells.append(cell)
        at += cell[1]
    return cells


def _cell(character: str, at: int) -> tuple[str, int]:
    """Return a character as it is shown at a column, and its width."""
    if character == "\t":
        width = TAB_COLUMNS - at % TAB_COLUMNS
        return " " * width, width
    if not character.isprintable():
        return "?", 1
    if unicodedata.category(character) in ("Mn", "Me"):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1
