"""Writes the tables of docs/one-system.md: `python -m tests.documents.one_system`."""

from pathlib import Path

from reconciler.core.inputs.world import languages
from reconciler.projection.as_markdown import directions_as_markdown, notes_as_markdown

PAGE = Path(__file__).parent.parent.parent / "docs" / "one-system.md"


def written(page: str) -> str:
    """The page with its tables as they are made of those of the APIs."""
    spoken = tuple(languages().values())
    parts = {"directions": directions_as_markdown(spoken), "notes": notes_as_markdown(spoken)}
    for name, text in parts.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        head, _, rest = page.partition(begin)
        _, _, tail = rest.partition(end)
        page = f"{head}{begin}\n{text.strip()}\n\n{end}{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
