"""The family of KubeFleet's admission: its CRDs and webhooks against what `validate` says."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.dialects.kubefleet.api.admission import refuse_old_edit, refuse_transition
from reconciler.dialects.kubefleet.api.override_admission import (
    refuse_budget_for,
    refuse_eviction,
    refuse_many,
    refuse_other_eviction,
    refuse_other_placement,
    refuse_taken,
)
from reconciler.dialects.kubefleet.api.placement import decode_placement, mutated, with_defaults
from reconciler.dialects.kubefleet.drift_repair import (
    refuse_change,
    refuse_departure,
    with_kept_fields,
)
from reconciler.errors import Misconfigured
from reconciler.manifests.schemas.violations import Violation
from reconciler.shell.resources import load_schemas
from tests.builders import Body, text
from tests.conformance.compare import first_difference
from tests.conformance.door.door import LeftOut, field, items

Refused = Sequence[tuple[str, str]]
"""Field and rule of what is wrong with a manifest."""

RULES = Rules(load_schemas(), ADMISSIONS, KINDS)
PLACEMENT = "ClusterResourcePlacement"
PLACEMENTS = (PLACEMENT, "ResourcePlacement")
DEFAULT_SCOPE = "ClusterScopeOnly"
UNKNOWN = "schema-unknown-field"


def check_admission(case: Body) -> str | None:
    """Compare what is allowed, which fields a CRD refuses, and a placement as it is stored."""
    difference = compare_admission(case, _refused, _changed)
    body = field(case, "input", "object")
    if difference or body["kind"] not in PLACEMENTS:
        return difference
    expected, spec = cast(Body, case["expected"]), field(body, "spec")
    defaulted = expected["afterSchemaDefaults"] or with_defaults({})
    if body["kind"] != PLACEMENT:  # no webhook changes it
        return first_difference({"defaulted": defaulted}, {"defaulted": with_defaults(spec)})
    return first_difference(
        {"defaulted": defaulted, "mutated": expected.get("afterMutation", defaulted)},
        {"defaulted": with_defaults(spec), "mutated": mutated(spec)},
    )


def compare_admission(
    case: Body, refused: Callable[[Body], Refused], changed: Callable[[Body, Body], Refused]
) -> str | None:
    """Compare what is allowed, and in which fields a CRD finds what is wrong.

    Args:
        case: The vector.
        refused: Says what is wrong with a manifest by itself.
        changed: Says what must not have changed, of the manifest before and the one now.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    body, before = field(given, "object"), field(given, "oldObject")
    if given["operation"] == "DELETE":
        raise LeftOut("deletion")
    if before and refused(before):
        raise LeftOut("mended")
    found = refused(body) or (changed(before, body) if before else ()) or _beside(case)
    _leave_out(before, body, found, expected)
    if expected["allowed"] == bool(found):
        return f".allowed: expected {expected['allowed']}, refused are {found}"
    if expected["stage"] != "schema":
        return None
    theirs = {_pointer(str(error["field"])) for error in items(expected, "errors")} - {"/<nil>"}
    return _compare_fields(theirs, found) if theirs else None


def _leave_out(before: Body, body: Body, found: Refused, expected: Body) -> None:
    """Raise `LeftOut` where a repository is another thing than the storage of a hub."""
    if expected["allowed"] and any(rule == UNKNOWN for _, rule in found):
        raise LeftOut("dropped-field")
    if before and field(before, "metadata")["name"] != field(body, "metadata")["name"]:
        raise LeftOut("renamed")
    if before and body["kind"] == PLACEMENT and _scope(before) == DEFAULT_SCOPE != _scope(body):
        raise LeftOut("unremembered")
    kinds = {
        (one.get("group", ""), one["kind"]) for one in items(body, "spec", "resourceSelectors")
    }
    if expected["stage"] == "webhook" and not kinds <= set(KINDS.scopes):
        raise LeftOut("unknown-kind")


def _scope(body: Body) -> object:
    return field(body, "spec").get("statusReportingScope", DEFAULT_SCOPE)


def _refused(body: Body) -> Refused:
    checked = validate_file("manifest.yaml", "", text(body).encode(), RULES)
    return [(broken.fault.field, broken.fault.rule) for broken in checked.broken]


def _beside(case: Body) -> Refused:
    """Return what is wrong with an object beside those that exist."""
    given = cast(Body, case["input"])
    body, found = field(given, "object"), items(given, "existing")
    others = [one for one in found if _identity(one) != _identity(body)]
    return [(one.pointer, one.rule) for one in _refused_beside(body, others, given["operation"])]


def _refused_beside(body: Body, others: Sequence[Body], operation: object) -> Iterator[Violation]:
    kind, space = str(body["kind"]), field(body, "metadata").get("namespace")
    alike = [one for one in others if one["kind"] == kind]
    near = [one for one in alike if field(one, "metadata").get("namespace") == space]
    named = {str(field(one, "metadata")["name"]): one for one in others if one["kind"] == PLACEMENT}
    spec = field(body, "spec")
    if kind in ("ClusterResourceOverride", "ResourceOverride"):
        yield from refuse_taken(body, near)
        yield from refuse_many(len(alike)) if operation == "CREATE" else ()
    elif kind == "ClusterResourcePlacementDisruptionBudget":
        name = str(field(body, "metadata")["name"])
        yield from refuse_budget_for(body, named[name]) if name in named else ()
    elif kind == "ClusterResourcePlacementEviction" and operation == "CREATE":
        name = str(spec["placementName"])
        yield from refuse_eviction(body, named[name]) if name in named else ()


def _identity(body: Body) -> tuple[object, ...]:
    metadata = field(body, "metadata")
    return body["kind"], metadata.get("namespace"), metadata["name"]


def _changed(before: Body, after: Body) -> Refused:
    try:
        _refuse_change(before, after)
    except Misconfigured as error:
        return [(error.field, "placement-immutable")]
    return []


def _refuse_change(before: Body, after: Body) -> None:
    specs = field(before, "spec"), field(after, "spec")
    match after["kind"]:
        case "ClusterResourcePlacement" | "ResourcePlacement":
            known, wanted = (decode_placement(one, _namespace(one)) for one in (before, after))
            record = with_kept_fields({}, known)
            refuse_departure(record, wanted)
            refuse_change(record, known.policy, wanted)
        case "ClusterResourceOverride" | "ResourceOverride":
            refuse_other_placement(*specs)
        case "ClusterResourcePlacementEviction":
            refuse_other_eviction(*specs)
        case "ClusterStagedUpdateRun" | "StagedUpdateRun":
            old = str(after["apiVersion"]).endswith("/v1alpha1")
            refuse = refuse_old_edit if old else refuse_transition
            refuse(*specs)


def _namespace(body: Body) -> str:
    return str(field(body, "metadata").get("namespace", ""))


def _compare_fields(theirs: set[str], found: Refused) -> str | None:
    """Compare fields; upstream may name the whole where we name the part, or the reverse."""
    unsaid = sorted(name for name in theirs if not any(_meet(name, at) for at, _ in found))
    added = sorted(at for at, _ in found if not any(_meet(name, at) for name in theirs))
    return first_difference({"unsaid": [], "added": []}, {"unsaid": unsaid, "added": added})


def _meet(theirs: str, ours: str) -> bool:
    return f"{ours}/".startswith(f"{theirs}/") or f"{theirs}/".startswith(f"{ours}/")


def _pointer(name: str) -> str:
    """Upstream's path of a field as a JSON pointer."""
    return "/" + "/".join(part for part in re.split(r"[.\[\]]+", name) if part)
