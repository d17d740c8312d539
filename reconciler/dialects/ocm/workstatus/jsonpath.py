"""JSONPath as kubectl evaluates it, where a missing field is no error.

The grammar turns a text into nodes; the evaluation finds the values that each leads to. Values have
the types, texts and JSON that Go gives them.

Source: kubernetes staging/src/k8s.io/client-go/util/jsonpath/jsonpath.go, with AllowMissingKeys,
and parser.go.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a flag, for each value that comes in."""

    value: float | bool


@dataclass(frozen=True, slots=True)
class Text:
    """A text of its own, whatever comes in."""

    text: str


@dataclass(frozen=True, slots=True)
class FieldStep:
    """A field by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Every:
    """All fields or items."""


@dataclass(frozen=True, slots=True)
class Descent:
    """A value and everything in it that holds something."""


@dataclass(frozen=True, slots=True)
class SliceStep:
    """Items from one to before another; `None` is where the list ends, `single` is one item."""

    start: int | None
    end: int | None
    step: int | None
    single: bool = False


@dataclass(frozen=True, slots=True)
class Union:
    """What each of several leads to."""

    nodes: tuple["Nodes", ...]


@dataclass(frozen=True, slots=True)
class Where:
    """Items of which a comparison is true; the sign is `exists` where nothing is compared."""

    left: "Nodes"
    sign: str
    right: "Nodes"


@dataclass(frozen=True, slots=True)
class Word:
    """A bare word: `range` and `end` mean something."""

    word: str


Node = Literal | Text | FieldStep | Every | Descent | SliceStep | Union | Where | Word
Nodes = tuple[Node, ...]

_SPACES = " \t\r\n"
_TERMINATORS = f"{_SPACES}.,[]$@{{}}"
_WORD = re.compile(rf"[^{re.escape(_TERMINATORS)}]*")
_FIELD = re.compile(rf"(?:\\.|\\$|[^\\{re.escape(_TERMINATORS)}])*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]*")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_KEY = re.compile(r"'([^']*)'")
_SPAN = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))|\\", re.DOTALL
)
_ESCAPED = dict(zip("abfnrtv\\", "\a\b\f\n\r\t\v\\", strict=True))
MOST_DIGITS = 19  # of a number of 64 bits


def parse_path(text: str) -> tuple[Nodes, ...]:
    """Return the actions and the texts between them, of a path in braces.

    Raises:
        UserError: It is none; the message is the library's.
    """
    return _Parser(f"{{{text}}}").parse()


def _action(text: str) -> Nodes:
    return parse_path(text)[0]


@dataclass(slots=True)
class _Parser:
    """Where a text is read; everything is read once, from left to right."""

    text: str
    at: int = 0

    def parse(self) -> tuple[Nodes, ...]:
        nodes: list[Nodes] = []
        while self.at < len(self.text):
            brace = self.text.find("{", self.at)
            end = len(self.text) if brace < 0 else brace
            if end > self.at:
                nodes.append((Text(self.text[self.at : end]),))
            self.at = end + 1
            if brace >= 0:
                nodes.append(self._inside())
        return tuple(nodes)

    def _inside(self) -> Nodes:
        """Read up to the closing brace."""
        nodes: list[Node] = []
        while not self._skip("}"):
            sign = self.text[self.at : self.at + 1]
            if self._skip("[?("):
                nodes.append(self._where())
            elif self._skip(".."):
                nodes += self._descent(nodes)
            elif not sign or sign in "\r\n":
                raise UserError("unclosed action")
            elif sign in " @$":
                self.at += 1
            elif sign in "['\".":
                self.at += 1
                nodes += self._marked(sign)
            elif sign in "+-" or sign.isdecimal():
                nodes.append(self._number())
            elif sign == "_" or sign.isalpha():
                word = self._match(_WORD)
                nodes.append(Literal(word == "true") if word in ("true", "false") else Word(word))
            else:
                shown = f" '{sign}'" if sign.isprintable() else ""
                raise UserError(f"unrecognized character in action: U+{ord(sign):04X}{shown}")
        return tuple(nodes)

    def _marked(self, sign: str) -> Nodes:
        """Read what follows a bracket, a dot or a quote."""
        if sign == "[":
            return self._array()
        return (self._field(),) if sign == "." else (self._quote(sign),)

    def _skip(self, mark: str) -> bool:
        is_there = self.text.startswith(mark, self.at)
        self.at += len(mark) if is_there else 0
        return is_there

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        read = "" if match is None else match.group()
        self.at += len(read)
        return read

    def _descent(self, before: list[Node]) -> Nodes:
        if before and isinstance(before[-1], Descent):
            raise UserError("invalid multiple recursive descent")
        sign = self.text[self.at : self.at + 1]
        named = sign == "_" or sign.isalpha() or sign.isdecimal()
        return (Descent(), self._field()) if named else (Descent(),)

    def _field(self) -> Node:
        name = self._match(_FIELD)
        return Every() if name == "*" else FieldStep(name.replace("\\", ""))

    def _number(self) -> Node:
        written = self._match(_NUMBER)
        if _INTEGER.fullmatch(written) and len(written) <= MOST_DIGITS:
            return Literal(GoInt(written))
        if _DECIMAL.fullmatch(written):
            return Literal(float(written))
        raise UserError(f"cannot parse number {written}")

    def _until(self, mark: str, what: str) -> str:
        """Return what stands before a mark of the same line, and go behind it."""
        end = self.text.find(mark, self.at)
        line = self.text.find("\n", self.at)
        if end < 0 or 0 <= line < end:
            raise UserError(f"unterminated {what}")
        passed = self.text[self.at : end]
        self.at = end + 1
        return passed

    def _quote(self, sign: str) -> Node:
        start = self.at
        while True:
            self._until(sign, "quoted string")
            if self.text[self.at - 2] != "\\":
                return Text(_unquoted(self.text[start : self.at - 1], sign))

    def _array(self) -> Nodes:
        written = self._until("]", "array")
        parts = written.split(",")
        if len(parts) > 1:
            return (Union(tuple(_action(f"[{part.strip(' ')}]") for part in parts)),)
        key = _KEY.fullmatch(written)
        if key is not None:
            return _action(f".{key[1]}")
        return (_span(":" if written == "*" else written),)

    def _where(self) -> Node:
        """Read a filter up to the first bracket that is not in the first pair of quotes."""
        start, pair, ended = self.at, "", False
        while True:
            sign = self.text[self.at : self.at + 1]
            self.at += 1
            if not sign or sign == "\n":
                raise UserError("unterminated filter")
            if sign in "'\"" and not pair:
                pair = sign
            elif sign == pair and self.text[self.at - 2] != "\\":
                ended = True
            elif sign == ")" and bool(pair) == ended:
                break
        written = self.text[start : self.at - 1]
        if not self._skip("]"):
            raise UserError("unclosed array expect ]")
        match = _COMPARISON.fullmatch(written)
        if match is None:
            return Where(_action(written), "exists", ())
        return Where(_action(match[1]), match[2], _action(match[3]))


def _span(written: str) -> Node:
    match = _SPAN.fullmatch(written)
    if match is None:
        raise UserError(f"invalid array index {written}")
    start, end, step = match.groups()
    first = _bound(start)
    if not end:
        return SliceStep(first or 0, (first or 0) + 1, None, single=True)
    return SliceStep(first, _bound(end[1:]), _bound((step or "")[1:]))


def _bound(written: str) -> int | None:
    if not written:
        return None
    if written == "-" or len(written) > MOST_DIGITS:
        raise UserError(f"array index {written} is not a number")
    return int(written)


def _unquoted(written: str, quote: str) -> str:
    """Return a quoted text as Go reads it."""
    wrong = f"unquote string {quote}{written}{quote} error invalid syntax"

    def read(match: re.Match[str]) -> str:
        hexadecimal, octal, sign = match[1] or match[2] or match[3], match[4], match[5]
        if hexadecimal or octal:
            code = int(hexadecimal, 16) if hexadecimal else int(octal, 8)
            if code > (0xFF if octal else 0x10FFFF):
                raise UserError(wrong)
            return chr(code)
        if sign == quote or sign in _ESCAPED:
            return _ESCAPED.get(sign, sign)
        raise UserError(wrong)

    return _ESCAPE.sub(read, written)


MOST_VALUES = 5_000_000  # five for each value of an object of 1.5 MB, the most that etcd stores
DEEPEST_RANGE = 100  # ranges inside of ranges
TOO_MANY = f"the paths of its rules lead to more than {MOST_VALUES} values, make them shorter"
TOO_DEEP = f"the path has more than {DEEPEST_RANGE} ranges inside of each other"

Values = Sequence[object]


@dataclass(slots=True)
class PathMeter:
    """Counts the values that paths lead to; `left` is how many they may still be."""

    left: int = MOST_VALUES

    def charge(self, values: int) -> None:
        """Count values.

        Raises:
            UserError: They are too many.
        """
        self.left -= values + 1
        if self.left < 0:
            raise UserError(TOO_MANY)


def find(body: object, path: Sequence[Nodes], meter: PathMeter) -> list[Values]:
    """Return what each action of a path leads to, in order.

    Raises:
        UserError: It leads nowhere by an error, or to too much; the messages but of the latter are
            the library's.
    """
    return _Run(meter, path).find(body)


@dataclass(slots=True)
class _Run:
    """One evaluation: the actions that are left, and the ranges that are open."""

    meter: PathMeter
    actions: Sequence[Nodes]
    current: Values = ()
    stack: list[Values] = field(default_factory=list)
    begun: int = 0
    inside: int = 0
    ended: int = 0
    depth: int = 0

    def find(self, body: object) -> list[Values]:
        self.current = [body]
        actions, results = self.actions, list[Values]()
        for position, action in enumerate(actions):
            values = self._walk(self.current, action)
            if 0 < self.ended <= self.inside:
                self.ended -= 1
                break
            if self.begun:
                self.begun -= 1
                self.inside += 1
                results += self._range(values, actions[position + 1 :])
                break
            results.append(values)
        return results

    def _range(self, values: Values, actions: Sequence[Nodes]) -> list[Values]:
        """Return what the actions that follow find in each value."""
        self.depth += 1
        if self.depth > DEEPEST_RANGE:
            raise UserError(TOO_DEEP)
        results: list[Values] = []
        for position, value in enumerate(values):
            self.actions = actions
            self.inside -= position == len(values) - 1
            results += self.find(value)
        self.depth -= 1
        return results

    def _walk(self, values: Values, nodes: Nodes) -> Values:
        for node in nodes:
            self.meter.charge(len(values))
            match node:
                case Literal(value):
                    values = [value] * len(values)
                case Text(text):
                    values = [text]
                case FieldStep(name):
                    values = [
                        one[name] for one in values if isinstance(one, Mapping) and name in one
                    ]
                case Every() | Descent():
                    values = self._opened(values, deep=isinstance(node, Descent))
                case SliceStep():
                    values = _spanned(values, node)
                case Union(several):
                    values = [one for nodes in several for one in self._walk(values, nodes)]
                case Where():
                    values = self._filtered(values, node)
                case Word(word):
                    values = self._word(word, values)
            self.meter.charge(len(values))
        return values

    def _word(self, word: str, values: Values) -> Values:
        if word == "range":
            self.stack.append(self.current)
            self.begun += 1
            return values
        if word != "end":
            raise UserError(f"unrecognized identifier {word}")
        if self.ended < self.inside:
            self.ended += 1
        elif self.stack:
            self.current = self.stack.pop()
        else:
            raise UserError("not in range, nothing to end")
        return []

    def _opened(self, values: Values, *, deep: bool) -> Values:
        """Return what values hold; if deep, all that hold something, each before what it holds."""
        if not deep:
            return [inner for one in values for inner in _children(one)]
        found: list[object] = []
        waiting = [*reversed(values)]
        while waiting:
            value = waiting.pop()
            inner = _children(value)
            self.meter.charge(len(inner))
            if inner:
                found.append(value)
                waiting += reversed(inner)
        return found

    def _filtered(self, values: Values, node: Where) -> Values:
        found: list[object] = []
        for value in values:
            if not isinstance(value, list):
                raise UserError(f"{go_text(value)} is not array or slice and cannot be filtered")
            found += [item for item in value if self._passes(item, node)]
        return found

    def _passes(self, value: object, node: Where) -> bool:
        if node.sign == "exists":
            return self._exists(value, node.left)
        left = self._only(value, node.left)
        right = self._only(value, node.right) if left else left
        return bool(right) and _compare(left[0], node.sign, right[0])

    def _exists(self, value: object, nodes: Nodes) -> bool:
        """Return whether nodes lead anywhere; upstream takes what led to an error for an answer."""
        values: Values = [value]
        for node in nodes:
            try:
                values = self._walk(values, (node,))
            except UserError:
                if self.meter.left < 0:
                    raise
                break
        return bool(values)

    def _only(self, value: object, nodes: Nodes) -> Values:
        """Return the one value, in a list; there may be none."""
        results = self._walk([value], nodes)
        if len(results) > 1:
            raise UserError("can only compare one element at a time")
        return results


def _children(value: object) -> Values:
    """Return what a value holds; maps by key, while Go's order varies; texts their bytes."""
    if isinstance(value, Mapping):
        return [value[name] for name in sorted(value)]
    if isinstance(value, str):
        return [*map(GoByte, value.encode())]
    return value if isinstance(value, list) else ()


