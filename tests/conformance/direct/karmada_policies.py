"""The families of Karmada's policies: matching, admission, the binding of a template."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import cast

from reconciler.core.inputs.admissions import ADMISSIONS, UPDATES
from reconciler.dialects.karmada.api.admission import refuse_policy, refuse_taint_policy
from reconciler.dialects.karmada.api.binding_spec import encode_spec
from reconciler.dialects.karmada.api.cluster_admission import mutated_cluster
from reconciler.dialects.karmada.api.override_admission import mutated_override
from reconciler.dialects.karmada.api.policy import admitted, decode_policy, mutated, template_of
from reconciler.dialects.karmada.api.workload import UPSTREAM_ONLY
from reconciler.dialects.karmada.detector.binding_draft import claimant, draft_binding
from reconciler.errors import UserError
from reconciler.manifests.schemas.schema import Judged
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.shell.resources import load_schemas
from tests.builders import Body, manifest, policies_among
from tests.conformance.door.door import LeftOut
from tests.conformance.judgements import (
    FIELDS_NAMED,
    FORGIVEN,
    LEFT_ASIDE,
    first_difference,
    forgives,
)


def check_policymatch(case: Body) -> str | None:
    """Compare the claim; upstream's transient errors and random ids are left aside.

    The claim stands on the template upstream and on the binding here, since a person's file is
    never rewritten.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    template = manifest(cast(Body, given["template"]))
    policies = [manifest(body) for body in cast(Sequence[Body], given["policies"])]
    known, present = policies_among(policies), claimant(template.body)
    if given["policyEvents"] is True:
        preempting = given["preemptionFeatureGate"] is True
        present = known.release(template_of(template), present, preempting=preempting)
    claimed = known.elect(template_of(template), present)
    return compare_claim(expected, None if claimed is None else claimed.key)


def compare_claim(expected: Body, key: ObjectKey | None) -> str | None:
    """Compare the policy that claims a template with any that upstream may choose."""
    actual = [] if key is None else [_claim(key)]
    if "claimAnyOf" in expected:
        choices = cast(Sequence[object], expected["claimAnyOf"])
        return None if actual in choices else f".claim: got {actual!r}"
    return first_difference(expected["claim"], actual, ".claim")


def _claim(key: ObjectKey) -> dict[str, str]:
    scope = {"namespace": key.namespace} if key.namespace else {}
    return {"kind": key.kind, **scope, "name": key.name}


def check_policyadmission(case: Body) -> str | None:
    """Compare validity, the spec as mutated, and the fields pointed at; sentences are ours."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    body = cast(Body, given["policy"])
    spec = mutated(manifest(body).key, cast(Body, body["spec"]))
    changed = {**body, "spec": spec}
    violations = load_schemas().judge(changed).violations or refuse_policy(changed)
    difference = first_difference(
        {"spec": expected["spec"], "valid": expected["valid"]},
        {"spec": spec, "valid": not violations},
    )
    return difference or compare_fields(case, [violation.pointer for violation in violations])


def compare_fields(case: Body, pointers: Iterable[str]) -> str | None:
    """Compare all fields that a refusal names with upstream's, or those that exceptions.json says.

    A case that is listed there names other fields than upstream does.
    """
    errors = cast(Sequence[Body], cast(Body, case["expected"])["errors"])
    theirs = sorted(_pointer(str(error["field"])) for error in errors)
    ours = sorted(FIELDS_NAMED.get(str(case["name"]), theirs))
    if ours == theirs and case["name"] in FIELDS_NAMED:
        return ".fields: upstream names the same, so exceptions.json need not"
    return first_difference(ours, sorted(pointers), ".fields")


def _pointer(field: str) -> str:
    """Upstream's path of a field as a JSON pointer."""
    return "/" + "/".join(part for part in re.split(r"[.\[\]]+", field) if part)


