"""JSONPath as Kubernetes evaluates it, where a missing field is no error.

Source: kubernetes staging/src/k8s.io/client-go/util/jsonpath, with AllowMissingKeys.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from reconciler.errors import UserError

Step = Callable[[object], Iterator[object]]

_FIELD = re.compile(r"\.((?:\\.|[^\s.\[\]{}'\"\\*$@])+)")
_NAMES = re.compile(r"\[('[^']*'(?:,'[^']*')*)\]")
_INDEX = re.compile(r"\[(-?\d{1,9})\]")
_SLICE = re.compile(r"\[(-?\d{0,9}):(-?\d{0,9})\]")
_ALL = re.compile(r"\[\*\]|\.\*")
_FILTER = re.compile(
    r"\[\?\(@((?:\.[\w-]+)+)\s*(==|!=|>=|<=|>|<)\s*(\"[^\"]*\"|'[^']*'|[\w.-]+)\)\]"
)
_COMPARE: Mapping[str, Callable[..., object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}


def find(body: object, path: str) -> tuple[Sequence[object], bool]:
    """Return what a path leads to, and whether more paths follow in braces of their own.

    Raises:
        UserError: It cannot be read, or an index is out of bounds; the message is the library's.
    """
    first, more, _ = path.partition("}{")
    found: list[object] = [body]
    for step in _steps(first):
        found = [value for one in found for value in step(one)]
    return found, bool(more)


def _steps(path: str) -> Iterator[Step]:
    rest = path.removeprefix("$")
    while rest:
        step, length = _step(rest)
        yield step
        rest = rest[length:]


def _step(rest: str) -> tuple[Step, int]:
    if match := _ALL.match(rest):
        return _every, match.end()
    if match := _FIELD.match(rest):
        return partial(_field, (match[1].replace("\\", ""),)), match.end()
    if match := _NAMES.match(rest):
        names = [name[1:-1].split(".") for name in match[1].split(",")]
        return partial(_union, names), match.end()
    if match := _INDEX.match(rest):
        return partial(_item, int(match[1])), match.end()
    if match := _SLICE.match(rest):
        start, end = (int(one) if one else None for one in match.groups())
        return partial(_slice, slice(start, end)), match.end()
    if match := _FILTER.match(rest):
        return partial(_where, match[1][1:].split("."), match[2], match[3]), match.end()
    if rest.startswith("["):
        raise UserError("unterminated array")
    raise UserError(f"unrecognized character in action: U+{ord(rest[0]):04X} {rest[0]!r}")


def _field(path: Sequence[str], value: object) -> Iterator[object]:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return
        value = value[name]
    yield value


def _union(paths: Sequence[Sequence[str]], value: object) -> Iterator[object]:
    for path in paths:
        yield from _field(path, value)


def _every(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()  # Go's order varies
    elif isinstance(value, list):
        yield from value


def _item(index: int, value: object) -> Iterator[object]:
    if not isinstance(value, list):
        return
    if not -len(value) <= index < len(value):
        message = f"array index out of bounds: index {index}, length {len(value)}"
        raise UserError(message)
    yield value[index]


def _slice(wanted: slice, value: object) -> Iterator[object]:
    if isinstance(value, list):
        yield from value[wanted]


def _where(path: Sequence[str], sign: str, written: str, value: object) -> Iterator[object]:
    wanted: object = written[1:-1] if written[0] in "'\"" else float(written)
    for one in value if isinstance(value, list) else ():
        for found in _field(path, one):
            if isinstance(found, str) == isinstance(wanted, str) and _COMPARE[sign](found, wanted):
                yield one
