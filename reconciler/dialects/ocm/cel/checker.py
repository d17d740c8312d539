"""The type check of CEL: what cel-go refuses before it runs an expression.

Source: cel-go checker/checker.go and checker/errors.go.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from reconciler.dialects.ocm.cel.library import Functions, Overload
from reconciler.dialects.ocm.cel.syntax import (
    MOST_ERRORS,
    Call,
    Entries,
    Items,
    Loop,
    Name,
    Node,
    NoExpression,
    Select,
    SourceError,
    WrittenValue,
)
from reconciler.dialects.ocm.cel.types import (
    ANYTHING,
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Type,
    TypeBindings,
    most_general,
)
from reconciler.dialects.ocm.cel.values import Uint

OPTIONAL = "optional_type"
TYPES = {
    name: Type(name)
    for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "type")
} | {"null_type": NULL}
LITERALS: Mapping[type, Type] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}
LOGIC = ("_&&_", "_||_")


def check(tree: Node, variables: Mapping[str, Type], functions: Functions) -> Type:
    """Return the type of an expression.

    Raises:
        NoExpression: It has a mistake, with all of them by place.
    """
    checker = _Checker(variables, functions)
    kind = checker.type_of(tree)
    if checker.errors:
        raise NoExpression(*sorted(checker.errors)[:MOST_ERRORS])
    return checker.bindings.resolve(kind, finally_=True)


class _Checker:
    """Finds the type of each node; what is wrong is an error, and goes with anything."""

    def __init__(self, variables: Mapping[str, Type], functions: Functions) -> None:
        self.errors: list[SourceError] = []
        self.bindings = TypeBindings()
        self._variables = dict(variables)
        self._functions = functions
        self._fresh = 0

    def type_of(self, node: Node) -> Type:
        """Return the type of a node."""
        match node:
            case WrittenValue():
                return LITERALS[type(node.value)]
            case Name():
                return self._name(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case Items():
                marked = [(one, i in node.optional) for i, one in enumerate(node.elements)]
                return Type("list", (self._joined(marked),))
            case Entries():
                keys = self._joined([(one, False) for one in node.keys])
                marked = [(one, i in node.optional) for i, one in enumerate(node.values)]
                return Type("map", (keys, self._joined(marked)))
            case Loop():
                return self._loop(node)
        assert_never(node)

    def _wrong(self, at: int, says: str) -> Type:
        self.errors.append(SourceError(at, says))
        return ERROR

    def _name(self, node: Name) -> Type:
        if node.name in self._variables:
            return self._variables[node.name]
        if node.name in TYPES:
            return Type("type", (TYPES[node.name],))
        return self._undeclared(node.at, node.name)

    def _undeclared(self, at: int, name: str) -> Type:
        return self._wrong(at, f"undeclared reference to '{name}' (in container '')")

    def _select(self, node: Select) -> Type:
        operand = self.bindings.resolve(self.type_of(node.operand))
        inner = operand.inner[0] if operand.name == OPTIONAL else operand
        kind = DYN
        if inner.name == "map":
            kind = inner.inner[1]
        elif inner.is_parameter:
            self.bindings.assign((inner,), (DYN,))
        elif inner not in ANYTHING:
            kind = self._wrong(node.at, f"type '{operand}' does not support field selection")
        if node.test:
            return BOOL
        return Type(OPTIONAL, (kind,)) if node.optional or operand.name == OPTIONAL else kind

    def _joined(self, nodes: Sequence[tuple[Node, bool]]) -> Type:
        """Return the type of all elements: theirs if they fit each other, else dyn."""
        joined: Type | None = None
        for node, optional in nodes:
            kind = self.type_of(node)
            if optional:
                kind = self._inside(node, kind)
            if joined is None:
                joined = kind
            elif self.bindings.assign((joined,), (kind,)):
                joined = most_general(joined, kind)
            else:
                joined = DYN
        return self._parameter() if joined is None else joined

    def _inside(self, node: Node, kind: Type) -> Type:
        """Return the type in an optional one, which a question mark needs."""
        inner = self._parameter()
        wanted = Type(OPTIONAL, (inner,))
        if not self.bindings.assign((kind,), (wanted,)):
            return self._wrong(node.at, f"expected type '{OPTIONAL}(dyn)' but found '{kind}'")
        return DYN if kind in ANYTHING else self.bindings.resolve(inner)

    def _parameter(self) -> Type:
        self._fresh += 1
        return Type(f"T{self._fresh}")

    def _call(self, node: Call) -> Type:
        given = [self.type_of(one) for one in node.arguments]
        function = node.function
        if node.target is None:
            if function not in self._functions:
                return self._undeclared(node.at, function)
            return self._resolved(node, function, None, given)
        qualified = _qualified(node.target)
        if qualified and f"{qualified}.{function}" in self._functions:
            return self._resolved(node, f"{qualified}.{function}", None, given)
        target = self.type_of(node.target)
        if function not in self._functions:
            return self._undeclared(node.at, function)
        return self._resolved(node, function, target, given)

    def _resolved(self, node: Call, name: str, target: Type | None, given: list[Type]) -> Type:
        if name in LOGIC:
            for argument, kind in zip(node.arguments, given, strict=True):
                self._expect(argument, kind, BOOL)
            return BOOL
        values = tuple(given) if target is None else (target, *given)
        result: Type | None = None
        for overload in self._functions[name]:
            made = self._tried(overload, values, member=target is not None)
            if made is not None:
                result = made if result is None or made == result else DYN
        if result is not None:
            return result
        shown = [str(self.bindings.resolve(one, finally_=True)) for one in values]
        applied = f"({', '.join(shown)})"
        if target is not None:
            applied = f"{shown[0]}.({', '.join(shown[1:])})"
        return self._wrong(
            node.at, f"found no matching overload for '{name}' applied to '{applied}'"
        )

    def _tried(self, overload: Overload, values: tuple[Type, ...], *, member: bool) -> Type | None:
        """Return what an overload makes of such values, `None` if it takes none such."""
        if overload.member != member or len(overload.parameters) != len(values):
            return None
        own: dict[str, Type] = {}
        wanted = tuple(self._with_own(one, own) for one in overload.parameters)
        if not self.bindings.assign(values, wanted):
            return None
        return self.bindings.resolve(self._with_own(overload.result, own))

    def _with_own(self, kind: Type, own: dict[str, Type]) -> Type:
        """Return a type of a signature with parameters of this call."""
        if kind.is_parameter:
            if kind.name not in own:
                own[kind.name] = self._parameter()
            return own[kind.name]
        return Type(kind.name, tuple(self._with_own(one, own) for one in kind.inner))

    def _expect(self, node: Node, kind: Type, wanted: Type) -> None:
        if not self.bindings.assign((kind,), (wanted,)):
            shown = self.bindings.resolve(kind, finally_=True)
            self._wrong(node.at, f"expected type '{wanted}' but found '{shown}'")

    def _loop(self, node: Loop) -> Type:
        over = self.bindings.resolve(self.type_of(node.target))
        before = self._variables.get(node.variable)
        self._variables[node.variable] = self._item(node, over)
        kinds = [self.type_of(one) for one in node.parts]
        if before is None:
            del self._variables[node.variable]
        else:
            self._variables[node.variable] = before
        match node.macro:
            case "optMap":
                return Type(OPTIONAL, (kinds[0],))
            case "optFlatMap":
                return self._flat(node, kinds[0])
            case "map":
                if len(kinds) > 1:
                    self._expect(node.parts[0], kinds[0], BOOL)
                return Type("list", (kinds[-1],))
        self._expect(node.parts[0], kinds[0], BOOL)
        if node.macro == "filter":
            return Type("list", (self._item(node, over),))
        return BOOL

    def _flat(self, node: Loop, kind: Type) -> Type:
        """Return the type of what stands for a value, which has to be an optional one."""
        wanted = Type(OPTIONAL, (self._parameter(),))
        if self.bindings.assign((kind,), (wanted,)):
            return kind
        applied = f"(bool, {self.bindings.resolve(kind, finally_=True)}, {OPTIONAL}(dyn))"
        says = f"found no matching overload for '_?_:_' applied to '{applied}'"
        return self._wrong(node.at, says)

    def _item(self, node: Loop, over: Type) -> Type:
        """Return the type of the variable of a macro."""
        if over in ANYTHING:
            return DYN
        if node.macro.startswith("opt"):
            if over.name == OPTIONAL:
                return over.inner[0]
            says = f"found no matching overload for '{node.macro}' applied to '{over}'"
            return self._wrong(node.at, says)
        if over.is_parameter:
            return DYN
        if over.name in ("list", "map") and over.inner:
            return over.inner[0]
        range_of = "range of a comprehension (must be list, map, or dynamic)"
        says = f"expression of type '{over}' cannot be {range_of}"
        return self._wrong(node.target.at, says)


def _qualified(node: Node) -> str:
    """Return the dotted name that a node spells, `""` if it is none."""
    match node:
        case Name():
            return node.name
        case Select(optional=False, test=False):
            before = _qualified(node.operand)
            return f"{before}.{node.field}" if before else ""
    return ""
