"""What Karmada's API server makes of a cluster: zones as a list, sizes of nodes in order."""

from collections.abc import Sequence

from reconciler.model.body import Body
from reconciler.model.fields import bodies, number, strings, text
from reconciler.model.quantity import MAX_VALUE, parse_quantity


def mutated_cluster(spec: Body) -> Body:
    """Return the spec of a cluster as the API server stores it.

    Unlike upstream: a cluster without resource models gets none. Upstream fills in nine of them
    when a cluster is created and not when it is edited, which a file does not tell apart.
    What is empty is left out, as Go does when it writes a cluster.

    Source: karmada@f8fdd02 pkg/registry/cluster/strategy.go `PrepareForCreate`, `Canonicalize`.
    """
    changed = dict(spec)
    if text(spec, "zone") and not strings(spec, "zones"):
        changed["zones"] = [text(spec, "zone")]
        del changed["zone"]
    models = bodies(spec, "resourceModels")
    if models:
        changed["resourceModels"] = list(standardised(models))
    return {name: one for name, one in changed.items() if one not in ("", [], None)}


def standardised(models: Sequence[Body]) -> tuple[Body, ...]:
    """Return resource models by grade, from nothing to without limit.

    Source: karmada@f8fdd02 pkg/apis/cluster/mutation/mutation.go
    `StandardizeClusterResourceModels`.
    """
    told: list[Body] = [{"ranges": None, **model} for model in models]
    ordered = sorted(told, key=lambda model: number(model, "grade"))
    if ordered:
        ordered[0] = _with(ordered[0], "min", "0")
        ordered[-1] = _with(ordered[-1], "max", str(MAX_VALUE))
    return tuple(ordered)


def _with(model: Body, bound: str, amount: str) -> Body:
    """Return a grade with one bound of all its ranges."""
    return {**model, "ranges": [{**one, bound: amount} for one in bodies(model, "ranges")] or None}


def models_fault(models: Sequence[Body]) -> str | None:
    """Return the first thing that resource models must be and are not, `None` if all is well.

    One grade goes up to where the next one begins, written the same way: upstream compares texts,
    so `1Gi` is not `1024Mi`.

    Source: karmada@f8fdd02 pkg/apis/cluster/validation/validation.go
    `ValidateClusterResourceModels`.
    """
    before: tuple[Body, ...] | None = None
    grades: set[int] = set()
    for model in standardised(models):
        ranges, grade = bodies(model, "ranges"), number(model, "grade")
        if grade in grades:
            return f"the grade {grade} must be given once"
        grades.add(grade)
        if before is not None and _names(before) != _names(ranges):
            return "each grade must have the same resources in the same order"
        for one in ranges:
            if _amount(one, "max") <= _amount(one, "min"):
                return f"`max` of {text(one, 'name')} must be greater than `min` in grade {grade}"
        pairs = zip(before or (), ranges, strict=False)
        if any(_written(last, "max") != _written(one, "min") for last, one in pairs):
            return f"grade {grade} must begin where the grade before it ends, written the same way"
        before = ranges
    return None


def _names(ranges: Sequence[Body]) -> list[str]:
    return [text(one, "name") for one in ranges]


def _written(item: Body, name: str) -> str:
    return str(item.get(name, "0"))


def _amount(item: Body, name: str) -> int:
    return parse_quantity(_written(item, name))
