"""cel-python's evaluator with optional fields, elements and functions; import it late.

Source: cel-go cel/library.go `OptionalTypes`, interpreter/attributes.go `applyQualifiers`.
"""

from collections.abc import Callable, Sequence
from typing import cast

from celpy import celtypes
from celpy.evaluation import CELEvalError, Evaluator, Result
from lark import Token, Tree

from reconciler.dialects.ocm.cel.optional_value import (
    CONSTRUCTORS,
    LAZY,
    MACROS,
    METHODS,
    NONE,
    CelOptional,
    qualify,
    require_optional,
)

Node = Tree[Token]
NAMESPACE = "optional"


class OptionalEvaluator(Evaluator):
    """Evaluates what cel-python does, and besides what `grammar.py` adds."""

    def evaluated(self, tree: Node) -> object:
        """Return the value of a part that was evaluated before."""
        return tree.children[0]

    def member_dot(self, tree: Node) -> Result:
        """Select a field, an optional one of an optional value."""
        container = self._value(tree.children[0])
        if isinstance(container, CelOptional):
            return _selected(container, str(tree.children[1]))
        known = [_evaluated(container), tree.children[1]]
        return cast(Result, super().member_dot(Tree(tree.data, known, tree.meta)))

    def member_index(self, tree: Node) -> Result:
        """Select an item, an optional one of an optional value."""
        container, key = self._values(tree)
        if isinstance(container, CelOptional):
            return _selected(container, key)
        known: list[Token | Node] = [_evaluated(container), _evaluated(key)]
        return cast(Result, super().member_index(Tree(tree.data, known, tree.meta)))

    def member_optional_dot(self, tree: Node) -> Result:
        """Select a field that may be absent."""
        return _selected(self._value(tree.children[0]), str(tree.children[-1]))

    def member_optional_index(self, tree: Node) -> Result:
        """Select an item that may be absent."""
        return _selected(*self._values(tree))

    def macro_has_eval(self, exprlist: Node) -> celtypes.BoolType:
        """Return whether a selection has a value."""
        found = self._values(exprlist)[0]
        absent = isinstance(found, CELEvalError) or found is NONE  # no comparison: it may raise
        return celtypes.BoolType(not absent)

    def member_dot_arg(self, tree: Node) -> Result:
        """Call a method, those of optional values among them."""
        name, arguments = str(tree.children[1]), [cast(Node, one) for one in tree.children[2:]]
        if is_constructor(tree):
            return self._called(CONSTRUCTORS[name], [], arguments)
        if name not in METHODS.keys() | LAZY | MACROS:
            return cast(Result, super().member_dot_arg(tree))
        target = self._value(tree.children[0])
        if isinstance(target, CELEvalError):
            return target
        if name in METHODS:
            return self._called(METHODS[name], [target], arguments)
        if not isinstance(target, CelOptional) or not arguments:
            return _no_overload()
        if name in LAZY:
            return self._alternative(name, target, arguments[0])
        return self._mapped(name, target, tree)

    def _called(
        self, function: Callable[..., object], values: list[object], arguments: Sequence[Node]
    ) -> Result:
        for part in arguments:
            values += self._values(part)
        errors = (one for one in values if isinstance(one, CELEvalError))
        error = next(errors, None)
        return _attempt(function, *values) if error is None else error

    def _alternative(self, name: str, optional: CelOptional, arguments: Node) -> Result:
        """Return the value, or the optional, or what is given instead of one that has none."""
        if len(arguments.children) != 1:
            return _no_overload()
        if optional.present:
            return cast(Result, optional if name == "or" else optional.value)
        other = self._value(arguments.children[0])
        if name == "orValue" or isinstance(other, CELEvalError):
            return cast(Result, other)
        return _attempt(require_optional, other)

    def _mapped(self, name: str, optional: CelOptional, tree: Node) -> Result:
        """Return what an expression makes of the value, if there is one."""
        if not optional.present:
            return cast(Result, NONE)
        try:
            made = self.build_macro_eval(tree)(cast(celtypes.Value, optional.value))
        except CELEvalError as error:
            return error
        return _attempt(CelOptional if name == "optMap" else require_optional, made)

    def elements(self, tree: Node) -> Result:
        """Make a list; elements that are optional and have no value are not in it."""
        found: list[object] = []
        for part, value in zip(tree.children, self._values(tree), strict=True):
            kept = _kept(value, optional=_is(part, "optional_element"))
            if isinstance(kept, CELEvalError):
                return kept
            found += [kept.value] if kept.present else []
        return cast(Result, celtypes.ListType(cast("list[celtypes.Value]", found)))

    def optional_element(self, tree: Node) -> Result:
        """Evaluate what follows the question mark."""
        return cast(Result, self._value(tree.children[0]))

    optional_key = optional_element

    def mapinits(self, tree: Node) -> Result:
        """Make a map; entries that are optional and have no value are not in it."""
        entries: dict[object, object] = {}
        values = self._values(tree)
        for part, key, value in zip(tree.children[::2], values[::2], values[1::2], strict=True):
            kept = _kept(value, optional=_is(part, "optional_key"))
            if isinstance(key, CELEvalError):
                return key
            if isinstance(kept, CELEvalError):
                return kept
            if key in entries:
                raise ValueError(f"Duplicate key {key!r}")
            if kept.present:
                entries[key] = kept.value
        return celtypes.MapType(cast("dict[celtypes.Value, celtypes.Value]", entries))

    def _value(self, part: object) -> object:
        return self.visit(cast(Node, part))

    def _values(self, tree: Node) -> list[object]:
        return [*self.visit_children(tree)]


def is_constructor(tree: Node) -> bool:
    """Return whether a call is one of a function in the namespace `optional`."""
    return str(tree.children[1]) in CONSTRUCTORS and _innermost(tree.children[0]) == NAMESPACE


def is_selection(tree: Node) -> bool:
    """Return whether an argument is the selection of a field, as `has` wants it."""
    return _is(_innermost(tree), "member_dot")


def _innermost(part: object) -> object:
    """Return the token that a part consists of, or the part that has several."""
    while isinstance(part, Tree) and len(part.children) == 1:
        part = part.children[0]
    return part


def _is(part: object, rule: str) -> bool:
    return isinstance(part, Tree) and part.data == rule


def _evaluated(value: object) -> Node:
    return Tree("evaluated", [cast(Token, value)])


def _kept(value: object, *, optional: bool) -> CelOptional | CELEvalError:
    """Return what of a value goes into a list or a map."""
    if isinstance(value, CELEvalError):
        return value
    if not optional:
        return CelOptional(value)
    if not isinstance(value, CelOptional):
        return _no_overload()
    return value


def _selected(container: object, key: object) -> Result:
    for part in (container, key):
        if isinstance(part, CELEvalError):
            return part
    return _attempt(qualify, container, key)


def _attempt(function: Callable[..., object], *values: object) -> Result:
    """Call a function of ours; what it raises becomes an error of CEL."""
    try:
        return cast(Result, function(*values))
    except (TypeError, ValueError) as error:
        return CELEvalError(str(error), error.__class__, error.args)


def _no_overload() -> CELEvalError:
    return CELEvalError("no such overload", TypeError, ())
