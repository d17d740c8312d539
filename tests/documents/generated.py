"""The parts of documents that the code says: `python -m tests.documents.generated` writes them."""

from collections.abc import Callable, Mapping

from reconciler.core.inputs.world import languages
from reconciler.delivery.carriage import TABLE, Cell
from reconciler.projection.as_markdown import directions_as_markdown, notes_as_markdown
from tests.shell.fleet import ROOT


def delivery_page(page: str) -> str:
    """The page with the table of what is not to happen on clusters, by transport."""
    transports = list(next(iter(TABLE.values())))
    titles = ["asked", *(f"`{name}`" for name in transports)]
    rows = [titles, ["---"] * len(titles)]
    for instruction, cells in TABLE.items():
        rows.append([f"`{instruction}`", *(_cell(cells[name]) for name in transports)])
    return _with_part(page, "carriage", "".join(f"| {' | '.join(row)} |\n" for row in rows))


def _cell(cell: Cell) -> str:
    return cell.by if cell.carried else f"**not carried:** {cell.by}"


def one_system_page(page: str) -> str:
    """The page with what one API's clusters are in another one."""
    spoken = tuple(languages().values())
    page = _with_part(page, "directions", directions_as_markdown(spoken))
    return _with_part(page, "notes", notes_as_markdown(spoken))


def _with_part(page: str, name: str, text: str) -> str:
    """The page with a text between the marks of a part."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{text.strip()}\n\n{end}{tail}"


PAGES: Mapping[str, Callable[[str], str]] = {
    "docs/delivery.md": delivery_page,
    "docs/one-system.md": one_system_page,
}
"""Each page to what it says, given what it said."""


if __name__ == "__main__":
    for name, written in PAGES.items():
        path = ROOT / name
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
