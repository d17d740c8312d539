"""Expressions in CEL over a managed cluster: the object after a round trip through its Go type.

What differs from upstream: a cost budget of our own, which makes the placement misconfigured.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

from reconciler.dialects.ocm.api.cluster import ManagedCluster, Members
from reconciler.dialects.ocm.cel.checker import check
from reconciler.dialects.ocm.cel.evaluator import evaluate
from reconciler.dialects.ocm.cel.library import STANDARD, Functions, overload, regexes
from reconciler.dialects.ocm.cel.syntax import Node, NoExpression, SourceError, parse
from reconciler.dialects.ocm.cel.types import OBJECT, Type
from reconciler.dialects.ocm.cel.values import LONGEST_TEXT as LONGEST
from reconciler.dialects.ocm.cel.values import (
    STEPS,
    STEPS_PER_CLUSTER,
    TOO_DEEP,
    TOO_LONG,
    CelError,
    Meter,
    to_cel,
    unwrapped,
)
from reconciler.dialects.scores import Reports
from reconciler.errors import Misconfigured
from reconciler.model.body import Body
from reconciler.model.quantity import canonical_binary, canonical_decimal, parse_quantity
from reconciler.model.records import dataclass
from reconciler.schedule.framework import Mask, mask_of, positions_of

VARIABLE = "managedCluster"
FAILED = "compilation failed: "
MOST_SAID = 8 * 1024
SCORES = "(map(string, dyn), string) -> list(dyn)"


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Compiled expressions, all of which must be true."""

    trees: tuple[Node, ...]

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
        variables = {VARIABLE: to_cel(cluster_object(view.body))}
        functions = with_scores(_scores(view, reports))
        for tree in self.trees:
            meter.restart()
            try:
                verdict = unwrapped(evaluate(tree, functions, variables, meter))
            except CelError:
                return False
            if verdict is not True:
                return False
        return True


def compile_cel(expressions: tuple[str, ...]) -> Program:
    """Compile the expressions of one selector.

    Raises:
        Misconfigured: An expression cannot be compiled.

    Source: ocm@00f84c3 pkg/placement/helpers/cel.go `Compile`.
    """
    regexes()  # what is not installed is no answer for a cluster
    return _compile(expressions)


@lru_cache(maxsize=256)
def _compile(expressions: tuple[str, ...]) -> Program:
    """Compile, and remember: the answer depends on the expressions alone."""
    if sum(map(len, expressions)) > LONGEST:
        raise Misconfigured(TOO_LONG)
    functions = with_scores(lambda *_: [])
    return Program(tuple(compiled(one, {VARIABLE: OBJECT}, functions) for one in expressions))


def compiled(expression: str, variables: Mapping[str, Type], functions: Functions) -> Node:
    """Return the tree of an expression, its types checked.

    Raises:
        Misconfigured: It is wrong, or nested too deep; the message is as cel-go has it.
    """
    try:
        tree = parse(expression)
        check(tree, variables, functions)
    except RecursionError:
        raise Misconfigured(TOO_DEEP) from None
    except NoExpression as error:
        text, *more = [_pointed(expression, one) for one in error.errors]
        for message in more:  # Unlike upstream: so many as an API server takes in a condition
            text = f"{text}\n{message}" if len(text) + len(message) < MOST_SAID else text
        raise Misconfigured(f"{FAILED}{text}") from None
    return tree


def with_scores(does: Callable[..., object]) -> Functions:
    """Return the functions of placements."""
    return {**STANDARD, "scores": (overload(SCORES, does, member=True),)}


def _scores(view: ManagedCluster, reports: Reports) -> Callable[..., object]:
    """Return the function `scores` for one cluster; it does not ask until when they are valid.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/sdk-go/pkg/cel/library
    `ManagedClusterLib`.
    """

    def scores(_cluster: object, resource: str) -> object:
        report = reports.get((view.cluster.name, resource))
        if report is None:
            raise CelError("the cluster has no such AddOnPlacementScore")
        return [{"name": name, "value": value} for name, value in report.values.items()]

    return scores


def _pointed(expression: str, error: SourceError) -> str:
    """Return a message as cel-go prints it: where, why, and the line with a mark below it."""
    before = expression[: error.at]
    line, column = before.count("\n"), error.at - (before.rfind("\n") + 1)
    shown = expression.split("\n")[line]
    says = f"ERROR: <input>:{line + 1}:{column + 1}: {error.says}"
    return f"{says}\n | {shown}\n | {'.' * column}^"


_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)


def cluster_object(body: Body) -> dict[str, object]:
    """Return the object of a ManagedCluster.

    Unknown and empty fields are gone, except those that Go always writes; quantities are canonical.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/sdk-go/pkg/cel/common
    `ConvertObjectToUnstructured`.
    """
    metadata, spec, status = (_mapping(body.get(name)) for name in ("metadata", "spec", "status"))
    # neither `apiVersion` nor `kind`: what a lister of Go returns has none
    cluster: dict[str, object] = {"metadata": _nonempty(metadata, _METADATA)}
    taints = [_taint(item) for item in _items(spec, "taints")]
    cluster["spec"] = {
        "hubAcceptsClient": spec.get("hubAcceptsClient") is True,
        **_nonempty(spec, ("leaseDurationSeconds", "managedClusterClientConfigs")),
        **({"taints": taints} if taints else {}),
    }
    cluster["status"] = {
        "conditions": status.get("conditions"),
        **{
            name: {resource: _canonical(amount) for resource, amount in _mapping(amounts).items()}
            for name in ("capacity", "allocatable")
            if (amounts := status.get(name))
        },
        "version": _nonempty(_mapping(status.get("version")), ("kubernetes",)),
        **_nonempty(status, ("clusterClaims", "managedNamespaces")),
    }
    return cluster


def _mapping(value: object) -> Body:
    """Return a mapping, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _items(body: Body, name: str) -> list[Body]:
    """Return the mappings of a list."""
    value = body.get(name)
    return [_mapping(item) for item in value] if isinstance(value, list | tuple) else []


def _nonempty(body: Body, names: tuple[str, ...]) -> dict[str, object]:
    """Return the fields that are there and not empty."""
    return {name: body[name] for name in names if body.get(name)}


def _taint(body: Body) -> dict[str, object]:
    """Return a taint; Go always writes all but the value."""
    return {
        "key": body.get("key", ""),
        **_nonempty(body, ("value",)),
        "effect": body.get("effect", ""),
        "timeAdded": body.get("timeAdded"),
    }


def _canonical(amount: object) -> str:
    """Return the canonical text of a quantity; what is none, and counts nowhere, as it stands."""
    text = str(amount)
    try:
        quantity = parse_quantity(text)
    except ValueError:
        return text
    return canonical_binary(quantity) if text.endswith("i") else canonical_decimal(quantity)
