"""What the runner forgives or leaves aside, read from exceptions.json with the reasons."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

HERE = Path(__file__).parent
JUDGEMENTS: Mapping[str, object] = json.loads((HERE / "exceptions.json").read_text())
Reasons = Mapping[str, str]

CASES = cast(Reasons, JUDGEMENTS["cases"])
"""Vectors that are answered otherwise, by `dialect/family:name`."""

LEFT_OUT = cast(Reasons, JUDGEMENTS["leftOut"])
"""Why a vector cannot be written as a repository, by the name that the front door gives."""

REFUSED = cast(Mapping[str, Mapping[str, str | Sequence[str]]], JUDGEMENTS["refused"])
"""Rule to the vectors of which an input is refused, as upstream refuses it; none of those rules
that `upstream_refusals` knows."""

NO_DOOR = cast(Reasons, JUDGEMENTS["noFrontDoor"])
"""Families of which no vector is written as a repository."""

NOT_COMPARED = cast(Mapping[str, Reasons], JUDGEMENTS["notCompared"])
"""Family to the fields of `expected` that are not compared; `*` stands for every family."""

NOT_COMPARED_AT_THE_DOOR = cast(Mapping[str, Reasons], JUDGEMENTS["notComparedAtTheDoor"])
"""Family to the fields of `expected` that are compared directly and not after a pass."""

ONLY_AT_THE_DOOR = cast(Mapping[str, Reasons], JUDGEMENTS["onlyAtTheDoor"])
"""Family to the fields of `expected` that are compared after a pass only."""

FORGIVEN = cast(Mapping[str, Reasons], JUDGEMENTS["forgiven"])
"""Family to what may differ although it is compared."""

LATER_STEPS = cast(Sequence[Mapping[str, Sequence[str]]], JUDGEMENTS["laterSteps"])
"""Vectors of karmada/schedule of which a later step of upstream changes some parts, and why."""

LEFT_ASIDE = cast(Mapping[str, Reasons], JUDGEMENTS["bindingFields"])
"""What of the binding of a template is left aside."""

FIELDS_NAMED = cast(Mapping[str, Reasons], JUDGEMENTS["fieldsNamed"])
"""Policies of which a refusal names other fields than upstream, by the name of the vector."""


def forgives(family: str, what: str) -> bool:
    """Return whether a family is forgiven something, for a reason that is written down."""
    return what in FORGIVEN.get(family, {})


def changed_later(name: str) -> Sequence[str]:
    """Return the parts of a vector of karmada/schedule that a later step of upstream changes."""
    return [part for item in LATER_STEPS if name in item["cases"] for part in item["parts"]]


def refusal_of(key: str) -> str:
    """Return the rule that is said to refuse a vector, `""` for none."""
    return next((rule for rule, item in REFUSED.items() if key in item["cases"]), "")


def first_difference(expected: object, actual: object, path: str = "") -> str | None:
    """Return where and how two values differ, `None` if they are equal."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in sorted({*expected, *actual}):
            if key not in expected or key not in actual:
                side = "not expected" if key not in expected else "missing"
                return f"{path}.{key}: {side}"
            found = first_difference(expected[key], actual[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for place, (one, other) in enumerate(zip(expected, actual, strict=True)):
            found = first_difference(one, other, f"{path}[{place}]")
            if found:
                return found
        return None
    if expected == actual:
        return None
    return f"{path}: expected {expected!r}, got {actual!r}"