def _spanned(values: Values, node: SliceStep) -> Values:
    found: list[object] = []
    for value in values:
        if value is None:
            continue
        if not isinstance(value, list):
            raise UserError(f"{go_type(value)} is not array or slice")
        size = len(value)
        start = node.start or 0
        start += size if start < 0 else 0
        end = size if node.end is None else node.end
        end += size if end < 0 or (end == 0 and node.single) else 0
        if start == end:
            return found  # upstream looks at no further list, either
        if not 0 <= start < size:
            raise UserError(f"array index out of bounds: index {start}, length {size}")
        if not 0 <= end <= size:
            raise UserError(f"array index out of bounds: index {end - 1}, length {size}")
        if start > end:
            raise UserError(f"starting index {start} is greater than ending index {end}")
        if node.step is not None and node.step <= 0:
            raise UserError("step must be > 0")
        found += value[start : end : node.step]
    return found


_SIGNS: Mapping[str, Callable[[bool, bool], bool]] = {
    "==": lambda _less, equal: equal,
    "!=": lambda _less, equal: not equal,
    "<": lambda less, _equal: less,
    "<=": lambda less, equal: less or equal,
    ">": lambda less, equal: not (less or equal),
    ">=": lambda less, _equal: not less,
}


def _compare(left: object, sign: str, right: object) -> bool:
    """Compare two values of one kind.

    Source: kubernetes staging/src/k8s.io/client-go/third_party/forked/golang/template/funcs.go
    """
    if sign not in _SIGNS:
        raise UserError(f"unrecognized filter operator {sign}")
    match left, right:
        case (bool(), bool()):
            if sign not in ("==", "!="):
                raise UserError("invalid type for comparison")
            return _SIGNS[sign](False, left == right)
        case (str(), str()) if type(left) is type(right):
            return _SIGNS[sign](left.encode() < right.encode(), left == right)
        case (int() | float(), int() | float()) if _kind(left) is _kind(right):
            return _SIGNS[sign](left < right, left == right)
    plain = (bool, int, float, str)
    if isinstance(left, plain) and isinstance(right, plain):
        raise UserError("incompatible types for comparison")
    raise UserError("invalid type for comparison")


