"""Writes the table of docs/delivery.md: `python -m tests.documents.carriage`."""

from pathlib import Path

from reconciler.delivery.carriage import TABLE, Cell

PAGE = Path(__file__).parent.parent.parent / "docs" / "delivery.md"
BEGIN, END = "<!-- carriage: begin -->\n", "<!-- carriage: end -->\n"


def written(page: str) -> str:
    """The page with its table as it is made of the table of delivery."""
    transports = list(next(iter(TABLE.values())))
    titles = ["asked", *(f"`{name}`" for name in transports)]
    rows = [titles, ["---"] * len(titles)]
    for instruction, cells in TABLE.items():
        rows.append([f"`{instruction}`", *(_cell(cells[name]) for name in transports)])
    lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{lines}\n{END}{tail}"


def _cell(cell: Cell) -> str:
    return cell.by if cell.carried else f"**not carried:** {cell.by}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
