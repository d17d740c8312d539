"""The functions of CEL: what each takes and returns, and what it does.

RE2 is imported late: only expressions with patterns need it. What cannot be imported is a broken
installation, never an answer: the error goes up before any cluster is asked, and the placement
keeps its decisions.

Source: cel-go common/stdlib/standard.go, ext/strings.go (with `quote`), ext/formatting.go,
cel/library.go `OptionalTypes`; ocm@00f84c3 vendor/k8s.io/apiserver/pkg/cel/library (lists, regex,
urls, quantity, ip, cidr, format, semverlib) and
vendor/open-cluster-management.io/sdk-go/pkg/cel/library.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any, TypeAlias

from reconciler.dialects.ocm.cel import kubernetes_values as k8s
from reconciler.dialects.ocm.cel import values
from reconciler.dialects.ocm.cel.types import Type, accepts, type_of
from reconciler.dialects.ocm.cel.values import (
    INT,
    NAMES,
    NO_OVERLOAD,
    NONE,
    NUMBERS,
    UINT,
    BoolKey,
    CelError,
    CelOptional,
    CelType,
    Duration,
    Timestamp,
    Uint,
    equal,
    key_of,
    of_key,
    refuse_length,
    to_cel,
)
from reconciler.model.records import dataclass
from reconciler.model.text import float_text, plain_text

_CLAUSE = re.compile(r"%(?:(%)|(?:\.(\d*))?(.))", re.DOTALL)
MOST_PRECISION_DIGITS = 3  # of how many places a number has
DEFAULT_PLACES = 6
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quoted(text: str) -> str:
    r"""Return a text in double quotes.

    >>> print(quoted('a"b'))
    "a\"b"
    """
    return f'"{"".join(_QUOTED.get(one, one) for one in text)}"'


def formatted(text: str, arguments: list[object]) -> str:
    """Return a text with its clauses filled.

    Raises:
        CelError: A clause is none, or its argument is missing or of the wrong type.
    """
    given = iter(arguments)
    pieces = list(_pieces(text, given))
    refuse_length(sum(map(len, pieces)))
    return "".join(pieces)


def _pieces(text: str, given: Iterator[object]) -> Iterator[str]:
    end = 0
    for clause in _CLAUSE.finditer(text):
        yield text[end : clause.start()]
        end = clause.end()
        if clause[1]:
            yield "%"
            continue
        try:
            value = next(given)
        except StopIteration:
            raise CelError("index out of range") from None
        yield _clause(clause[3], value, clause[2])
    if "%" in text[end:]:
        raise CelError("unexpected end of string")
    yield text[end:]


def _clause(kind: str, value: Any, places: str | None) -> str:  # noqa: C901  # a row a clause
    number = type(value) in NUMBERS
    whole = number and not isinstance(value, float)
    if places and len(places) > MOST_PRECISION_DIGITS:
        raise CelError("precision is too large")
    digits = int(places) if places else DEFAULT_PLACES
    match kind:
        case "s":
            return shown(value)
        case "d" if whole:
            return str(value)
        case "d" if number and not math.isfinite(value):
            return _odd(value)
        case "f" | "e" if number:
            if not math.isfinite(value):
                return _odd(value)
            return f"{float(value):.{digits}{kind}}"
        case "b" if isinstance(value, bool):
            return str(int(value))
        case "b" | "o" if whole:
            return format(int(value), kind)
        case "x" | "X" if whole:
            return format(int(value), kind)
        case "x" | "X" if isinstance(value, str | bytes):
            found = (value.encode() if isinstance(value, str) else value).hex()
            return found.upper() if kind == "X" else found
    raise CelError("error during formatting: the argument is of another type than its clause")


def _odd(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def shown(value: Any) -> str:  # noqa: C901  # a row a type
    """Return what `%s` makes of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case bytes():
            return value.decode(errors="replace")
        case float():
            return plain_text(value) if math.isfinite(value) else _odd(value)
        case int():
            return str(int(value))
        case CelType():
            return value.name
        case Timestamp():
            return values.timestamp_text(value)
        case Duration():
            return values.duration_text(value)
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case dict():
            entries = sorted((shown(of_key(key)), shown(one)) for key, one in value.items())
            return f"{{{', '.join(f'{key}: {one}' for key, one in entries)}}}"
    raise CelError("error during formatting: string clause can only be used on known types")


