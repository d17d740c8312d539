"""Conditions of a manifest that follow from the state of its resource, by rules in CEL.

Source: ocm@00f84c3 pkg/work/spoke/conditions.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from reconciler.dialects.ocm.cel.budget import Meter
from reconciler.dialects.ocm.cel.evaluator import evaluate
from reconciler.dialects.ocm.cel.expression import FAILED as NOT_COMPILED
from reconciler.dialects.ocm.cel.expression import compiled
from reconciler.dialects.ocm.cel.library import STANDARD, Functions, overload
from reconciler.dialects.ocm.cel.types import BOOL, DYN
from reconciler.dialects.ocm.cel.values import NAMES, CelError, to_cel, unwrapped
from reconciler.errors import Misconfigured, UserError
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS, is_secret, without_secrets
from reconciler.model.body import Body
from reconciler.model.conditions import Condition
from reconciler.model.fields import bodies, strings, text

EVALUATED, FAILED, INVALID = (
    f"ConditionRule{word}" for word in ("Evaluated", "ExpressionError", "Invalid")
)
AGGREGATED = "ConditionRulesAggregated"
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
    if isinstance(found, bool):
        return found
    raise UserError(f"expected bool result, got {_type_of(found)}")


def _type_of(value: object) -> str:
    """Return what Go calls the type of a value."""
    name = NAMES[type(value)]
    return {"int": "int64", "uint": "uint64", "double": "float64"}.get(name, name)


def _value(expression: str, variables: Mapping[str, object]) -> object:
    """Return the value of an expression.

    Raises:
        UserError: It has none; the message is as cel-go has it, and holds no value.
    """
    types = {name: BOOL if name == "result" else DYN for name in variables}
    try:
        tree = compiled(expression, types, FUNCTIONS)
        known = {name: to_cel(value) for name, value in variables.items()}
        return unwrapped(evaluate(tree, FUNCTIONS, known, Meter(STEPS)))
    except Misconfigured as error:
        raise UserError(error.message.removeprefix(NOT_COMPILED)) from None
    except CelError as error:
        said, colon, _ = str(error).partition(": ")
        # Unlike upstream: of a Secret no key is told, since one may be a value.
        hidden = colon and is_secret(cast("Body", variables["object"]))
        raise UserError(f"{said}: {HIDDEN_IN_CONDITIONS}" if hidden else str(error)) from None


def _has_conditions(status: object) -> bool:
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    return bool(listed)


FUNCTIONS: Functions = {
    **STANDARD,
    "hasConditions": (overload("(dyn) -> bool", _has_conditions),),
}


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
