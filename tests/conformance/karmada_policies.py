"""The families of Karmada's policies: matching, admission, the binding of a template."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from reconciler.dialects.karmada.api.admission import refuse_policy
from reconciler.dialects.karmada.api.defaults import mutated
from reconciler.dialects.karmada.api.policies import decode_policy, template_of
from reconciler.dialects.karmada.detector.binding_draft import (
    claimant,
    draft_binding,
)
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.shell.resources import load_schemas
from tests.builders import manifest, policies_among
from tests.conformance.compare import first_difference

Body = Mapping[str, object]

UPSTREAM_ONLY = ("finalizers", "labels")
"""Metadata of upstream's bindings that has no counterpart, or another form, here.

No finalizer: a file goes when git removes it. Permanent ids are derived from the policy's identity,
while upstream draws them at random, so only their presence is compared.
"""


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
    actual = [] if claimed is None else [_claim(claimed.key)]
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
    wanted = {_parent(str(error["field"])) for error in cast(Sequence[Body], expected["errors"])}
    found = {_parent(violation.pointer.lstrip("/")) for violation in violations}
    return difference or first_difference(sorted(wanted), sorted(found), ".fields")


def _parent(field: str) -> str:
    """The list or object that a field belongs to: upstream points at an item or at its list."""
    parts = re.split(r"[./\[\]]+", field.strip("]"))
    return next((part for part in parts if part in _PARENTS), field)


_PARENTS = (
    "clusterAffinities",
    "propagateDeps",
    "resourceSelectors",
    "spreadConstraints",
    "suspension",
    "workloadAffinity",
)


def check_bindingfromtemplate(case: Body) -> str | None:
    """Compare the binding of a template, but for what has no counterpart in a repository.

    Left aside are uids (derived from the identity here), the resourceVersion of the template, which
    would change with each commit, finalizers, and the values of permanent ids.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    template = template_of(manifest(cast(Body, given["template"])))
    policy = decode_policy(manifest(cast(Body, given["policy"])), ())
    try:
        draft = draft_binding(template, policy, None, {})
    except UserError as error:
        return first_difference(expected.get("error"), error.message, ".error")
    if "error" in expected:
        return f"expected the error {expected['error']!r}"
    wanted = cast(Mapping[str, Mapping[str, object]], expected["binding"])
    metadata: dict[str, object] = {"name": draft.key.name}
    metadata |= {"namespace": draft.key.namespace} if draft.key.namespace else {}
    metadata |= {"annotations": draft.annotations, "ownerReferences": draft.owners}
    actual = {"kind": draft.key.kind, "metadata": metadata, "spec": draft.spec}
    labels = cast(Mapping[str, str], wanted["metadata"].get("labels", {}))
    return first_difference(sorted(labels), sorted(draft.labels), ".labels") or first_difference(
        _without_ids(
            {
                "kind": wanted["kind"],
                "metadata": _without(wanted["metadata"], UPSTREAM_ONLY),
                "spec": wanted["spec"],
            }
        ),
        _without_ids(_without_defaults(actual, cast(Body, given["policy"]))),
    )


def _without(body: Body, names: Sequence[str]) -> Body:
    return {key: value for key, value in body.items() if key not in names}


def _without_defaults(actual: Body, policy: Body) -> Body:
    """Leave out what the policy's CRD defaults added: the vectors saw no API server."""
    asked = cast(Body, policy["spec"])
    spec = cast(Body, actual["spec"])
    added = [name for name in ("schedulerName", "conflictResolution") if name not in asked]
    return {**actual, "spec": _without(spec, added)}


def _without_ids(value: object) -> object:
    """The value without uids and resourceVersions, at any depth."""
    if isinstance(value, Mapping):
        kept = _without(value, ("uid", "resourceVersion"))
        return {key: _without_ids(item) for key, item in kept.items()}
    if isinstance(value, list):
        return [_without_ids(item) for item in value]
    return value
