"""The family karmada/admission: what the API server and the webhooks refuse."""

from collections.abc import Mapping
from typing import cast

from reconciler.core.admissions import ADMISSIONS
from reconciler.manifests.violations import Violation
from reconciler.model.fields import text
from reconciler.model.identity import group_of
from reconciler.shell.resources import load_schemas
from tests.conformance.compare import first_difference

Body = Mapping[str, object]


def check_admission(case: Body) -> str | None:
    """Compare whether an object is admitted, where the CRD and the webhooks have both answered.

    An API server fills in and drops fields before it asks; only its answer is compared. Vectors of
    kinds that are not read, and of deletions, are not among the fixtures.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    answer = cast(Body, expected.get("withCRD", expected))
    violations = _violations(cast(Body, given["object"]))
    why = "; ".join(f"{one.pointer} {one.rule}" for one in violations)
    difference = first_difference(answer["accepted"], not violations, ".accepted")
    return f"{difference} {why}".rstrip() if difference else None


def _violations(body: Body) -> tuple[Violation, ...]:
    """What `validate` has to say of an object: its schema first, then its webhooks."""
    schemas = load_schemas()
    version, kind = text(body, "apiVersion"), text(body, "kind")
    judged = schemas.judge(body)
    refuse = ADMISSIONS[group_of(version), kind]
    return judged.violations or refuse(judged.body)