def _kind(value: object) -> type:
    return int if isinstance(value, GoInt) else type(value)


INT64 = 2**63
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-6, 1e21  # of floats without an exponent in JSON
TEXT_LARGEST_EXPONENT = 21  # of floats without an exponent in texts


class GoByte(int):
    """A byte of a text, which is a number of a type of its own."""


class GoInt(int):
    """A number of a program, which is of another type than those of JSON."""


_TYPES: Mapping[type, str] = {
    bool: "bool",
    int: "int64",
    GoByte: "uint8",
    GoInt: "int",
    float: "float64",
    str: "string",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def stored(value: object) -> object:
    """Return a value as an API server's JSON holds it: whole numbers of 64 bits, else floats."""
    if isinstance(value, int) and not -INT64 <= value < INT64:
        return float(value)
    return value


def go_type(value: object) -> str:
    """Return the type's name, `<nil>` of null."""
    return _TYPES.get(type(stored(value)), "<nil>")


def go_text(value: object) -> str:
    """Return a value as `%v` prints it.

    >>> go_text({"b": [1, None], "a": True})
    'map[a:true b:[1 <nil>]]'
    """
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case float():
            return _float_text(value)
        case Mapping():
            inner = (f"{name}:{go_text(value[name])}" for name in sorted(value))
            return f"map[{' '.join(inner)}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
    return str(value)


def go_json(value: object) -> str:
    r"""Return compact JSON as Go writes it: keys in order, HTML's signs escaped.

    >>> go_json({"b": 2.0, "a": ["<", 1e-7, 1e16]})
    '{"a":["\\u003c",1e-7,10000000000000000],"b":2}'

    Source: Go encoding/json encode.go `floatEncoder`, `appendString`.
    """
    match stored(value):
        case float() as number:
            return _float_json(number)
        case Mapping() as body:
            return f"{{{','.join(_member(body, name) for name in sorted(body))}}}"
        case list() as items:
            return f"[{','.join(map(go_json, items))}]"
        case str() as text:
            shown = json.dumps(text, ensure_ascii=False)
            for sign in "<>&\u2028\u2029":
                shown = shown.replace(sign, f"\\u{ord(sign):04x}")
            return shown
        case plain:
            return json.dumps(plain)


def _member(body: Body, name: str) -> str:
    return f"{go_json(name)}:{go_json(body[name])}"


def _float_json(number: float) -> str:
    if number and not SMALLEST_PLAIN <= abs(number) < LARGEST_PLAIN:
        return _scientific(number).replace("e-0", "e-")
    return _plain(number)


def _float_text(number: float) -> str:
    exponent = Decimal(repr(number)).adjusted() if number else 0
    if not -4 <= exponent < TEXT_LARGEST_EXPONENT:
        return _scientific(number)
    return _plain(number)


def _plain(number: float) -> str:
    """Return the shortest digits without an exponent."""
    shown = format(Decimal(repr(number)), "f")
    return shown.removesuffix(".0") if "." in shown else shown


def _scientific(number: float) -> str:
    """Return the shortest digits with an exponent of at least two."""
    sign, digits, _ = Decimal(repr(number)).normalize().as_tuple()
    exponent = Decimal(repr(number)).adjusted()
    rest = "".join(map(str, digits[1:]))
    mantissa = f"{digits[0]}.{rest}" if rest else str(digits[0])
    mark = "-" if exponent < 0 else "+"
    return f"{'-' if sign else ''}{mantissa}e{mark}{abs(exponent):02d}"