def regexes() -> ModuleType:
    """Return RE2: its patterns take linear time, as those of Go.

    Raises:
        ImportError: It is not installed.
    """
    return import_module("re2")


MOST_DIGITS = 40  # more than any number of 64 bits has

Does: TypeAlias = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function; a member's first parameter is its target."""

    parameters: tuple[Type, ...]
    result: Type
    does: Does
    member: bool = False

    def takes(self, values: Sequence[object]) -> bool:
        """Return whether it can be called with some values."""
        return len(values) == len(self.parameters) and all(map(accepts, self.parameters, values))


Functions: TypeAlias = Mapping[str, tuple[Overload, ...]]


def overload(signature: str, does: Does, *, member: bool = False) -> Overload:
    """Return the overload that a signature such as `(string, int) -> bool` spells."""
    taken, _, result = signature.partition(" -> ")
    return Overload(
        type_of(f"t{taken}").inner if taken != "()" else (), type_of(result), does, member
    )


def called(overloads: Iterable[Overload], values: Sequence[object], *, member: bool) -> object:
    """Return what a function makes of values.

    Raises:
        CelError: It takes no such values, or fails.
    """
    for overload in overloads:
        if overload.member == member and overload.takes(values):
            return overload.does(*values)
    raise CelError(NO_OVERLOAD)


def _whole(number: int, *, unsigned: bool = False) -> int:
    """Return a whole number that fits its 64 bits."""
    if number not in (UINT if unsigned else INT):
        raise CelError("return error for overflow")
    return Uint(number) if unsigned else number


def _digits(text: str, why: str, *, signed: bool) -> int:
    """Return the whole number of a text, as Go reads it."""
    plain = text.removeprefix("-").removeprefix("+") if signed else text
    if not plain.isascii() or not plain.isdecimal() or len(text) - len(plain) > 1:
        raise CelError(f"{why}: invalid syntax")
    return int(text[:MOST_DIGITS])


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        return _whole(_digits(value, "strconv.ParseInt", signed=True))
    if isinstance(value, Timestamp):
        return value.nanos // 10**9
    if isinstance(value, float) and not -(2.0**63) < value < 2.0**63:
        raise CelError("integer overflow")
    return _whole(int(value))


def _to_uint(value: Any) -> int:
    if isinstance(value, str):
        return _whole(_digits(value, "strconv.ParseUint", signed=False), unsigned=True)
    if isinstance(value, float) and not 0 <= value < 2.0**64:
        raise CelError("unsigned integer overflow")
    return _whole(int(value), unsigned=True)


def _to_double(value: Any) -> float:
    odd = isinstance(value, str) and (value.strip() != value or "_" in value)
    try:
        return float("" if odd else value)
    except ValueError:
        raise CelError("strconv.ParseFloat: invalid syntax") from None


def _to_bool(text: str) -> bool:
    values = {"1": True, "t": True, "T": True, "true": True, "TRUE": True, "True": True}
    values |= {"0": False, "f": False, "F": False, "false": False, "FALSE": False, "False": False}
    if text not in values:
        raise CelError("strconv.ParseBool: invalid syntax")
    return values[text]


def _to_text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
        case Timestamp():
            return values.timestamp_text(value)
        case Duration():
            return values.duration_text(value)
    return str(value)


def _kind(value: object) -> CelType:
    return CelType(NAMES[type(value)])


def _matches(text: str, pattern: str) -> bool:
    return _pattern(pattern).search(text) is not None


def _pattern(pattern: str) -> Any:
    re2 = regexes()
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        raise CelError("error parsing regexp") from None


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text) or not 0 <= stop <= len(text):
        raise CelError("index out of range")
    if start > stop:
        raise CelError("invalid substring range")
    return text[start:stop]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if part == "":
        return start if 0 <= start <= len(text) else 0
    if not 0 <= start < max(len(text), 1):
        raise CelError("index out of range")
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if part == "":
        return len(text) if start is None else start
    last = len(text) - 1 if start is None else start
    if start is not None and not 0 <= start < len(text):
        raise CelError("index out of range")
    return text.rfind(part, 0, last + len(part))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(text.count(old), limit)
    refuse_length(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, limit)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        cut = len(text) if limit < 0 else min(limit, len(text)) - 1
        return [*text[:cut], *([text[cut:]] if text[cut:] else [])]
    return text.split(separator, -1 if limit < 0 else limit - 1)


