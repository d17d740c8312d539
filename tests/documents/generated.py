"""The parts of documents that the code says: `python -m tests.documents.generated` writes them.

`rules.yaml` has for each rule what it means (`says`) and the files of two examples. A file begins
with its path as a comment, unless it is the only one; one under `python` is an expression that
stands for a content too large or too odd to be printed. The right example names files of the wrong
one and what differs in them: `edits` replace lines that occur once, at whatever depth.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Any

import yaml

from reconciler.audit.findings import ERRORS, RULES, WARNINGS
from reconciler.core.inputs.world import languages
from reconciler.delivery.carriage import TABLE, Cell
from reconciler.projection.project import Language, direction
from tests.house.test_deciders import RULES as DECIDERS
from tests.shell.fleet import ROOT


def directions_as_markdown(spoken: Sequence[Language]) -> str:
    """A section for each pair of APIs, in both directions."""
    return "\n".join(line for pair in permutations(spoken, 2) for line in section(*pair))


def notes_as_markdown(spoken: Sequence[Language]) -> str:
    """What is special about how each API says something."""
    return "\n".join(
        f"- **{language.name}**, {row.fact.name}: {row.note}"
        for language in spoken
        for row in language.rows
        if row.note
    )


def section(source: Language, target: Language) -> Iterator[str]:
    """What one direction carries over and loses."""
    yield f"### {source.name} to {target.name}"
    yield ""
    yield f"| what | of the {source.kind[1]} | of the {target.kind[1]} |"
    yield "| --- | --- | --- |"
    for fact, read, write in direction(source, target):
        yield f"| {fact.name} | {code(read.place)} | {code(write.place)} |"
    yield ""
    missing = [f"{name} ({code(place)})" for name, place in lost(source, target)]
    if missing:
        yield f"Lost: {', '.join(missing)}."
        yield ""


def lost(source: Language, target: Language) -> list[tuple[str, str]]:
    """What the source says and the target cannot, each with where the source says it."""
    carried = {fact for fact, _, _ in direction(source, target)}
    rows = [row for row in source.rows if row.fact not in carried and row.write is not None]
    return [*((row.fact.name, row.place) for row in rows), *source.alone]


def code(place: str) -> str:
    """Where something stands; paths as code, words as words."""
    parts = (part.strip() for part in place.split(","))
    return ", ".join(f"`{part}`" if "." in part and " " not in part else part for part in parts)


RULE_TABLE = Path(__file__).with_name("rules.yaml")
RULE_PAGES = "docs/rules"
PATH = re.compile(r"# (\S+\.(?:yaml|json))\n")


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


def architecture_page(page: str) -> str:
    """The page with a row for each rule that somebody may look for."""
    head = "| question | who decides | test that fails otherwise |\n| --- | --- | --- |\n"
    return _with_part(page, "deciders", head + "".join(map(str, DECIDERS)))


def _with_part(page: str, name: str, text: str) -> str:
    """The page with a text between the marks of a part."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{text.strip()}\n\n{end}{tail}"


@dataclass(frozen=True, slots=True)
class Shown:
    """A file of an example as its page shows it; `path` is `""` where the page names none."""

    path: str
    language: str
    text: str

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        if self.language != "python":
            return self.text.encode()
        value = eval(compile(ast.parse(self.text.strip(), mode="eval"), "<table>", "eval"), {})  # noqa: S307  # our own table
        return value if isinstance(value, bytes) else str(value).encode()


@dataclass(frozen=True, slots=True)
class RulePage:
    """What the page of a rule says, and the files of its examples; none for a rule without."""

    rule: str
    says: str
    wrong: tuple[Shown, ...]
    right: tuple[Shown, ...]
    note: str

    def __str__(self) -> str:
        """The page."""
        severity = "warning" if self.rule in WARNINGS else "error"
        parts = [f"# {self.rule}\n", f"{RULES[self.rule]} ({severity}).\n", self.says]
        for title, files in (("Wrong", self.wrong), ("Right", self.right)):
            parts += [f"## {title}\n"] if files else []
            parts += [f"```{file.language}\n{file.text}```\n" for file in files]
        return "\n".join([*parts, self.note] if self.note else parts)


@cache
def rule_pages() -> Mapping[str, RulePage]:
    """Every page by its rule."""
    table = yaml.load(RULE_TABLE.read_text(encoding="utf-8"), yaml.CSafeLoader)  # a safe one
    return {rule: _page(rule, row) for rule, row in table.items()}


def _page(rule: str, row: Mapping[str, Any]) -> RulePage:
    wrong = tuple(map(_shown, row.get("wrong", ())))
    by_path = {file.path: file.text for file in wrong}
    right = tuple(
        _shown(file if isinstance(file, str) else _edited(by_path[file.get("file", "")], file))
        for file in row.get("right", ())
    )
    return RulePage(rule, row["says"], wrong, right, row.get("note", ""))


def _shown(file: str | Mapping[str, str]) -> Shown:
    language, text = ("yaml", file) if isinstance(file, str) else next(iter(file.items()))
    named = PATH.match(text)
    return Shown(named[1] if named else "", language, text)


def _edited(text: str, file: Mapping[str, Any]) -> str:
    """A file of the wrong example with its edits applied."""
    lines = text.splitlines()
    for edit in file.get("edits", ()):
        of = edit["of"].splitlines()
        ((start, depth),) = _places(lines, of)
        lines[start : start + len(of)] = [
            _indented(line, depth) for line in edit["is"].splitlines()
        ]
    return "".join(f"{line}\n" for line in lines)


def _places(lines: Sequence[str], of: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where some lines stand, and how deep."""
    for start in range(len(lines) - len(of) + 1):
        depth = len(lines[start]) - len(of[0])
        if depth >= 0 and lines[start : start + len(of)] == [_indented(line, depth) for line in of]:
            yield start, depth


def _indented(line: str, depth: int) -> str:
    return " " * depth + line if line else ""


def index_page(page: str) -> str:
    """The index with a line for each rule."""
    for title, rules in (("Errors", ERRORS), ("Warnings", WARNINGS)):
        head, _, rest = page.partition(f"\n## {title}\n")
        prose, dashes, tail = rest.partition("| --- | --- |\n")
        _, _, others = f"\n{tail}".partition("\n\n")
        rows = "".join(f"| [{rule}]({rule}.md) | {line} |\n" for rule, line in rules.items())
        page = f"{head}\n## {title}\n{prose}{dashes}{rows}" + (f"\n{others}" if others else "")
    return page


def rule_page(rule: str, _: str) -> str:
    """The page of a rule, whatever it said."""
    return str(rule_pages()[rule])


PAGES: Mapping[str, Callable[[str], str]] = {
    "docs/architecture.md": architecture_page,
    "docs/delivery.md": delivery_page,
    "docs/one-system.md": one_system_page,
    f"{RULE_PAGES}/README.md": index_page,
    **{f"{RULE_PAGES}/{rule}.md": partial(rule_page, rule) for rule in RULES},
}
"""Each page to what it says, given what it said."""


def main() -> None:
    """Write every page that says something else by now."""
    for name, written in PAGES.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if (after := written(before)) != before:
            path.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
