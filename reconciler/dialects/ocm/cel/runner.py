"""cel-python's evaluator with a meter; the only file that imports it at once, so import it late."""

import sys
from collections.abc import Callable, Mapping
from typing import cast

from celpy import googleapis
from celpy.evaluation import Activation, CELFunction, Context, Evaluator, Result

from reconciler.dialects.ocm.cel.budget import WEIGHT_OF_STEP, Meter
from reconciler.dialects.ocm.cel.grammar import parse
from reconciler.dialects.ocm.cel.optional_evaluator import (
    Node,
    OptionalEvaluator,
    is_constructor,
    is_selection,
)

__all__ = ["evaluate", "is_constructor", "is_selection", "parse"]

FRAMES = 2500  # of Python's stack: cel-python's own limit, enough for the depth that is allowed

sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))


class MeteredEvaluator(OptionalEvaluator):
    """Charges every node that is evaluated, and for what it handles."""

    def __init__(self, ast: Node, activation: Activation, meter: Meter) -> None:
        super().__init__(ast, activation)
        self.meter = meter

    def sub_evaluator(self, ast: Node) -> Evaluator:
        """Return the evaluator of a macro's expression, on the same meter."""
        return MeteredEvaluator(ast, self.activation, self.meter)

    def visit(self, tree: Node) -> Result:
        """Evaluate a node."""
        self.meter.charge(1)
        value = cast(Result, super().visit(tree))
        self.meter.weigh(value)
        return value

    def visit_children(self, tree: Node) -> list[Result]:
        """Evaluate the parts of a node; what several of them hold is about to be handled."""
        self.meter.charge(1)
        values = super().visit_children(tree)
        weight = sum(map(self.meter.weigh, values))
        if len(values) > 1:
            self.meter.charge(weight // WEIGHT_OF_STEP)
        return values


def evaluate(
    tree: Node,
    functions: Mapping[str, Callable[..., object]],
    context: Mapping[str, object],
    meter: Meter,
) -> object:
    """Return the value of a parsed expression.

    Raises:
        Misconfigured: It costs too much.
        CELEvalError: It has no value.
    """
    known = cast("dict[str, CELFunction]", functions)
    activation = Activation(annotations=dict(googleapis), functions=known)
    return MeteredEvaluator(tree, activation, meter).evaluate(cast(Context, context))
