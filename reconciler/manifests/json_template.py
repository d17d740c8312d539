r"""Texts with JSONPaths in braces, as `kubectl get -o jsonpath=` takes them.

`{.items[*].metadata.name}`, `{range .items[*]}{.metadata.name}{"\n"}{end}`, anything else is text.

Source: client-go util/jsonpath/parser.go `Parse`, jsonpath.go `PrintResults`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.manifests.json_path import check_path, find_path

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