def _ascii(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(one) if one.isascii() else one for one in text)


def _texts(items: Iterable[object]) -> list[str]:
    texts = []
    for value in items:
        if not isinstance(value, str):
            raise CelError(NO_OVERLOAD)
        texts.append(value)
    return texts


def _join(items: list[object], by: str = "") -> str:
    texts = _texts(items)
    refuse_length(sum(map(len, texts)) + len(by) * len(texts))
    return by.join(texts)


def _find(text: str, pattern: str) -> str:
    match = _pattern(pattern).search(text)
    return "" if match is None else match.group()


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches = [match.group() for match in _pattern(pattern).finditer(text)]
    return matches if limit < 0 else matches[:limit]


def compare(first: object, other: object) -> int:
    """Return how two values compare: negative, zero or positive.

    Raises:
        CelError: They cannot be compared.
    """
    kinds = type(first), type(other)
    numbers = kinds[0] in NUMBERS and kinds[1] in NUMBERS
    if not numbers and (kinds[0] is not kinds[1] or kinds[0] not in _ORDERED):
        raise CelError(NO_OVERLOAD)
    left: Any = first
    right: Any = other
    if numbers and (left != left or right != right):  # noqa: PLR0124  # no number
        raise CelError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


_ORDERED = (bool, str, bytes, Duration, Timestamp)


def _is_sorted(items: list[object]) -> bool:
    return all(compare(left, right) <= 0 for left, right in pairwise(items))


def _extreme(items: list[object], sign: int) -> object:
    if not items:
        raise CelError("min or max called on empty list")
    extreme = items[0]
    for value in items[1:]:
        if compare(value, extreme) * sign > 0:
            extreme = value
    return extreme


def _sum(items: list[object]) -> object:
    if not items:
        return 0
    total = items[0]
    for value in items[1:]:
        total = add(total, value)
    if isinstance(total, str | bytes | list):
        raise CelError(NO_OVERLOAD)
    return total


def add(first: Any, other: Any) -> object:
    """Return a sum, or texts, bytes or lists one behind the other."""
    kinds = (type(first), type(other))
    if kinds in ((Timestamp, Duration), (Duration, Timestamp)):
        return values.in_range(Timestamp(first.nanos + other.nanos))
    if kinds[0] is not kinds[1]:
        raise CelError(NO_OVERLOAD)
    match first:
        case str() | bytes() | list():
            refuse_length(len(first) + len(other))
            return first + other
        case Duration():
            return values.in_range(Duration(first.nanos + other.nanos))
    return calculate(first, other, lambda a, b: a + b)


def subtract(first: Any, other: Any) -> object:
    """Return a difference."""
    kinds = (type(first), type(other))
    if kinds in ((Timestamp, Timestamp), (Duration, Duration)):
        return values.in_range(Duration(first.nanos - other.nanos))
    if kinds == (Timestamp, Duration):
        return values.in_range(Timestamp(first.nanos - other.nanos))
    return calculate(first, other, lambda a, b: a - b)


def calculate(first: Any, other: Any, does: Callable[[Any, Any], Any]) -> object:
    """Return what an operation makes of two numbers of one type."""
    kind = type(first)
    if kind is not type(other) or kind not in NUMBERS:
        raise CelError(NO_OVERLOAD)
    if kind is float:
        return float(does(first, other))
    return _whole(does(int(first), int(other)), unsigned=kind is Uint)


def divide(first: Any, other: Any) -> object:
    """Return a quotient; whole numbers are cut towards zero."""
    if type(first) is float and type(other) is float:
        if other == 0:
            return float("nan") if first == 0 or first != first else _infinite(first, other)  # noqa: PLR0124
        return first / other
    if other == 0 and type(other) in NUMBERS:
        raise CelError("division by zero")
    return calculate(first, other, _cut)


