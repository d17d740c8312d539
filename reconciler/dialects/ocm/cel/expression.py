"""Expressions in CEL over a managed cluster.

What differs from upstream: no type check before the run, a cost budget of our own that makes the
placement misconfigured, and of Kubernetes' libraries those that
`functions.py` has.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from reconciler.dialects.ocm.api.clusters import ManagedCluster, Members
from reconciler.dialects.ocm.cel import optional_value
from reconciler.dialects.ocm.cel.budget import (
    DEEPEST,
    LONGEST,
    STEPS,
    STEPS_PER_CLUSTER,
    TOO_DEEP,
    TOO_LONG,
    Meter,
)
from reconciler.dialects.ocm.cel.cluster_object import cluster_object
from reconciler.dialects.ocm.cel.engine import engine, runner
from reconciler.dialects.ocm.cel.functions import FUNCTIONS
from reconciler.dialects.scores.reports import Reports
from reconciler.errors import Misconfigured
from reconciler.schedule.framework import Mask, mask_of, positions_of

VARIABLE = "managedCluster"
FAILED = "compilation failed: ERROR: <input>"

MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"}) | optional_value.MACROS
TYPES = frozenset(
    (
        "bool",
        "bytes",
        "double",
        "duration",
        "dyn",
        "google",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "timestamp",
        "type",
        "uint",
    )
)
CALLS = (
    optional_value.LAZY
    | optional_value.METHODS.keys()
    | frozenset(
        (
            "contains",
            "endsWith",
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
            "getDayOfYear",
            "getFullYear",
            "getHours",
            "getMilliseconds",
            "getMinutes",
            "getMonth",
            "getSeconds",
            "has",
            "matches",
            "scores",
            "size",
            "startsWith",
        )
    )
)


class SyntaxTree(Protocol):
    """A parsed expression: the name of its rule, and its parts, trees and tokens."""

    data: str
    children: list["SyntaxTree"]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Compiled expressions, all of which must be true."""

    trees: tuple[SyntaxTree, ...]

    def select(self, candidates: Mask, members: Members, reports: Reports) -> Mask:
        """Return the candidates that satisfy every expression.

        What cannot be evaluated for a cluster, or is no boolean, does not match.

        Raises:
            Misconfigured: That costs too much. Upstream has its budget for each call, and one that
                exceeds it does not match.

        Source: ocm@00f84c3 pkg/placement/helpers/cel.go `Validate`.
        """
        positions = positions_of(candidates)
        meter = Meter(STEPS + STEPS_PER_CLUSTER * len(positions))
        return mask_of(i for i in positions if self._holds(members.views[i], reports, meter))

    def _holds(self, view: ManagedCluster, reports: Reports, meter: Meter) -> bool:
        celpy, evaluate = engine(), runner().evaluate
        value = celpy.json_to_cel(cluster_object(view.body))
        functions = {**FUNCTIONS, "scores": _scores(view, reports)}
        for tree in self.trees:
            meter.restart()
            try:
                context = {VARIABLE: value}
                found = optional_value.unwrapped(evaluate(tree, functions, context, meter))
            except Misconfigured:
                raise
            except Exception:  # noqa: BLE001  # whatever goes wrong in an expression is "no match"
                return False
            if not isinstance(found, celpy.celtypes.BoolType) or not found:
                return False
        return True


def compile_cel(expressions: tuple[str, ...]) -> Program:
    """Compile the expressions of one selector.

    Raises:
        Misconfigured: An expression cannot be compiled.

    Source: ocm@00f84c3 pkg/placement/helpers/cel.go `Compile`.
    """
    return _compile(expressions)


@lru_cache(maxsize=256)
def _compile(expressions: tuple[str, ...]) -> Program:
    """Compile, and remember: the answer depends on the expressions alone."""
    celpy = engine()
    trees: list[SyntaxTree] = []
    if sum(map(len, expressions)) > LONGEST:
        raise Misconfigured(TOO_LONG)
    for expression in expressions:
        try:
            tree = runner().parse(expression)
            _refuse_depth(tree)
            _refuse_unknown(tree, expression, frozenset({VARIABLE}))
        except celpy.CELParseError as error:
            line, column = error.line or 1, error.column or 1
            raise Misconfigured(_pointed(expression, line, column, "Syntax error")) from error
        trees.append(tree)
    return Program(tuple(trees))


def _scores(view: ManagedCluster, reports: Reports) -> Callable[..., object]:
    """Return the function `scores` for one cluster; it does not ask until when they are valid.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/sdk-go/pkg/cel/library
    `ManagedClusterLib`.
    """

    def scores(_cluster: object, resource: object) -> object:
        report = reports.get((view.cluster.name, str(resource)))
        if report is None:
            raise ValueError(f"no AddOnPlacementScore {resource}")
        items = [{"name": name, "value": value} for name, value in report.values.items()]
        return engine().json_to_cel(items)

    return scores


def _refuse_depth(tree: SyntaxTree) -> None:
    """Raise if a tree is too deep to walk down."""
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise Misconfigured(TOO_DEEP)
        level = [part for one in level for part in one.children if hasattr(part, "children")]


def _refuse_unknown(node: object, expression: str, known: frozenset[str]) -> None:
    """Raise the first name or function that nothing declares.

    The variables that a macro such as `exists` binds are known in its arguments.
    """
    children = getattr(node, "children", None)
    if children is None:
        return
    rule = str(getattr(node, "data", ""))
    tokens = [child for child in children if not hasattr(child, "children")]
    if rule == "member_dot_arg" and runner().is_constructor(node):
        children = children[2:]  # neither the namespace nor its functions are names elsewhere
        tokens = []
    if rule == "ident" and tokens:
        _refuse(tokens[0], expression, known | TYPES)
    if rule in ("ident_arg", "member_dot_arg", "dot_ident_arg") and tokens:
        _refuse(tokens[0], expression, CALLS | TYPES | MACROS | FUNCTIONS.keys())
    if rule == "ident_arg" and str(tokens[0]) == "has" and not runner().is_selection(children[-1]):
        raise Misconfigured(_refusal(tokens[0], expression, "invalid argument to has() macro"))
    bound = _bound(rule, children) if tokens and str(tokens[0]) in MACROS else frozenset()
    for child in children:
        inside = str(getattr(child, "data", "")) == "exprlist"
        _refuse_unknown(child, expression, known | bound if inside else known)


def _bound(rule: str, children: list[SyntaxTree]) -> frozenset[str]:
    """Return the variable that a macro binds: its first argument."""
    if rule != "member_dot_arg":
        return frozenset()
    first = children[-1].children[0]
    while hasattr(first, "children") and first.children:
        first = first.children[0]
    return frozenset({str(first)})


def _refuse(token: object, expression: str, known: frozenset[str]) -> None:
    """Raise what cel-go says of a name that nothing declares."""
    if str(token) in known:
        return
    raise Misconfigured(
        _refusal(token, expression, f"undeclared reference to '{token}' (in container '')")
    )


def _refusal(token: object, expression: str, why: str) -> str:
    line, column = int(getattr(token, "line", 1)), int(getattr(token, "column", 1))
    return _pointed(expression, line, column, why)


def _pointed(expression: str, line: int, column: int, why: str) -> str:
    """Return a message as cel-go prints it: where, why, and the line with a mark below it."""
    shown = expression.split("\n")[line - 1]
    return f"{FAILED}:{line}:{column}: {why}\n | {shown}\n | {'.' * (column - 1)}^"
