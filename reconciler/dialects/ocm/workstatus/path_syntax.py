"""The grammar of kubectl's JSONPath: from text to nodes.

Source: kubernetes staging/src/k8s.io/client-go/util/jsonpath/parser.go.
"""

import re
from dataclasses import dataclass

from reconciler.dialects.ocm.workstatus.go_values import GoInt
from reconciler.errors import UserError


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
        found: list[Nodes] = []
        while self.at < len(self.text):
            brace = self.text.find("{", self.at)
            end = len(self.text) if brace < 0 else brace
            if end > self.at:
                found.append((Text(self.text[self.at : end]),))
            self.at = end + 1
            if brace >= 0:
                found.append(self._inside())
        return tuple(found)

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
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        read = "" if found is None else found.group()
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
        found = self.text[self.at : end]
        self.at = end + 1
        return found

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
        found = _COMPARISON.fullmatch(written)
        if found is None:
            return Where(_action(written), "exists", ())
        return Where(_action(found[1]), found[2], _action(found[3]))


def _span(written: str) -> Node:
    found = _SPAN.fullmatch(written)
    if found is None:
        raise UserError(f"invalid array index {written}")
    start, end, step = found.groups()
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

    def read(found: re.Match[str]) -> str:
        hexadecimal, octal, sign = found[1] or found[2] or found[3], found[4], found[5]
        if hexadecimal or octal:
            code = int(hexadecimal, 16) if hexadecimal else int(octal, 8)
            if code > (0xFF if octal else 0x10FFFF):
                raise UserError(wrong)
            return chr(code)
        if sign == quote or sign in _ESCAPED:
            return _ESCAPED.get(sign, sign)
        raise UserError(wrong)

    return _ESCAPE.sub(read, written)