def _infinite(number: float, zero: float) -> float:
    negative = (number < 0) != (str(zero)[0] == "-")
    return float("-inf") if negative else float("inf")


def _cut(first: int, other: int) -> int:
    quotient = abs(first) // abs(other)
    return quotient if (first < 0) == (other < 0) else -quotient


def modulo(first: Any, other: Any) -> object:
    """Return the rest of a division, with the sign of what is divided."""
    if type(first) is float:
        raise CelError(NO_OVERLOAD)
    if other == 0 and type(other) in NUMBERS:
        raise CelError("modulus by zero")
    return calculate(first, other, lambda a, b: a - b * _cut(a, b))


def negate(number: Any) -> object:
    """Return a number with the other sign."""
    if type(number) is float:
        return -number
    if type(number) is not int:
        raise CelError(NO_OVERLOAD)
    return _whole(-number)


def inside(value: object, container: object) -> bool:
    """Return whether a list has an item, or a map a key."""
    if isinstance(container, list):
        return any(equal(value, one) for one in container)
    if isinstance(container, dict):
        return key_of(value) in container
    raise CelError(NO_OVERLOAD)


def item_of(container: object, key: object) -> object:
    """Return what a list or a map holds at a place.

    Raises:
        CelError: It holds nothing there.
    """
    if isinstance(container, CelOptional):
        return optional_item(container, key)
    if isinstance(container, dict):
        own_key = key_of(key)
        if own_key not in container:
            shown = "" if isinstance(own_key, BoolKey) else str(own_key)
            raise CelError(f"no such key: {shown}")
        return container[own_key]
    if isinstance(container, list):
        index = _index(key)
        if not 0 <= index < len(container):
            raise CelError(f"index out of bounds: {index}")
        return container[index]
    raise CelError(NO_OVERLOAD)


def _index(key: Any) -> int:
    if type(key) is int or type(key) is Uint:
        return int(key)
    if isinstance(key, float) and key.is_integer():
        return int(key)
    raise CelError(NO_OVERLOAD)


def optional_item(container: object, key: object) -> CelOptional:
    """Return what a map or a list holds under a key, none where it holds nothing or is neither.

    Source: cel-go interpreter/attributes.go `applyQualifiers`, `refQualify`: once a selection is
    optional, those that follow are.
    """
    if isinstance(container, CelOptional):
        return optional_item(container.value, key) if container.present else NONE
    if isinstance(container, dict):
        own_key = key_of(key)
        return CelOptional(container[own_key]) if own_key in container else NONE
    if isinstance(container, list):
        index = _index(key)
        return CelOptional(container[index]) if 0 <= index < len(container) else NONE
    return NONE


def _of_non_zero(value: object) -> CelOptional:
    zero = value in ("", b"", None) or (type(value) in NUMBERS and value == 0) or value is False
    empty = isinstance(value, list | dict | str | bytes) and not value
    times_zero = isinstance(value, Duration) and value.nanos == 0
    return NONE if zero or empty or times_zero else CelOptional(value)


def _value_of(optional: CelOptional) -> object:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _unwrap(items: list[object]) -> list[object]:
    if not all(isinstance(one, CelOptional) for one in items):
        raise CelError(NO_OVERLOAD)
    return [one.value for one in items if isinstance(one, CelOptional) and one.present]


def _refused(name: str) -> object:
    raise ValueError(name)


def _parsed_json(text: str) -> object:
    try:
        return to_cel(json.loads(text, parse_constant=_refused))
    except (ValueError, RecursionError):
        raise CelError("the text is no JSON") from None


