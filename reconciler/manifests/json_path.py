"""JSONPath as kubectl reads it: fields, indexes, `[*]`, filters like `[?(@.type=="Ready")]`."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
    found: tuple[object, ...] = (body,)
    for step in _steps(path):
        before, found = found, tuple(value for one in found for value in step.lead(one))
        if required and step.asks_for and before and not found:
            raise LookupError(f"{step.asks_for} is not found")
    if required and any(value is None for value in found):
        raise LookupError(f"{path} is null")
    return found


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
        found = _step(rest)
        if found is None:
            raise ValueError(f"must be a JSONPath such as {EXAMPLE}")
        step, length = found
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
        for item in value if isinstance(value, list) else ():
            found = item
            for name in names:
                found = found.get(name) if isinstance(found, Mapping) else None
            if found is not None and (_text(found) == wanted) is equal:
                yield item

    return lead


def _text(value: object) -> str:
    """Return a value as a filter spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
