"""Functions that expressions may call beyond standard CEL: strings, lists, quantities, versions.

A failure is raised as `ValueError` or `TypeError`, which CEL turns into its own errors.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import total_ordering
from itertools import pairwise

from reconciler.dialects.ocm.cel.budget import refuse_length
from reconciler.dialects.ocm.cel.engine import engine, regexes
from reconciler.model.quantity import NANOS, Quantity, approximate, parse_quantity

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII
)


@dataclass(frozen=True, slots=True, order=True)
class CelQuantity:
    """An amount, exact."""

    nanos: int


@total_ordering
@dataclass(frozen=True, slots=True)
class CelVersion:
    """A semantic version; one before a release comes before the release."""

    numbers: tuple[int, int, int]
    before: tuple[str, ...] = ()

    def __lt__(self, other: "CelVersion") -> bool:
        """Compare by the rules of semver 2.0."""
        if self.numbers != other.numbers:
            return self.numbers < other.numbers
        if not self.before or not other.before:
            return bool(self.before) and not other.before
        return [_rank(part) for part in self.before] < [_rank(part) for part in other.before]


def _rank(part: str) -> tuple[int, int, str]:
    """Return how an identifier sorts: numbers first, by value."""
    return (0, int(part), "") if part.isdecimal() else (1, 0, part)


def _quantity(text: object) -> CelQuantity:
    return CelQuantity(parse_quantity(str(text)))


def _version(text: object) -> CelVersion:
    found = _SEMVER.fullmatch(str(text))
    if found is None:
        raise ValueError(f'"{text}" is not a semantic version')
    major, minor, patch, before = found.groups()
    parts = tuple(before.split(".")) if before else ()
    return CelVersion((int(major), int(minor), int(patch)), parts)


def _is(parse: Callable[[object], object]) -> Callable[[object], object]:
    """Return a function that tells whether a text can be parsed."""

    def check(text: object) -> object:
        try:
            parse(text)
        except ValueError:
            return _cel(False)  # the value itself
        return _cel(True)  # the value itself

    return check


def _cel(value: object) -> object:
    """Return a value as CEL's type."""
    found: object = engine().json_to_cel(value)
    return found


def _less_than(one: object, other: object) -> bool:
    """Compare two values of one type."""
    if isinstance(one, CelQuantity) and isinstance(other, CelQuantity):
        return one < other
    if isinstance(one, CelVersion) and isinstance(other, CelVersion):
        return one < other
    raise TypeError("no such overload")


def _compare(one: object, other: object) -> object:
    if _less_than(one, other):
        return _cel(-1)
    return _cel(1 if _less_than(other, one) else 0)


def _nanos(value: object) -> int:
    """Return an amount in nano units; whole numbers count, too."""
    if isinstance(value, CelQuantity):
        return value.nanos
    if isinstance(value, int):
        return value * NANOS
    raise TypeError("no such overload")


def _whole(value: object) -> object:
    nanos = _nanos(value)
    if nanos % NANOS:
        raise ValueError("the quantity is no integer")
    return _cel(nanos // NANOS)


def _part(position: int) -> Callable[[CelVersion], object]:
    return lambda version: _cel(version.numbers[position])


def _substring(text: str, start: int, end: int | None = None) -> object:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError("index out of range")
    return _cel(str(text)[start:stop])


def _index_of(value: str | Sequence[object], item: object, start: int = 0) -> object:
    if isinstance(value, str):
        return _cel(str(value).find(str(item), start))
    return _cel(next((i for i, one in enumerate(value) if one == item), -1))


def _last_index_of(value: str | Sequence[object], item: object) -> object:
    if isinstance(value, str):
        return _cel(str(value).rfind(str(item)))
    return _cel(max((i for i, one in enumerate(value) if one == item), default=-1))


def _replace(text: str, old: str, new: str, limit: int = -1) -> object:
    found = text.count(old) if limit < 0 else min(text.count(old), limit)
    refuse_length(len(text) + found * (len(new) - len(old)))
    return _cel(str(text).replace(str(old), str(new), int(limit)))


def _split(text: str, separator: str, limit: int = -1) -> object:
    if limit == 0:
        return _cel([])
    if not separator:
        return _cel([*str(text)])
    return _cel(str(text).split(str(separator), -1 if limit < 0 else limit - 1))


def _find(text: str, pattern: str) -> object:
    found = regexes().search(str(pattern), str(text))
    return _cel(found.group() if found is not None else "")


def _find_all(text: str, pattern: str, limit: int = -1) -> object:
    found = [match.group() for match in regexes().finditer(str(pattern), str(text))]
    return _cel(found if limit < 0 else found[:limit])


def _join(items: Sequence[object], by: str = "") -> object:
    texts = [*map(str, items)]
    refuse_length(sum(map(len, texts)) + len(by) * len(texts))
    return _cel(str(by).join(texts))


def _is_sorted(items: Sequence[int]) -> object:
    return _cel(all(left <= right for left, right in pairwise(items)))


FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "add": lambda one, other: CelQuantity(_nanos(one) + _nanos(other)),
    "asApproximateFloat": lambda one: _cel(approximate(f"{_nanos(one)}n")),
    "asInteger": _whole,
    "charAt": lambda text, position: _substring(text, position, min(position + 1, len(text))),
    "compareTo": _compare,
    "find": _find,
    "findAll": _find_all,
    "indexOf": _index_of,
    "isGreaterThan": lambda one, other: _cel(_less_than(other, one)),
    "isInteger": lambda one: _cel(_nanos(one) % NANOS == 0),
    "isLessThan": lambda one, other: _cel(_less_than(one, other)),
    "isQuantity": _is(_quantity),
    "isSemver": _is(_version),
    "isSorted": _is_sorted,
    "join": _join,
    "lastIndexOf": _last_index_of,
    "lowerAscii": lambda text: _cel(str(text).lower()),
    "major": _part(0),
    "max": max,
    "min": min,
    "minor": _part(1),
    "parseJSON": lambda text: _cel(json.loads(str(text))),
    "patch": _part(2),
    "quantity": _quantity,
    "replace": _replace,
    "reverse": lambda text: _cel(str(text)[::-1]),
    "semver": _version,
    "sign": lambda one: _cel((_nanos(one) > 0) - (_nanos(one) < 0)),
    "split": _split,
    "sub": lambda one, other: CelQuantity(Quantity(_nanos(one) - _nanos(other))),
    "substring": _substring,
    "sum": sum,
    "trim": lambda text: _cel(str(text).strip()),
    "upperAscii": lambda text: _cel(str(text).upper()),
}
"""By the name under which expressions call them.

Source: ocm@00f84c3 vendor/open-cluster-management.io/sdk-go/pkg/cel/library and
vendor/k8s.io/apiserver/pkg/cel/library; cel-go ext/strings.go.
"""
