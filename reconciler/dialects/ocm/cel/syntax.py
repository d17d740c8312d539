"""The syntax of CEL: a text to a tree, with places as cel-go has them.

Source: cel-go parser/gen/CEL.g4 and parser/parser.go; a node is where its operator stands, a call
at its opening parenthesis.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from reconciler.dialects.ocm.cel.values import DEEPEST, TOO_DEEP, Uint
from reconciler.errors import Misconfigured
from reconciler.model.records import dataclass

MOST_ERRORS = 100
OPERANDS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)
"""What may begin a value, as cel-go's parser lists it."""
RESERVED = (
    "as break const continue else for function if import let loop package namespace return var "
    "void while"
)
LITERAL = frozenset({"in", "true", "false", "null"})
NOT_NAMES = LITERAL | frozenset(RESERVED.split())
BINARY = (
    {"||": "_||_"},
    {"&&": "_&&_"},
    {
        "==": "_==_",
        "!=": "_!=_",
        "<": "_<_",
        "<=": "_<=_",
        ">": "_>_",
        ">=": "_>=_",
        "in": "@in",
    },
    {"+": "_+_", "-": "_-_"},
    {"*": "_*_", "/": "_/_", "%": "_%_"},
)
"""Operators from the loosest to the tightest, each with the name of its function."""
_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t\r\n\f]+|//[^\n]*)
    | (?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    | (?P<int>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
    | (?P<text>[bBrR]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
        |"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*'))
    | (?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<sign>\|\||&&|==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|([0-3][0-7]{2})|(.))",
    re.DOTALL,
)
_SHORT = dict(zip("abfnrtv\\?\"'`", "\a\b\f\n\r\t\v\\?\"'`", strict=True))


class SourceError(NamedTuple):
    """What is wrong with an expression, and where: an offset into it."""

    at: int
    says: str


class NoExpression(Exception):
    """A text is no expression."""

    def __init__(self, *errors: SourceError) -> None:
        super().__init__()
        self.errors = errors


@dataclass(frozen=True, slots=True, eq=False)
class WrittenValue:
    """A value that is written out."""

    at: int
    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A variable or a type."""

    at: int
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """A field; `optional` where a question mark stands before it, `test` inside of `has`."""

    at: int
    operand: "Node"
    field: str
    optional: bool = False
    test: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function or an operator, of a target if it has one."""

    at: int
    function: str
    arguments: tuple["Node", ...]
    target: "Node | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A list, and which of its elements have a question mark."""

    at: int
    elements: tuple["Node", ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """A map: keys and values in turn, and which of its entries have a question mark."""

    at: int
    keys: tuple["Node", ...]
    values: tuple["Node", ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A macro over a list, a map or an optional value: `all`, `map`, `optMap`, ..."""

    at: int
    macro: str
    target: "Node"
    variable: str
    parts: tuple["Node", ...]


Node = WrittenValue | Name | Select | Call | Items | Entries | Loop
LOOPS = {
    "all": (2,),
    "exists": (2,),
    "exists_one": (2,),
    "existsOne": (2,),
    "filter": (2,),
    "map": (2, 3),
    "optMap": (2,),
    "optFlatMap": (2,),
}


def parse(text: str) -> Node:
    """Return the tree of an expression.

    Raises:
        NoExpression: It is none.
        Misconfigured: It is nested too deep.
    """
    parser = _Parser(text)
    tree = parser.expression()
    if parser.kind != "end":
        parser.refuse_rest()
    if _depth_of(tree) > DEEPEST:
        raise Misconfigured(TOO_DEEP)
    return tree


def parts_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below one."""
    match node:
        case Select():
            return (node.operand,)
        case Call():
            return (*((node.target,) if node.target is not None else ()), *node.arguments)
        case Items():
            return node.elements
        case Entries():
            return (*node.keys, *node.values)
        case Loop():
            return (node.target, *node.parts)
    return ()


def _depth_of(tree: Node) -> int:
    level, depth = [tree], 0
    while level:
        depth += 1
        level = [part for one in level for part in parts_of(one)]
    return depth


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            says = f"Syntax error: token recognition error at: '{text[at]}'"
            raise NoExpression(SourceError(at, says))
        if match.lastgroup != "blank":
            yield _Token(str(match.lastgroup), match.group(), at)
        at = match.end()
    yield _Token("end", "", len(text))


class _Parser:
    """Reads an expression by descent."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_tokens(text)]
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> _Token:
        """The token that is read next."""
        return self._tokens[self._next]

    @property
    def kind(self) -> str:
        """Its kind."""
        return self.token.kind

    def refuse(self, says: str = "Syntax error") -> None:
        """Raise that no expression goes on here."""
        raise NoExpression(SourceError(self.token.at, says))

    def refuse_rest(self) -> None:
        """Raise that the expression ends before here; one token too many is told as that."""
        behind = self._tokens[self._next + 1]
        word = "extraneous" if behind.kind == "end" else "mismatched"
        self.refuse(f"Syntax error: {word} input '{self.token.text}' expecting <EOF>")

    def refuse_operand(self) -> None:
        """Raise that a value is missing here."""
        mark = "'?', " if self._next and self._tokens[self._next - 1].text == "[" else ""
        wanted = OPERANDS.replace("'true'", f"{mark}'true'")
        text = self.token.text or "<EOF>"
        self.refuse(f"Syntax error: mismatched input '{text}' expecting {wanted}")

    def take(self) -> _Token:
        """Read a token."""
        token = self.token
        self._next += 1
        return token

    def sees(self, *signs: str) -> bool:
        """Return whether one of some signs is next."""
        return self.kind in ("sign", "name") and self.token.text in signs

    def expect(self, sign: str) -> _Token:
        """Read a sign that must be next."""
        if not self.sees(sign):
            self.refuse()
        return self.take()

    def expression(self) -> Node:
        """Read a whole expression."""
        self._depth += 2  # of our own recursion, and of cel-go's
        if self._depth > DEEPEST:
            raise Misconfigured(TOO_DEEP)
        tree = self._binary(0)
        if self.sees("?"):
            at = self.take().at
            yes = self._binary(0)
            self.expect(":")
            tree = Call(at, "_?_:_", (tree, yes, self.expression()))
        self._depth -= 2
        return tree

    def _binary(self, level: int) -> Node:
        """Read what operators of a level join, and tighter ones; by one call for all levels."""
        tree = self._unary()
        while (at := self._level()) >= level:
            sign = self.take()
            tree = Call(sign.at, BINARY[at][sign.text], (tree, self._binary(at + 1)))
        return tree

    def _level(self) -> int:
        """Return the level of the operator that is next, -1 if none is."""
        if self.kind not in ("sign", "name"):
            return -1
        text = self.token.text
        return next((at for at, known in enumerate(BINARY) if text in known), -1)

    def _unary(self) -> Node:
        if not self.sees("!", "-"):
            return self._member()
        sign, times = self.token.text, 0
        at = self.token.at
        while self.sees(sign):
            self.take()
            times += 1
        if sign == "-" and times == 1 and self.kind in ("int", "float"):
            self._tokens[self._next] = self.token._replace(text=f"-{self.token.text}", at=at)
            return self._member()
        if self.sees("!", "-"):
            self.refuse()
        inner = self._member()
        return Call(at, f"{sign}_", (inner,)) if times % 2 else inner

    def _member(self) -> Node:
        tree = self._primary()
        while self.sees(".", "["):
            tree = self._field(tree) if self.sees(".") else self._index(tree)
        return tree

    def _field(self, operand: Node) -> Node:
        dot = self.take()
        optional = self.sees("?")
        if optional:
            self.take()
        if self.kind not in ("name", "quoted") or self.token.text in LITERAL:
            self.refuse(f"Syntax error: no viable alternative at input '.{self.token.text}'")
        name = self.take().text.strip("`")
        if optional or not self.sees("("):
            return Select(dot.at, operand, name, optional)
        at, arguments = self._arguments()
        if name in LOOPS and len(arguments) in LOOPS[name]:
            return self._loop(at, name, operand, arguments)
        return Call(at, name, arguments, operand)

    def _loop(self, at: int, name: str, target: Node, arguments: tuple[Node, ...]) -> Node:
        variable, *parts = arguments
        if not isinstance(variable, Name):
            says = "argument must be a simple name"
            if name.startswith("opt"):
                says = f"{name}() variable name must be a simple identifier"
            raise NoExpression(SourceError(variable.at, says))
        return Loop(at, name, target, variable.name, tuple(parts))

    def _index(self, operand: Node) -> Node:
        at = self.take().at
        optional = self.sees("?")
        if optional:
            self.take()
        key = self.expression()
        self.expect("]")
        return Call(at, "_[?_]" if optional else "_[_]", (operand, key))

    def _arguments(self) -> tuple[int, tuple[Node, ...]]:
        at, arguments = self.expect("(").at, list[Node]()
        while not self.sees(")"):
            arguments.append(self.expression())
            if not self.sees(")"):
                self.expect(",")
                if self.sees(")"):
                    self.refuse()
        self.take()
        return at, tuple(arguments)

    def _primary(self) -> Node:  # noqa: C901  # a row a kind
        if self.sees("("):
            self.take()
            tree = self.expression()
            self.expect(")")
            return tree
        if self.sees("["):
            return self._items()
        if self.sees("{"):
            return self._entries()
        if self.sees("."):
            self.take()
        token = self.token
        if token.kind in ("int", "float", "text"):
            return WrittenValue(token.at, _value_of(self.take()))
        if token.kind != "name":
            self.refuse_operand()
        if token.text in ("true", "false", "null"):
            self.take()
            return WrittenValue(token.at, {"true": True, "false": False}.get(token.text))
        if token.text in NOT_NAMES:
            self.refuse()
        self.take()
        if not self.sees("("):
            return Name(token.at, token.text)
        at, arguments = self._arguments()
        if token.text == "has" and len(arguments) == 1:
            return self._has(token.at, arguments[0])
        return Call(at, token.text, arguments)

    def _has(self, at: int, argument: Node) -> Node:
        if not isinstance(argument, Select) or argument.optional:
            raise NoExpression(SourceError(at, "invalid argument to has() macro"))
        return Select(at, argument.operand, argument.field, test=True)

    def _marked(self, position: int, optional: set[int]) -> None:
        if self.sees("?"):
            self.take()
            optional.add(position)

    def _items(self) -> Node:
        at, nodes, optional = self.take().at, list[Node](), set[int]()
        while not self.sees("]"):
            self._marked(len(nodes), optional)
            nodes.append(self.expression())
            if not self.sees("]"):
                self.expect(",")
        self.take()
        return Items(at, tuple(nodes), frozenset(optional))

    def _entries(self) -> Node:
        at, keys, values, optional = self.take().at, list[Node](), list[Node](), set[int]()
        while not self.sees("}"):
            self._marked(len(keys), optional)
            keys.append(self.expression())
            self.expect(":")
            values.append(self.expression())
            if not self.sees("}"):
                self.expect(",")
        self.take()
        return Entries(at, tuple(keys), tuple(values), frozenset(optional))


def _value_of(token: _Token) -> object:
    text = token.text
    if token.kind == "float":
        return float(text)
    if token.kind == "int":
        plain = text.rstrip("uU")
        number = int(plain, 16 if "0x" in plain else 10)
        unsigned = plain != text
        low, high = (0, 2**64 - 1) if unsigned else (-(2**63), 2**63 - 1)
        if not low <= number <= high:
            raise NoExpression(SourceError(token.at, f"invalid {'u' * unsigned}int literal"))
        return Uint(number) if unsigned else number
    marks = text[: re.search("[\"']", text).start()].lower()  # type: ignore[union-attr]  # it has one
    body = text[len(marks) :]
    length = 3 if body[:3] in ('"""', "'''") else 1
    body = body[length:-length]
    in_bytes = "b" in marks
    if "r" not in marks:
        try:
            body = _ESCAPE.sub(lambda found: _unescaped(found, in_bytes=in_bytes), body)
        except (ValueError, OverflowError):
            raise NoExpression(SourceError(token.at, "Syntax error")) from None
    return b"".join(map(_raw, body)) if in_bytes else body


def _raw(character: str) -> bytes:
    """Return a character of bytes: an escape of a byte is kept as a private one."""
    code = ord(character)
    return bytes([code - 0x10FE00]) if 0x10FE00 <= code <= 0x10FEFF else character.encode()


def _unescaped(match: re.Match[str], *, in_bytes: bool) -> str:
    hexadecimal = match[1] or match[2] or match[3] or match[4]
    if match[6] is not None:
        if match[6] not in _SHORT:
            raise ValueError("an escape is none")
        return _SHORT[match[6]]
    code = int(hexadecimal, 16) if hexadecimal else int(match[5], 8)
    if in_bytes and not (match[3] or match[4]):
        return chr(0x10FE00 + code)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError("half of a pair")
    return chr(code)
