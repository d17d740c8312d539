"""The family of KubeFleet's admission: its CRDs and webhooks against what `validate` says."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import cast

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.dialects.kubefleet.api.admission import refuse_old_edit, refuse_transition
from reconciler.dialects.kubefleet.api.binding import decode_binding
from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior
from reconciler.dialects.kubefleet.api.override_admission import (
    refuse_budget_for,
    refuse_eviction,
    refuse_many,
    refuse_taken,
)
from reconciler.dialects.kubefleet.api.placement import decode_placement, mutated, with_defaults
from reconciler.dialects.kubefleet.api.snapshots import is_latest
from reconciler.dialects.kubefleet.drift_repair import (
    refuse_change,
    refuse_departure,
    with_kept_fields,
)
from reconciler.dialects.kubefleet.snapshots.overrides import (
    MemberLabels,
    Override,
    OverrideTarget,
    PickedOverrides,
    decode_override,
    overrides_of_cluster,
    overrides_of_placement,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import snapshot_group
from reconciler.dialects.kubefleet.snapshots.selection import ENVELOPES
from reconciler.dialects.kubefleet.workgenerator.content import targets_of
from reconciler.dialects.kubefleet.workgenerator.renderer import (
    MemberRendering,
    is_rendered,
    render_binding,
)
from reconciler.dialects.renderer import ClusterWork
from reconciler.errors import Misconfigured, UserError
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.fields import bodies, mapping, strings
from reconciler.model.fields import text as fields_text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.labels import labels_of
from reconciler.shell.resources import load_schemas
from tests.builders import Body, text
from tests.conformance.direct.kubefleet import HUB
from tests.conformance.door.door import LeftOut, field, items
from tests.conformance.judgements import first_difference
from tests.crds.kubefleet_rules import refuse_other_eviction, refuse_other_placement

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


OVERRIDES = ("clusterResourceOverrideSnapshots", "resourceOverrideSnapshots")
NONE_LEFT = "No override rules are configured for the selected resources"
SUCCEEDED = "Successfully applied the override rules on the resources"


def check_override(case: Body) -> str | None:
    """Compare what matches, what is picked, what comes of the overrides, and the Works.

    A Work that stays as it is has no content in the vectors; only its name is compared.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    overrides = sorted(
        (one for name in OVERRIDES for one in _overrides(given, name)),
        key=lambda one: (one[0].namespace, one[0].snapshot),
    )
    answer: dict[str, object] = {}
    try:
        picked = _picked(given, overrides, answer)
    except UserError as error:
        kind = "unexpected-behavior" if isinstance(error, UnexpectedBehavior) else "user"
        answer["picked"] = {"error": {"kind": kind}}
        picked = None
    if picked is not None:
        answer |= _worked(given, picked)
    return first_difference(*_in_brief(expected, answer))


def _overrides(given: Body, field: str) -> Iterable[tuple[Override, bool]]:
    """Yield each override, and whether it is the latest of its name."""
    for body in cast(list[Body], given[field]):
        metadata = mapping(body, "metadata")
        name, namespace = fields_text(metadata, "name"), fields_text(metadata, "namespace")
        spec = mapping(mapping(body, "spec"), "overrideSpec")
        yield decode_override(ObjectKey("", "", namespace, name), spec, name), is_latest(body)


def _picked(
    given: Body, overrides: list[tuple[Override, bool]], answer: dict[str, object]
) -> list[Override] | None:
    """Return the overrides for the cluster, `None` if there is no cluster; note them."""
    binding = cast(Body, given["binding"])
    if given["mode"] == "work":
        spec = mapping(binding, "spec")
        names = {("", name) for name in strings(spec, OVERRIDES[0])}
        names |= {
            (fields_text(o, "namespace"), fields_text(o, "name"))
            for o in bodies(spec, OVERRIDES[1])
        }
        return [one for one, _ in overrides if (one.namespace, one.snapshot) in names]
    latest = [one for one, is_last in overrides if is_last]
    matched = _matched(given, latest) if latest else []
    answer["matched"] = _told(matched)
    member = _member(given)
    if matched and member is None:
        answer["picked"] = {"error": {"kind": "expected-behavior"}}
        return None
    picked = overrides_of_cluster(matched, member) if member is not None else []
    answer["picked"] = _told(picked)
    return picked


