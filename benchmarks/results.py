"""The results of a run: rows in groups, as a table for people and as JSON."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.calibration import Loops
from benchmarks.figure import Figure, Unit
from benchmarks.goals import GOALS

HEAD = ("what", "goal", "figure", "", "loops, ms", "note")
SMALL = 10  # figures below it are shown with more digits


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one group, and how fast the machine was beside them."""

    group: str
    measured_on: str
    loops: Loops
    figures: tuple[Figure, ...]


def cells(result: Result, figure: Figure) -> tuple[str, ...]:
    """Return one row of the table."""
    goal = GOALS.get(figure.name)
    return (
        figure.name,
        str(goal) if goal else "",
        shown(figure),
        verdict(figure),
        f"{result.loops.python:.0f} / {result.loops.hashes:.0f}",
        figure.note,
    )


def verdict(figure: Figure) -> str:
    """Return whether the goal is met, `""` if there is none."""
    goal = GOALS.get(figure.name)
    if goal is None:
        return ""
    return "met" if goal.is_met(figure.value) else "missed"


def shown(figure: Figure) -> str:
    """Return the number with as many digits as it deserves."""
    digits = 0 if figure.unit is Unit.COUNT or figure.value >= 10 * SMALL else 1
    if abs(figure.value) < SMALL and figure.unit is not Unit.COUNT:
        digits = 2
    return f"{figure.value:,.{digits}f} {figure.unit}".rstrip()


def as_text(rows: Iterable[tuple[str, ...]]) -> str:
    """Return the table of some rows for people."""
    return aligned([HEAD, *rows], numbers=(2, 4))


def aligned(lines: Sequence[tuple[str, ...]], *, numbers: Container[int]) -> str:
    """Return rows below each other; the columns that have numbers are to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def as_markdown(results: Iterable[Result]) -> str:
    """Return the table as a page shows it; goals come last that were not measured."""
    rows = [cells(result, figure) for result in results for figure in result.figures]
    measured = {row[0] for row in rows}
    rows += [
        (name, str(goal), "", "not measured", "", "")
        for name, goal in GOALS.items()
        if name not in measured
    ]
    lines = [HEAD, ("---",) * len(HEAD), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def as_json(results: Iterable[Result]) -> str:
    """Return everything that was measured, with goals and verdicts."""
    return json.dumps([_encode(result) for result in results], indent=1) + "\n"


def read(place: Path) -> dict[str, Result]:
    """Return the results of an earlier run by group; none where there is no file."""
    if not place.exists():
        return {}
    return {item["group"]: _decode(item) for item in json.loads(place.read_text())}


def _encode(result: Result) -> Mapping[str, object]:
    return {
        "group": result.group,
        "measuredOn": result.measured_on,
        "loopsMilliseconds": {"python": result.loops.python, "hashes": result.loops.hashes},
        "rows": [_encode_row(figure) for figure in result.figures],
    }


def _encode_row(figure: Figure) -> Mapping[str, object]:
    goal = GOALS.get(figure.name)
    return {
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "note": figure.note,
        "goal": goal.limit if goal else None,
        "met": goal.is_met(figure.value) if goal else None,
    }


def _decode(item: Mapping[str, object]) -> Result:
    loops, rows = item["loopsMilliseconds"], item["rows"]
    assert isinstance(loops, dict)  # noqa: S101  # as it was written
    assert isinstance(rows, list)  # noqa: S101
    return Result(
        str(item["group"]),
        str(item["measuredOn"]),
        Loops(**loops),
        tuple(Figure(row["name"], row["value"], Unit(row["unit"]), row["note"]) for row in rows),
    )