def _table() -> dict[str, tuple[Overload, ...]]:
    """Return every function by its name."""
    table: dict[str, list[Overload]] = {}

    def function(name: str, does: Does, *signatures: str) -> None:
        table.setdefault(name, []).extend(overload(one, does) for one in signatures)

    def member(name: str, does: Does, *signatures: str) -> None:
        table.setdefault(name, []).extend(overload(one, does, member=True) for one in signatures)

    _operators(function)
    _conversions(function)
    sized = [f"({one}) -> int" for one in ("string", "bytes", "list(A)", "map(A, B)")]
    function("size", len, *sized)
    member("size", len, *sized)
    for name, does in (
        ("contains", lambda text, part: part in text),
        ("startsWith", str.startswith),
        ("endsWith", str.endswith),
    ):
        member(name, does, "(string, string) -> bool")
    function("matches", _matches, "(string, string) -> bool")
    member("matches", _matches, "(string, string) -> bool")
    for name, part in values.PARTS.items():
        member(name, part, "(timestamp) -> int", "(timestamp, string) -> int")
    for name, part in values.PARTS_OF_DURATION.items():
        member(name, part, "(duration) -> int")
    _strings(function, member)
    _optionals(function, member)
    _lists(member)
    for entry in k8s.FUNCTIONS:
        table.setdefault(entry.name, []).append(
            overload(entry.signature, entry.does, member=entry.member)
        )
    member("parseJSON", _parsed_json, "(string) -> dyn")
    return {name: tuple(overloads) for name, overloads in table.items()}


Declare = Callable[..., None]
PLAIN = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")


def _operators(function: Declare) -> None:
    for name, does in (
        ("_<_", lambda a, b: compare(a, b) < 0),
        ("_<=_", lambda a, b: compare(a, b) <= 0),
        ("_>_", lambda a, b: compare(a, b) > 0),
        ("_>=_", lambda a, b: compare(a, b) >= 0),
    ):
        function(name, does, *(f"({one}, {one}) -> bool" for one in PLAIN))
    function("_==_", equal, "(A, A) -> bool")
    function("_!=_", lambda a, b: not equal(a, b), "(A, A) -> bool")
    numbers = [f"({one}, {one}) -> {one}" for one in ("int", "uint", "double")]
    texts = [f"({one}, {one}) -> {one}" for one in ("string", "bytes", "list(A)", "duration")]
    function("_+_", add, *numbers, *texts, "(timestamp, duration) -> timestamp")
    function("_+_", add, "(duration, timestamp) -> timestamp")
    function("_-_", subtract, *numbers, "(duration, duration) -> duration")
    function("_-_", subtract, "(timestamp, timestamp) -> duration")
    function("_-_", subtract, "(timestamp, duration) -> timestamp")
    function("_*_", lambda a, b: calculate(a, b, lambda x, y: x * y), *numbers)
    function("_/_", divide, *numbers)
    function("_%_", modulo, *numbers[:2])
    function("-_", negate, "(int) -> int", "(double) -> double")
    function("!_", lambda one: not one, "(bool) -> bool")
    function("_&&_", lambda a, b: a and b, "(bool, bool) -> bool")
    function("_||_", lambda a, b: a or b, "(bool, bool) -> bool")
    function("_?_:_", lambda a, b, c: b if a else c, "(bool, A, A) -> A")
    function("@in", inside, "(A, list(A)) -> bool", "(A, map(A, B)) -> bool")
    function("_[_]", item_of, "(list(A), int) -> A", "(map(A, B), A) -> B")
    function("_[_]", item_of, "(optional_type(list(A)), int) -> optional_type(A)")
    function("_[_]", item_of, "(optional_type(map(A, B)), A) -> optional_type(B)")
    for container in ("list(A)", "optional_type(list(A))"):
        function("_[?_]", optional_item, f"({container}, int) -> optional_type(A)")
    for container in ("map(A, B)", "optional_type(map(A, B))"):
        function("_[?_]", optional_item, f"({container}, A) -> optional_type(B)")


def _conversions(function: Declare) -> None:
    function("bool", lambda one: one, "(bool) -> bool")
    function("bool", _to_bool, "(string) -> bool")
    function("bytes", lambda one: one, "(bytes) -> bytes")
    function("bytes", str.encode, "(string) -> bytes")
    for name, does, kinds in (
        ("int", _to_int, ("int", "uint", "double", "string", "timestamp")),
        ("uint", _to_uint, ("uint", "int", "double", "string")),
        ("double", _to_double, ("double", "int", "uint", "string")),
        ("string", _to_text, PLAIN),
    ):
        function(name, does, *(f"({one}) -> {name}" for one in kinds))
    function("duration", lambda one: one, "(duration) -> duration")
    function("duration", values.parse_duration, "(string) -> duration")
    function("duration", lambda one: values.in_range(Duration(one)), "(int) -> duration")
    function("timestamp", lambda one: one, "(timestamp) -> timestamp")
    function("timestamp", values.parse_timestamp, "(string) -> timestamp")
    seconds = lambda one: values.in_range(Timestamp(one * 10**9))  # noqa: E731
    function("timestamp", seconds, "(int) -> timestamp")
    function("dyn", lambda one: one, "(A) -> dyn")
    function("type", _kind, "(A) -> type(A)")


