"""CEL rules of CRDs, evaluated as an API server does, with the engine of the product."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from reconciler.dialects.ocm.cel.evaluator import evaluate
from reconciler.dialects.ocm.cel.library import STANDARD
from reconciler.dialects.ocm.cel.syntax import Node, parse
from reconciler.dialects.ocm.cel.values import CelError, Meter, to_cel
from reconciler.model.body import Body
from tests.crds.reader import Rule

STEPS = 1_000_000
PART = re.compile(r"[^.\[\]{}]+|\[\]|\{\}")


def holds(rule: Rule, before: Body, after: Body) -> bool:
    """Return whether an object satisfies a rule, wherever the rule stands in it.

    Args:
        rule: One that looks at `oldSelf` is asked only where its field was there before.
        before: The object as it was, `{}` if it is new.
        after: The object as it is, defaults applied.
    """
    transition = "oldSelf" in rule.expression
    known = dict(nodes_at(rule.field, before)) if before else {}
    return all(
        _is_true(rule.expression, node, known.get(place))
        for place, node in nodes_at(rule.field, after)
        if not transition or place in known
    )


def nodes_at(field: str, body: object) -> Iterator[tuple[tuple[object, ...], object]]:
    """Yield each value of a field, with its place.

    >>> [*nodes_at("a[].b", {"a": [{"b": 1}, {}]})]
    [(('a', 0, 'b'), 1)]
    """
    return _nodes(tuple(PART.findall(field)), body, ())


def _nodes(
    parts: tuple[str, ...], node: object, place: tuple[object, ...]
) -> Iterator[tuple[tuple[object, ...], object]]:
    if not parts:
        yield place, node
        return
    first, rest = parts[0], parts[1:]
    if first == "[]" and isinstance(node, list):
        for position, item in enumerate(node):
            yield from _nodes(rest, item, (*place, position))
    elif isinstance(node, Mapping):
        for name in sorted(node) if first == "{}" else [first]:
            if name in node:
                yield from _nodes(rest, node[name], (*place, name))


@cache
def _parsed(expression: str) -> Node:
    return parse(expression)


def _is_true(expression: str, node: object, before: object) -> bool:
    """Return whether an expression is true; what cannot be evaluated is refused."""
    variables = {"self": to_cel(node)}
    if "oldSelf" in expression:
        variables["oldSelf"] = to_cel(before)
    try:
        return evaluate(_parsed(expression), STANDARD, variables, Meter(STEPS)) is True
    except CelError:
        return False
