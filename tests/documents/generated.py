"""The parts of documents that the code says: `python -m tests.documents.generated` writes them.

`rules.yaml` has for each rule what it means (`says`) and the files of two examples. A file begins
with its path as a comment, unless it is the only one; one under `python` is an expression that
stands for a content too large or too odd to be printed. The right example names files of the wrong
one and what differs in them: `edits` replace lines that occur once, at whatever depth.
"""

import ast
import builtins
import re
from collections import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import yaml

from reconciler.audit.advice import AdviseJson
from reconciler.audit.findings import ERRORS, RULES, WARNINGS
from reconciler.audit.json_shapes import IS_MOMENT
from reconciler.audit.previews.wording import MergedJson
from reconciler.audit.reports import ValidateJson
from reconciler.cli.api_resources import ApiResourcesJson
from reconciler.cli.blame import BlameJson
from reconciler.cli.check import CheckJson
from reconciler.cli.drain import DrainedJson
from reconciler.cli.edits import EditsJson
from reconciler.cli.events import EventsJson
from reconciler.cli.history import HistoryJson
from reconciler.cli.import_report import ImportCheckJson, ImportJson
from reconciler.cli.new_manifests import RebalanceJson
from reconciler.cli.plan import PlanJson, RootPlansJson
from reconciler.cli.printing import VersionJson
from reconciler.cli.simulate import SimulateFailEachJson, SimulateJson
from reconciler.cli.status import StatusJson
from reconciler.cli.suspend import SuspensionEditJson
from reconciler.cli.top import TopClustersJson, TopQuotasJson
from reconciler.cli.tree import TreeJson
from reconciler.cli.undo import UndoJson
from reconciler.cli.verify import VerifyJson
from reconciler.cli.why import WhyJson
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


JSON_PAGE = "docs/json.md"
ANSWERS: Mapping[str, type] = {
    "advise": AdviseJson,
    "api-resources": ApiResourcesJson,
    "blame": BlameJson,
    "check": CheckJson,
    "drain --status": DrainedJson,
    "events": EventsJson,
    "history": HistoryJson,
    "import": ImportJson,
    "import --check": ImportCheckJson,
    "plan": PlanJson,
    "plan --roots": RootPlansJson,
    "rebalance": RebalanceJson,
    "scale, label, cordon, uncordon, taint and rollout": EditsJson,
    "simulate": SimulateJson,
    "simulate --fail-each": SimulateFailEachJson,
    "status": StatusJson,
    "suspend and resume": SuspensionEditJson,
    "top clusters": TopClustersJson,
    "top quotas": TopQuotasJson,
    "tree": TreeJson,
    "undo": UndoJson,
    "validate": ValidateJson,
    "verify": VerifyJson,
    "version": VersionJson,
    "why": WhyJson,
}
"""Each heading of the answer of a verb to its type; those of what is inside are their names."""

FIELDS = re.compile(r"^\| field \| is \| meaning \|\n(?:\|.*\n)+", re.MULTILINE)
HEADING = re.compile(r"^(##+ .*\n)", re.MULTILINE)
WORDS = {str: "text", int: "number", float: "number", bool: "true or false"}


def json_page(page: str) -> str:
    """The page with the fields of each answer for machines, of the types that are printed."""
    tables = json_tables()
    head, *parts = HEADING.split(page)
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        table = tables.get(heading.strip("# \n"), "")
        head += heading + FIELDS.sub(table.replace("\\", r"\\"), body)
    return head


def json_tables() -> Mapping[str, str]:
    """The table of each heading: the answers of verbs, and all that is inside of them."""
    types, todo = dict(ANSWERS), list(ANSWERS.values())
    for of in todo:
        for inner in _inner_types(of):
            if types.setdefault(_heading(inner), inner) is inner and inner not in todo:
                todo.append(inner)
    return {heading: _fields_table(of) for heading, of in types.items()}


def _inner_types(of: type) -> Iterator[type]:
    """Yield the types of objects that the fields of one hold."""
    todo: list[Any] = list(_hints(of).values())
    for hint in todo:
        if is_typeddict(hint):
            yield hint
        todo += get_args(hint)


def _hints(of: type) -> Mapping[str, Any]:
    """The fields of a type, behind those of what it extends."""
    return get_type_hints(of, localns={"MergedJson": MergedJson}, include_extras=True)


def _heading(of: type) -> str:
    """Where the fields of a type stand: `AdoptedMoveJson` is `adopted-move`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", of.__name__.removesuffix("Json")).lower()


def _fields_table(of: type) -> str:
    rows = ["| field | is | meaning |\n", "| --- | --- | --- |\n"]
    for name, hint in _hints(of).items():
        meaning = " ".join((*_meanings(hint), ""))
        rows.append(f"| `{name}` | {_word(hint)} | {meaning}|\n")
    return "".join(rows)


def _meanings(hint: Any) -> Iterator[str]:
    """Yield what is said of a field, if anything is."""
    if get_origin(hint) is NotRequired:
        yield from _meanings(get_args(hint)[0])
    yield from (said for said in getattr(hint, "__metadata__", ()) if said != IS_MOMENT)


def _word(hint: Any) -> str:
    """What a value is, in words."""
    inner = get_args(hint)
    if IS_MOMENT in getattr(hint, "__metadata__", ()):
        return "moment"
    if get_origin(hint) in (Annotated, NotRequired):
        return _word(inner[0])
    if type(None) in inner:
        return f"{_word(inner[0])} or null"
    match get_origin(hint):
        case builtins.list:
            return f"list of {_word(inner[0])}"
        case builtins.dict | abc.Mapping:
            words = {object: "manifest", str: "mapping to text"}
            return words.get(inner[1], "mapping to numbers")
        case _:
            name = _heading(hint)
            return WORDS.get(hint) or f"[{name.replace('-', ' ')}](#{name})"


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
    JSON_PAGE: json_page,
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
