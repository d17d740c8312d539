"""The families of Karmada's policies: matching, admission, the binding of a template."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import cast

from reconciler.dialects.karmada.api.admission import refuse_policy
from reconciler.dialects.karmada.api.binding_spec import encode_spec
from reconciler.dialects.karmada.api.policy import decode_policy, mutated, template_of
from reconciler.dialects.karmada.api.workload import UPSTREAM_ONLY
from reconciler.dialects.karmada.detector.binding_draft import claimant, draft_binding
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.shell.resources import load_schemas
from tests.builders import Body, manifest, policies_among
from tests.conformance.compare import first_difference
from tests.conformance.judgements import FIELDS_NAMED, FORGIVEN, LEFT_ASIDE


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
