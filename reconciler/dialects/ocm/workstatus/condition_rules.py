"""Conditions of a manifest that follow from the state of its resource, by rules in CEL.

Source: ocm@00f84c3 pkg/work/spoke/conditions.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from reconciler.dialects.ocm.cel.budget import Meter
from reconciler.dialects.ocm.cel.engine import engine, runner
from reconciler.dialects.ocm.cel.functions import FUNCTIONS
from reconciler.dialects.ocm.cel.optional_value import unwrapped
from reconciler.errors import UserError
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS, without_secrets
from reconciler.model.body import Body
from reconciler.model.conditions import Condition
from reconciler.model.fields import bodies, strings, text
from reconciler.model.message_text import cut

EVALUATED, FAILED, INVALID = (
    f"ConditionRule{word}" for word in ("Evaluated", "ExpressionError", "Invalid")
)
AGGREGATED = "ConditionRulesAggregated"
_NO_KEY = re.compile(r"no such member in mapping: '(.*)'")
_NO_FUNCTION = re.compile(r"undeclared reference to '(\w{1,100})'")
STEPS = 100_000  # of one expression, enough for thousands of items
JOB = (
    "object.status.conditions.exists(c, (c.type == 'Complete' || c.type == 'Failed') "
    "&& c.status == 'True')"
)
POD = "object.status.phase in ['Succeeded', 'Failed']"
WELL_KNOWN: Mapping[tuple[str, str, str], Body] = {
    ("batch/v1", "Job", "Complete"): {
        "celExpressions": [JOB],
        "messageExpression": "result ? 'Job is finished' : 'Job is not finished'",
    },
    ("v1", "Pod", "Complete"): {
        "celExpressions": [POD],
        "messageExpression": "'Pod is in phase ' + object.status.phase",
    },
}


def evaluate_rules(rules: Sequence[Body], resource: Body, generation: int) -> Iterator[Condition]:
    """Yield the conditions that rules make of a resource.

    Args:
        rules: Those of its manifest, in order.
        resource: As it is in the cluster.
        generation: Of the ManifestWork.
    """
    for rule in rules:
        found = _evaluated(rule, resource)
        if found is not None:
            yield found._replace(observed_generation=generation)


def _evaluated(rule: Body, resource: Body) -> Condition | None:
    kind, condition = text(rule, "type"), text(rule, "condition")
    if kind == "WellKnownConditions":
        of = text(resource, "apiVersion"), text(resource, "kind"), condition
        if of not in WELL_KNOWN:
            return None
        told = text(rule, "messageExpression")
        own = {"messageExpression": told} if told else {}
        rule = {"condition": condition, **WELL_KNOWN[of], **own}
    elif kind != "CEL":
        return Condition(condition, "Unknown", INVALID, f"unrecognized condition rule type {kind}")
    try:
        result = all(_boolean(one, resource) for one in strings(rule, "celExpressions"))
    except UserError as error:
        return Condition(condition, "False", FAILED, error.message)
    status = "True" if result else "False"
    return Condition(
        condition, status, EVALUATED, _message(rule, condition, resource, result=result)
    )


def _message(rule: Body, condition: str, resource: Body, *, result: bool) -> str:
    expression = text(rule, "messageExpression")
    written = text(rule, "message") or f"Manifest is {'' if result else 'not '}{condition}"
    if not expression:
        return written
    try:
        # Unlike upstream: what a Secret holds reaches no message.
        seen = without_secrets(resource, HIDDEN_IN_CONDITIONS)
        found = _value(expression, {"object": seen, "result": result})
    except UserError as error:
        return error.message
    if isinstance(found, str) and not found:
        return written
    if isinstance(found, str):
        return str(found)
    kind = _type_of(found)
    return f"expected message expression to have a string result, got {kind}"


def _boolean(expression: str, resource: Body) -> bool:
    found = _value(expression, {"object": resource})
    if isinstance(found, engine().celtypes.BoolType):
        return bool(found)
    raise UserError(f"expected bool result, got {_type_of(found)}")


def _type_of(value: object) -> str:
    """Return what Go calls the type of a value."""
    name = type(value).__name__.removesuffix("Type").lower()
    return {"int": "int64", "uint": "uint64", "double": "float64"}.get(name, name)


def _value(expression: str, variables: Mapping[str, object]) -> object:
    """Return the value of an expression.

    Raises:
        UserError: It has none.
    """
    celpy = engine()
    context = {name: celpy.json_to_cel(value) for name, value in variables.items()}
    functions = {**FUNCTIONS, "hasConditions": _has_conditions}
    try:
        tree = runner().parse(expression)
        return unwrapped(runner().evaluate(tree, functions, context, Meter(STEPS)))
    except celpy.CELParseError as error:
        place = f"{error.line or 1}:{error.column or 1}"
        raise UserError(f"ERROR: <input>:{place}: Syntax error") from None
    except celpy.CELEvalError as error:
        raise UserError(_as_upstream(error)) from None


def _as_upstream(error: Exception) -> str:
    """Return the message of an error as cel-go has it; the library's own may hold the resource.

    Source: cel-go common/types/err.go, and `Error` of each operation.
    """
    message, kind, *_ = (*error.args, Exception)
    found = _NO_KEY.fullmatch(str(message))
    if found is not None:
        return f"no such key: {cut(found[1])}"
    called = _NO_FUNCTION.match(str(message))
    if called is not None:
        return f"undeclared reference to '{cut(called[1])}' (in container '')"
    kinds = (one for one in _ERRORS if isinstance(kind, type) and issubclass(kind, one))
    return _ERRORS.get(next(kinds, Exception), "the expression has no value")


_ERRORS: Mapping[type[Exception], str] = {
    ZeroDivisionError: "division by zero",
    KeyError: "no such key",
    IndexError: "index out of bounds",
    TypeError: "no such overload",
    ValueError: "a value cannot be converted, or is out of range",
}


def _has_conditions(status: object) -> object:
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    return engine().celtypes.BoolType(bool(listed))


def aggregate(manifests: Sequence[Body], kept: frozenset[str]) -> Iterator[Condition]:
    """Yield the conditions of a ManifestWork that follow from those of its manifests, by type.

    Args:
        manifests: Their statuses.
        kept: Types that have owners of their own.
    """
    found: dict[str, list[Body]] = {}
    for manifest in manifests:
        for one in bodies(manifest, "conditions"):
            if text(one, "reason").startswith("ConditionRule") and text(one, "type") not in kept:
                found.setdefault(text(one, "type"), []).append(one)
    for kind in sorted(found):
        statuses = {text(one, "status") for one in found[kind]}
        # of what progresses one is enough, of all else every one is asked
        order = (
            ("True", "Unknown", "False")
            if kind == "Progressing"
            else (
                "False",
                "Unknown",
                "True",
            )
        )
        status = next(one for one in order if one in statuses)
        count = len(found[kind])
        several = f"Aggregated from {count} manifest conditions"
        message = text(found[kind][0], "message") if count == 1 else several
        yield Condition(kind, status, AGGREGATED, message)