def check_bindingfromtemplate(case: Body) -> str | None:
    """Compare the binding of a template, but for what has no counterpart in a repository.

    Left aside are uids (derived from the identity here), the resourceVersion of the template, which
    would change with each commit, finalizers, and the values of permanent ids.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    template = template_of(manifest(cast(Body, given["template"])))
    policy = decode_policy(manifest(cast(Body, given["policy"])), ())
    try:
        draft = draft_binding(template, policy, None, {}, UPSTREAM_ONLY)
    except UserError as error:
        return first_difference(expected.get("error"), error.message, ".error")
    if "error" in expected:
        return f"expected the error {expected['error']!r}"
    metadata: dict[str, object] = {"name": draft.key.name}
    metadata |= {"namespace": draft.key.namespace} if draft.key.namespace else {}
    metadata |= {"annotations": draft.annotations, "ownerReferences": draft.owners}
    actual = {"kind": draft.key.kind, "metadata": metadata, "spec": encode_spec(draft.spec)}
    return compare_binding(expected, actual, list(draft.labels), cast(Body, given["policy"]))


def compare_binding(
    expected: Body, actual: Body, labels: Sequence[str], policy: Body
) -> str | None:
    """Compare a binding with upstream's, but for what exceptions.json leaves aside."""
    wanted = cast(Mapping[str, Mapping[str, object]], expected["binding"])
    names = cast(Mapping[str, str], wanted["metadata"].get("labels", {}))
    return first_difference(sorted(names), sorted(labels), ".labels") or first_difference(
        _without_ids(
            {
                "kind": wanted["kind"],
                "metadata": _without(wanted["metadata"], LEFT_ASIDE["metadata"]),
                "spec": wanted["spec"],
            }
        ),
        _without_ids(_without_defaults(actual, policy)),
    )


def _without(body: Body, names: Container[str]) -> Body:
    return {key: value for key, value in body.items() if key not in names}


def _without_defaults(actual: Body, policy: Body) -> Body:
    """Leave out what the policy's CRD defaults added: the vectors saw no API server."""
    asked = cast(Body, policy["spec"])
    spec = cast(Body, actual["spec"])
    added = [name for name in FORGIVEN["karmada/bindingfromtemplate"] if name not in asked]
    return {**actual, "spec": _without(spec, added)}


def _without_ids(value: object) -> object:
    """The value without uids and resourceVersions, at any depth."""
    if isinstance(value, Mapping):
        kept = _without(value, LEFT_ASIDE["anywhere"])
        return {key: _without_ids(item) for key, item in kept.items()}
    if isinstance(value, list):
        return [_without_ids(item) for item in value]
    return value


FAMILY = "karmada/admission"


def check_admission(case: Body) -> str | None:
    """Compare whether an object is admitted, where the CRD and the webhooks have both answered.

    An API server fills in and drops fields before it asks; only its answer is compared, and the
    spec that it stores.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["operation"] == "DELETE":
        raise LeftOut("deletion")
    answer = cast(Body, expected.get("withCRD", expected))
    judged = _judged(cast(Body, given["object"]), no_execute=given.get("allowNoExecuteTaintPolicy"))
    if not judged.violations and "oldObject" in given:
        judged = _updated(cast(Body, given["oldObject"]), judged)
    why = "; ".join(f"{one.pointer} {one.rule}" for one in judged.violations)
    difference = first_difference(answer["accepted"], not judged.violations, ".accepted")
    if difference or "object" not in answer:
        return f"{difference} {why}".rstrip() if difference else None
    stored = _without_forgiven(cast(Body, answer["object"]), judged.body)
    return first_difference(stored, _stored(judged.body), ".object.spec")


def _without_forgiven(stored: Body, body: Body) -> Body:
    """The spec that upstream stores, without what exceptions.json forgives of it."""
    spec = dict(mapping(stored, "spec"))
    if forgives(FAMILY, "nine models") and not bodies(mapping(body, "spec"), "resourceModels"):
        spec.pop("resourceModels", None)
    if forgives(FAMILY, "dated taints") and body["kind"] == "Cluster" and "taints" in spec:
        spec["taints"] = [
            {name: one for name, one in taint.items() if one != "NOW"}
            for taint in bodies(spec, "taints")
        ]
    return spec


def _judged(body: Body, *, no_execute: object) -> Judged:
    """What `validate` has to say of an object: its schema first, then its webhooks."""
    judged = load_schemas().judge(body)
    if judged.violations:
        return judged
    if body["kind"] == "ClusterTaintPolicy":
        found = refuse_taint_policy(judged.body, no_execute=no_execute is True)
    else:
        found = ADMISSIONS[group_of(text(body, "apiVersion")), text(body, "kind")](judged.body)
    return Judged(judged.body, found)


def _updated(before: Body, judged: Judged) -> Judged:
    """What a pass has to say of an edit."""
    refuse = UPDATES.get((group_of(text(before, "apiVersion")), text(before, "kind")))
    return judged if refuse is None else Judged(judged.body, refuse(before, judged.body))


def _stored(body: Body) -> Body:
    """The spec of an object as an API server stores it."""
    spec = mapping(body, "spec")
    match body["kind"]:
        case "PropagationPolicy" | "ClusterPropagationPolicy":
            return admitted(manifest(body).key, spec)
        case "Cluster":
            return mutated_cluster(spec)
        case "OverridePolicy":
            return mutated_override(body)
    return spec