def _matched(given: Body, latest: list[Override]) -> list[Override]:
    binding = decode_binding(cast(Body, given["binding"]))
    group = snapshot_group(binding.resource_snapshot, cast(list[Body], given["resourceSnapshots"]))
    targets = [
        target
        for snapshot in group
        for one in bodies(mapping(snapshot, "spec"), "selectedResources")
        for target in targets_of(one, is_namespaced)
    ]
    scope = f"{binding.namespace}/" if binding.namespace else ""
    placement = f"{scope}{binding.labels['kubernetes-fleet.io/parent-CRP']}"
    return overrides_of_placement(latest, placement, targets, is_namespaced)


def is_namespaced(target: OverrideTarget) -> bool:
    """Whether the hub of the vectors serves a kind as namespaced; one that it lacks counts so."""
    kind = target.group, target.kind
    return {**HUB.scopes, **ENVELOPES}.get(kind, True)


def _told(overrides: list[Override]) -> Body:
    return {"error": None, **{name: [] for name in OVERRIDES}, **PickedOverrides(overrides).lists}


def _member(given: Body) -> MemberLabels | None:
    members = cast(list[Body], given["memberClusters"])
    target = decode_binding(cast(Body, given["binding"])).target
    found = (one for one in members if mapping(one, "metadata")["name"] == target)
    member = next(found, None)
    return None if member is None else MemberLabels(ClusterName(target), labels_of(member))


def _worked(given: Body, picked: list[Override]) -> Body:
    """Return what comes of the overrides, and the Works."""
    binding = decode_binding(cast(Body, given["binding"]))
    member = _member(given)
    before = [
        fields_text(mapping(one, "metadata"), "name") for one in cast(list[Body], given["works"])
    ]
    if not is_rendered(binding) or member is None:
        return {"works": before}
    rendering = MemberRendering(member, picked, lambda entry: entry.body, is_namespaced)
    snapshots = cast(list[Body], given["resourceSnapshots"])
    try:
        works = render_binding(binding, snapshots, rendering)
    except UserError as error:
        return {"said": _said(error.message), "works": before}
    return {"said": SUCCEEDED if picked else NONE_LEFT, "works": [_work(one) for one in works]}


def _work(work: ClusterWork) -> Body:
    """Return a Work in the words of the vectors."""
    metadata, spec = mapping(work.carrier, "metadata"), mapping(work.carrier, "spec")
    applied = {name: spec[name] for name in ("applyStrategy",) if name in spec}
    return {**metadata, **applied, "manifests": list(work.manifests.values())}


def _said(message: str) -> str:
    """Return a message without what libraries say, which ends it."""
    if "label key" in message or "wrapped in" in message:
        return message
    end = '": ' if "failed to apply on" in message else ": "
    return message.partition(end)[0]


def _in_brief(expected: Body, answer: Body) -> tuple[Body, Body]:
    """Return both with the Works that stay as they are by name alone, in one order."""
    told: dict[str, object] = {}
    for step in ("matched", "picked"):
        if step in expected:
            one = cast(Body, expected[step])
            error = cast(Body | None, one["error"])
            told[step] = one if error is None else {"error": {"kind": error["kind"]}}
    if "works" not in expected:
        return told, answer
    works = [one for one in cast(list[Body], expected["works"]) if one["op"] != "deleted"]
    stay = {one["name"] for one in works if one["op"] == "none"}
    kept = [{k: v for k, v in one.items() if k != "op"} for one in works]
    said = [one["message"] for one in _outcome(expected)]
    told |= {"said": _said(str(said[0]))} if said else {}
    told["works"] = _named(kept, stay)
    return told, {**answer, "works": _named(cast(list[Body | str], answer["works"]), stay)}


def _outcome(expected: Body) -> list[Body]:
    """Return the condition that says what came of the overrides: one that is False first."""
    found = bodies(cast(Body, expected["binding"]), "conditions")
    kinds = ("Overridden", "WorkSynchronized")
    asked = [one for one in found if one["type"] in kinds]
    return sorted(asked, key=lambda one: (one["status"], one["type"]))


def _named(works: Iterable[Body | str], stay: Container[object]) -> list[object]:
    """Return Works by name, those that stay by their name alone."""
    names = {one if isinstance(one, str) else str(one["name"]): one for one in works}
    return [name if name in stay else names[name] for name in sorted(names)]
