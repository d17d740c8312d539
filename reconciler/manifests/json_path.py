r"""JSONPath as kubectl reads it: paths, templates with paths in braces, custom columns.

Paths have fields, indexes, `[*]`, and filters like `[?(@.type=="Ready")]`. Templates are as
`kubectl get -o jsonpath=` takes them: `{.items[*].metadata.name}`,
`{range .items[*]}{.metadata.name}{"\n"}{end}`, anything else is text.

Source: client-go util/jsonpath/parser.go `Parse`, jsonpath.go `PrintResults`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from reconciler.model.records import dataclass

Lead = Callable[[object], Iterator[object]]
"""Leads from one value to those that a piece of a path means."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """A piece of a path: where it leads, and what it names, `""` if it means all that is there."""

    lead: Lead
    asks_for: str = ""


EXAMPLE = ".metadata.name or {.status.conditions[?(@.type=='Ready')].status}"

_FIELD = re.compile(r"\.?((?:\\.|[^\s.\[\]{}'\"\\])+)")
_QUOTED = re.compile(r"\[(?:'([^']*)'|\"([^\"]*)\")\]")
_INDEX = re.compile(r"\[(-?\d{1,9})\]")
_ALL = re.compile(r"\[\*\]|\.\*")
_FILTER = re.compile(
    r"\[\?\(\s*@((?:\.[^\s.\[\]{}'\"=!()]+)+)\s*(==|!=)\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s'\"()]+))\s*\)\]"
)


def find_path(body: object, path: str, *, required: bool = False) -> tuple[object, ...]:
    r"""Return every value that a path leads to, in the order of the document.

    Args:
        body: A document; anything may stand in it.
        path: With or without braces and the first dot.
        required: Whether the fields and indexes that it names must be there, and be no null.

    Raises:
        ValueError: It is no such path; `check_path` says so beforehand.
        LookupError: It leads to nothing, and is `required`; the message says where it ends.

    Source: client-go util/jsonpath/jsonpath.go `evalField`, `evalArray`, allowMissingKeys.

    >>> find_path({"a": [{"b": 1}, {"b": 2}]}, "{.a[*].b}"), find_path({"x.y/z": 3}, r".x\.y/z")
    ((1, 2), (3,))
    """
    values: tuple[object, ...] = (body,)
    for step in _steps(path):
        before, values = values, tuple(value for base in values for value in step.lead(base))
        if required and step.asks_for and before and not values:
            raise LookupError(f"{step.asks_for} is not found")
    if required and any(value is None for value in values):
        raise LookupError(f"{path} is null")
    return values


def check_path(path: str) -> None:
    """Refuse what is no path.

    Raises:
        ValueError: It is none; the message says what one looks like.
    """
    _steps(path)


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[PathStep, ...]:
    rest = path.strip()
    if rest.startswith("{") and rest.endswith("}"):
        rest = rest[1:-1].strip()
    steps = []
    while rest:
        first = _step(rest)
        if first is None:
            raise ValueError(f"must be a JSONPath such as {EXAMPLE}")
        step, length = first
        steps.append(step)
        rest = rest[length:]
    if not steps:
        raise ValueError(f"must be a JSONPath such as {EXAMPLE}")
    return tuple(steps)


def _step(rest: str) -> tuple[PathStep, int] | None:
    """Return the first step of a path, and the length of its text."""
    if match := _ALL.match(rest):
        return PathStep(_every), match.end()
    if match := _FILTER.match(rest):
        names, operator, *values = match.groups()
        wanted = next(value for value in values if value is not None)
        return PathStep(_where(names.split(".")[1:], wanted, equal=operator == "==")), match.end()
    if match := _INDEX.match(rest):
        return PathStep(_at(int(match[1])), match[0]), match.end()
    if match := _QUOTED.match(rest):
        return _named(match[1] if match[1] is not None else match[2]), match.end()
    if match := _FIELD.match(rest):
        return _named(re.sub(r"\\(.)", r"\1", match[1])), match.end()
    return None


def _named(name: str) -> PathStep:
    def lead(value: object) -> Iterator[object]:
        if isinstance(value, Mapping) and name in value:
            yield value[name]

    return PathStep(lead, name)


def _at(index: int) -> Lead:
    def lead(value: object) -> Iterator[object]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return lead


def _every(value: object) -> Iterator[object]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()


def _where(names: Sequence[str], wanted: str, *, equal: bool) -> Lead:
    """Return what leads to those items of a list whose field is, or is not, a text."""

    def lead(value: object) -> Iterator[object]:
        for element in value if isinstance(value, list) else ():
            value_there = element
            for name in names:
                value_there = value_there.get(name) if isinstance(value_there, Mapping) else None
            if value_there is not None and (_text(value_there) == wanted) is equal:
                yield element

    return lead


def _text(value: object) -> str:
    """Return a value as a filter spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_BRACES = re.compile(r"\{((?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[^{}\"'])*)\}")