def _strings(function: Declare, member: Declare) -> None:
    member(
        "charAt",
        lambda text, at: _substring(text, at, min(at + 1, len(text))),
        "(string, int) -> string",
    )
    member("format", formatted, "(string, list(dyn)) -> string")
    member("indexOf", _index_of, "(string, string) -> int", "(string, string, int) -> int")
    member("join", _join, "(list(string)) -> string", "(list(string), string) -> string")
    member("lastIndexOf", _last_index_of, "(string, string) -> int", "(string, string, int) -> int")
    member("lowerAscii", lambda text: _ascii(text, str.lower), "(string) -> string")
    three = "(string, string, string) -> string"
    member("replace", _replace, three, three.replace(") ->", ", int) ->"))
    member("reverse", lambda text: text[::-1], "(string) -> string")
    member("split", _split, "(string, string) -> list(string)")
    member("split", _split, "(string, string, int) -> list(string)")
    member("substring", _substring, "(string, int) -> string", "(string, int, int) -> string")
    member("trim", lambda text: text.strip(), "(string) -> string")
    member("upperAscii", lambda text: _ascii(text, str.upper), "(string) -> string")
    function("strings.quote", quoted, "(string) -> string")
    member("find", _find, "(string, string) -> string")
    member("findAll", _find_all, "(string, string) -> list(string)")
    member("findAll", _find_all, "(string, string, int) -> list(string)")


def _optionals(function: Declare, member: Declare) -> None:
    function("optional.of", CelOptional, "(A) -> optional_type(A)")
    function("optional.ofNonZeroValue", _of_non_zero, "(A) -> optional_type(A)")
    function("optional.none", lambda: NONE, "() -> optional_type(A)")
    function("optional.unwrap", _unwrap, "(list(optional_type(A))) -> list(A)")
    member("unwrapOpt", _unwrap, "(list(optional_type(A))) -> list(A)")
    member("hasValue", lambda one: one.present, "(optional_type(A)) -> bool")
    member("value", _value_of, "(optional_type(A)) -> A")
    either = lambda one, other: one if one.present else other  # noqa: E731
    member("or", either, "(optional_type(A), optional_type(A)) -> optional_type(A)")
    value = lambda one, other: one.value if one.present else other  # noqa: E731
    member("orValue", value, "(optional_type(A), A) -> A")
    first = lambda items: CelOptional(items[0]) if items else NONE  # noqa: E731
    member("first", first, "(list(A)) -> optional_type(A)")
    last = lambda items: CelOptional(items[-1]) if items else NONE  # noqa: E731
    member("last", last, "(list(A)) -> optional_type(A)")


def _lists(member: Declare) -> None:
    summable = ("int", "uint", "double", "duration")
    member("sum", _sum, *(f"(list({one})) -> {one}" for one in summable))
    member("isSorted", _is_sorted, *(f"(list({one})) -> bool" for one in PLAIN))
    member("min", lambda items: _extreme(items, -1), *(f"(list({one})) -> {one}" for one in PLAIN))
    member("max", lambda items: _extreme(items, 1), *(f"(list({one})) -> {one}" for one in PLAIN))
    first = lambda items, item: next((i for i, o in enumerate(items) if equal(o, item)), -1)  # noqa: E731
    member("indexOf", first, "(list(A), A) -> int")
    last = lambda items, item: max((i for i, o in enumerate(items) if equal(o, item)), default=-1)  # noqa: E731
    member("lastIndexOf", last, "(list(A), A) -> int")


STANDARD: Functions = _table()
"""By the name under which expressions call them; operators have cel-go's names."""
