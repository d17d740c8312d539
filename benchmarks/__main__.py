"""Measures everything that has a goal, and prints one table.

`python -m benchmarks [GROUP ...] [--large] [-o FOLDER] [--page PAGE]`. What is measured replaces
what an earlier run left in the folder; other groups stay, so one can be measured again by itself.
"""

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.calibration import measure_loops, slower
from benchmarks.groups import GROUPS
from benchmarks.picture import draw
from benchmarks.results import Result, as_json, as_markdown, as_text, cells, read
from reconciler.model.records import replace
from reconciler.shell.processes.limits import collect_seldom

RESULTS, PICTURE = "results.json", "cost.svg"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def measure(group: str, *, large: bool) -> Result:
    """Measure one group, with the calibration loops before and after it."""
    before = measure_loops()
    figures = tuple(
        replace(figure, value=round(figure.value, 4)) for figure in GROUPS[group](large)
    )
    day = datetime.now(UTC).date().isoformat()
    return Result(group, day, slower(before, measure_loops()), figures)


def write(folder: Path, results: Mapping[str, Result], page: Path | None) -> None:
    """Write JSON and picture, and the table into the page."""
    ordered = [results[group] for group in GROUPS if group in results]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULTS).write_text(as_json(ordered))
    (folder / PICTURE).write_text(draw(f for result in ordered for f in result.figures))
    if page is not None:
        head, _, rest = page.read_text().partition(BEGIN)
        _, _, tail = rest.partition(END)
        page.write_text(f"{head}{BEGIN}{as_markdown(ordered)}{END}{tail}")


def main() -> None:
    """Measure, write after each group, print the table at the end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], default=[], metavar="GROUP")
    parser.add_argument("--large", action="store_true", help="100,000 manifests, too")
    parser.add_argument("-o", dest="folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--page", type=Path, help="a page whose table is renewed")
    asked = parser.parse_args()
    collect_seldom()  # as the command does
    results = read(asked.folder / RESULTS)
    rows: list[tuple[str, ...]] = []
    for group in asked.groups or GROUPS:
        result = measure(group, large=asked.large)
        results[group] = result
        write(asked.folder, results, asked.page)
        rows += [cells(result, figure) for figure in result.figures]
        print(f"measured: {group}", file=sys.stderr, flush=True)
    print(as_text(rows), end="")


if __name__ == "__main__":
    main()