_TEXT = re.compile(r"\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class PathPiece:
    """What stands at a path, `""` for all of the object."""

    path: str


@dataclass(frozen=True, slots=True)
class RangePiece:
    """The pieces between `{range PATH}` and `{end}`, once for each value at the path."""

    path: str
    pieces: "Template"


Template = tuple["str | PathPiece | RangePiece", ...]


def parse_template(text: str) -> Template:
    """Return the pieces of a template; without any braces all of it is a path.

    Raises:
        ValueError: A path in it is none, or a range has no end; the message says what is wrong.
    """
    stack: list[list[str | PathPiece | RangePiece]] = [[]]
    paths: list[str] = []
    for piece in _pieces(text if "{" in text else f"{{{text}}}"):
        match piece:
            case str():
                stack[-1].append(piece)
            case ["range", path]:
                paths.append(_path(path))
                stack.append([])
            case ["end"]:
                if not paths:
                    raise ValueError("has an {end} without a {range}")
                inner = tuple(stack.pop())
                stack[-1].append(RangePiece(paths.pop(), inner))
            case words:
                stack[-1].append(PathPiece(_path(" ".join(words))))
    if paths:
        raise ValueError("has a {range} without an {end}")
    return tuple(stack[0])


def fill_template(template: Template, root: object, *, required: bool = False) -> str:
    """Return the text of a template for an object; where a path leads to nothing, there is none.

    Raises:
        LookupError: A path leads to nothing, and all are `required` to lead to something.

    >>> fill_template(parse_template("a {.b} {range .c[*]}{@}{','}{end}"), {"b": 1, "c": [2, 3]})
    'a 1 2,3,'
    """
    return "".join(_filled(template, root, required=required))


def spelled_value(value: object) -> str:
    """Return a value as a template shows it: a mapping or a list as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _filled(template: Template, root: object, *, required: bool) -> Iterator[str]:
    for piece in template:
        match piece:
            case str():
                yield piece
            case PathPiece(path):
                values = _values(root, path, required=required)
                yield " ".join(map(spelled_value, values))
            case RangePiece(path, pieces):
                for value in _values(root, path, required=required):
                    yield from _filled(pieces, value, required=required)


def _values(root: object, path: str, *, required: bool) -> tuple[object, ...]:
    return find_path(root, path, required=required) if path else (root,)


def _pieces(text: str) -> Iterator[str | list[str]]:
    """Yield texts, and the words of what stands in braces."""
    end = 0
    for match in _BRACES.finditer(text):
        yield from _plain(text[end : match.start()])
        end = match.end()
        inner = match[1].strip()
        if quoted := _TEXT.fullmatch(inner):
            written = quoted[1] if quoted[1] is not None else quoted[2]
            yield re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), written)
        else:
            yield inner.split(maxsplit=1) if inner.startswith("range ") else [inner]
    yield from _plain(text[end:])


def _plain(text: str) -> Iterator[str]:
    """Yield a text without braces."""
    if "{" in text or "}" in text:
        raise ValueError("has a brace that stands alone")
    if text:
        yield text


def _path(text: str) -> str:
    """Return a path without the sign of the object that it begins with, `""` for that object."""
    path = text.strip().removeprefix("$").removeprefix("@")
    if path not in ("", "."):
        check_path(path)
        return path
    if not text.strip():
        raise ValueError("has braces with nothing in them")
    return ""


def parse_columns(text: str) -> tuple[tuple[str, str], ...]:
    """Return the title and the path of each column of `NAME:.metadata.name,N:.spec.replicas`.

    Source: kubectl pkg/cmd/get/customcolumn.go `NewCustomColumnsPrinterFromSpec`.

    Raises:
        ValueError: It has no such columns; the message says what is wrong.
    """
    columns = []
    for part in re.split(r",(?![^\[]*\])", text):
        title, colon, path = part.partition(":")
        if not colon or not title or not path:
            raise ValueError("must be TITLE:PATH,..., such as NAME:.metadata.name")
        check_path(path)
        columns.append((title, path))
    return tuple(columns)


def column_cell(root: object, path: str) -> str:
    """Return what a column shows of an object, `<none>` where there is nothing.

    >>> column_cell({"a": [{"b": 1}, {"b": 2}]}, ".a[*].b"), column_cell({}, ".a")
    ('1,2', '<none>')
    """
    return ",".join(spelled_value(value) for value in find_path(root, path)) or "<none>"
