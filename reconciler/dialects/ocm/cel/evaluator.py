"""The evaluation of CEL, on a meter: every node is charged, and for what it handles.

`&&`, `||` and the macros made of them take an error for no answer as long as another side has one.

Source: cel-go interpreter/interpretable.go.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, assert_never

from reconciler.dialects.ocm.cel.checker import TYPES
from reconciler.dialects.ocm.cel.library import (
    Functions,
    called,
    item_of,
    optional_item,
)
from reconciler.dialects.ocm.cel.syntax import (
    Call,
    Entries,
    Items,
    Loop,
    Name,
    Node,
    Select,
    WrittenValue,
)
from reconciler.dialects.ocm.cel.values import (
    NO_OVERLOAD,
    NONE,
    STEPS_OF_NODE,
    TOO_DEEP,
    WEIGHT_OF_STEP,
    CelError,
    CelOptional,
    CelType,
    Meter,
    key_of,
    of_key,
)
from reconciler.errors import Misconfigured

Asked = TypeVar("Asked")

WEIGHED = (str, bytes, list, dict, CelOptional)


def evaluate(
    tree: Node, functions: Functions, variables: Mapping[str, object], meter: Meter
) -> object:
    """Return the value of an expression.

    Raises:
        Misconfigured: It costs too much.
        CelError: It has no value.
    """
    try:
        return _Evaluator(functions, dict(variables), meter).value(tree)
    except RecursionError:
        raise Misconfigured(TOO_DEEP) from None


class _Evaluator:
    def __init__(self, functions: Functions, variables: dict[str, object], meter: Meter) -> None:
        self._functions = functions
        self._variables = variables
        self._meter = meter

    def value(self, node: Node) -> object:
        """Return the value of a node."""
        self._meter.charge(STEPS_OF_NODE)
        result: object
        match node:
            case WrittenValue():
                result = node.value
            case Name():
                result = self._name(node)
            case Select():
                result = self._select(node)
            case Call():
                result = self._call(node)
            case Items():
                result = self._items(node)
            case Entries():
                result = self._entries(node)
            case Loop():
                result = self._loop(node)
            case _:
                assert_never(node)
        if isinstance(result, WEIGHED):
            self._meter.weigh(result)
        return result

    def _name(self, node: Name) -> object:
        if node.name in self._variables:
            return self._variables[node.name]
        if node.name in TYPES:
            return CelType(node.name)
        raise CelError(f"no such attribute: {node.name}")

    def _select(self, node: Select) -> object:
        operand = self.value(node.operand)
        if node.test:
            return self._has(operand, node.field)
        if node.optional or isinstance(operand, CelOptional):
            return optional_item(operand, node.field)
        if not isinstance(operand, dict):
            raise CelError(NO_OVERLOAD)
        return item_of(operand, node.field)

    @staticmethod
    def _has(operand: object, field: str) -> bool:
        if isinstance(operand, CelOptional):
            return optional_item(operand, field).present
        if not isinstance(operand, dict):
            raise CelError(NO_OVERLOAD)
        return field in operand

    def _call(self, node: Call) -> object:
        match node.function:
            case "_&&_":
                return self._logical(node, decides=False)
            case "_||_":
                return self._logical(node, decides=True)
            case "_?_:_":
                chosen = 1 if self._boolean(self.value(node.arguments[0])) else 2
                return self.value(node.arguments[chosen])
            case "or" | "orValue" if node.target is not None and len(node.arguments) == 1:
                return self._alternative(node)
        name, member = node.function, node.target is not None
        values: list[object] = []
        if node.target is not None:
            qualified = f"{_qualified(node.target)}.{name}"
            if qualified in self._functions:
                name, member = qualified, False
            else:
                values.append(self.value(node.target))
        for argument in node.arguments:  # no comprehension: each level costs frames of the stack
            values.append(self.value(argument))  # noqa: PERF401
        if len(values) > 1:
            self._meter.charge(sum(map(self._meter.weigh, values)) // WEIGHT_OF_STEP)
        overloads = self._functions.get(name, ())
        if name[0] in "_-!@" and overloads:  # an operator works across types of numbers
            return self._operated(name, overloads[0].does, values)
        return called(overloads, values, member=member)

    def _operated(self, name: str, does: Callable[..., object], values: list[object]) -> object:
        if name == "!_":
            return not self._boolean(values[0])
        if name == "_[?_]" and isinstance(values[0], str | bytes):
            return NONE
        return does(*values)

    def _logical(self, node: Call, *, decides: bool) -> bool:
        return self._decided(_sides(node), self.value, decides=decides)

    def _decided(
        self, asked: Iterable[Asked], answer: Callable[[Asked], object], *, decides: bool
    ) -> bool:
        """Return whether one answer decides; an error of another one counts only if none does."""
        error: CelError | None = None
        for side in asked:
            try:
                verdict = self._boolean(answer(side))
            except CelError as caught:
                error = error or caught
            else:
                if verdict is decides:
                    return decides
        if error is not None:
            raise error
        return not decides

    @staticmethod
    def _boolean(value: object) -> bool:
        if not isinstance(value, bool):
            raise CelError(NO_OVERLOAD)
        return value

    def _alternative(self, node: Call) -> object:
        """Return the value of an optional, or of what is given instead, asked only then."""
        target = self.value(node.target) if node.target is not None else None
        if not isinstance(target, CelOptional):
            raise CelError(NO_OVERLOAD)
        if target.present:
            return target if node.function == "or" else target.value
        other = self.value(node.arguments[0])
        if node.function == "or" and not isinstance(other, CelOptional):
            raise CelError(NO_OVERLOAD)
        return other

    def _items(self, node: Items) -> list[object]:
        elements: list[object] = []
        for position, element in enumerate(node.elements):
            value = self.value(element)
            if position not in node.optional:
                elements.append(value)
            elif not isinstance(value, CelOptional):
                raise CelError(NO_OVERLOAD)
            elif value.present:
                elements.append(value.value)
        return elements

    def _entries(self, node: Entries) -> dict[object, object]:
        entries: dict[object, object] = {}
        for position, (one, other) in enumerate(zip(node.keys, node.values, strict=True)):
            key, value = key_of(self.value(one)), self.value(other)
            if key in entries:
                raise CelError("failed with repeated key")
            if position in node.optional:
                if not isinstance(value, CelOptional):
                    raise CelError(NO_OVERLOAD)
                if not value.present:
                    continue
                value = value.value
            entries[key] = value
        return entries

    def _loop(self, node: Loop) -> object:
        over = self.value(node.target)
        if node.macro.startswith("opt"):
            return self._of_optional(node, over)
        if isinstance(over, dict):
            items = [of_key(key) for key in over]
        elif isinstance(over, list):
            items = over
        else:
            raise CelError(NO_OVERLOAD)
        match node.macro:
            case "all":
                return self._quantified(node, items, decides=False)
            case "exists":
                return self._quantified(node, items, decides=True)
            case "exists_one" | "existsOne":
                return sum(self._boolean(self._with(node, 0, one)) for one in items) == 1
            case "filter":
                return [one for one in items if self._boolean(self._with(node, 0, one))]
        if len(node.parts) == 1:
            return self._mapped(node, items)
        passing = [one for one in items if self._boolean(self._with(node, 0, one))]
        return self._mapped(node, passing)

    def _mapped(self, node: Loop, items: list[Any]) -> list[object]:
        return [self._with(node, len(node.parts) - 1, one) for one in items]

    def _of_optional(self, node: Loop, over: object) -> CelOptional:
        if not isinstance(over, CelOptional):
            raise CelError(NO_OVERLOAD)
        if not over.present:
            return NONE
        value = self._with(node, 0, over.value)
        if node.macro == "optMap":
            return CelOptional(value)
        if not isinstance(value, CelOptional):
            raise CelError(NO_OVERLOAD)
        return value

    def _with(self, node: Loop, part: int, element: object) -> object:
        """Return the value of a part of a macro for one item."""
        missing = object()
        before = self._variables.get(node.variable, missing)
        self._variables[node.variable] = element
        try:
            return self.value(node.parts[part])
        finally:
            if before is missing:
                del self._variables[node.variable]
            else:
                self._variables[node.variable] = before

    def _quantified(self, node: Loop, items: list[Any], *, decides: bool) -> bool:
        return self._decided(items, partial(self._with, node, 0), decides=decides)


def _sides(node: Call) -> list[Node]:
    """Return what an operator joins, however often in a row."""
    sides: list[Node] = []
    rest: Node = node
    while isinstance(rest, Call) and rest.function == node.function:
        sides.append(rest.arguments[1])
        rest = rest.arguments[0]
    return [rest, *reversed(sides)]


def _qualified(node: Node) -> str:
    match node:
        case Name():
            return node.name
        case Select(optional=False, test=False):
            return f"{_qualified(node.operand)}.{node.field}"
    return "?"
