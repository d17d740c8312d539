"""Karmada's policies through the front door: which one claims a template, and its binding."""

from collections.abc import Mapping
from typing import cast

from reconciler.dialects.karmada.detector.binding_draft import claimant
from tests.builders import NOW, Body, deployment
from tests.conformance.compare import first_difference
from tests.conformance.direct.karmada_policies import compare_binding, compare_claim, compare_fields
from tests.conformance.door.door import (
    LeftOut,
    Passed,
    configuration,
    field,
    fields_refused,
    items,
    walk_in,
)
from tests.conformance.door.karmada import APPLIED
from tests.conformance.door.karmada_files import claim_of, last_binding

WEB = deployment("web")
COPIED = ("failover", "placement", "propagateDeps", "suspension")
"""What a binding has of the spec of its policy."""
OURS = "reconciler.dev/"
KINDS = ("ResourceBinding", "ClusterResourceBinding")


def check_policymatch(case: Body) -> str | None:
    """Compare the policy that the binding of the template belongs to after one pass."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["policyEvents"] is not True:
        raise LeftOut("unheard-edit")
    template = field(given, "template")
    claim = claimant(template)
    present = [] if claim is None else [_claimed(template)]
    settings = configuration(karmada={"preemption": given["preemptionFeatureGate"] is True})
    passed = walk_in([settings, *items(given, "policies"), template], present, NOW)
    found = _binding(passed)
    return compare_claim(expected, None if found is None else claimant(found))


def _claimed(template: Body) -> Body:
    """The binding of a template under the claim that upstream notes on the template itself."""
    metadata = field(template, "metadata")
    scope = {key: metadata[key] for key in ("namespace",) if key in metadata}
    kind = KINDS[0] if scope else KINDS[1]
    resource = {
        **{key: template[key] for key in ("apiVersion", "kind")},
        **scope,
        "name": metadata["name"],
    }
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": kind,
        "metadata": {**scope, "generation": 1},
        "spec": {"resource": resource, "placement": {}},
    }
    return last_binding(binding, template, claim=claim_of(template))


def _binding(passed: Passed) -> Body | None:
    """The one binding that there is, `None` if there is none."""
    found = [body for key, body in passed.outputs.items() if key.kind in KINDS]
    return found[0] if found else None


def check_policyadmission(case: Body) -> str | None:
    """Compare the fields that are refused, or what the binding of a workload has of the spec."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    policy = field(given, "policy")
    if field(policy, "spec", "placement").get("replicaScheduling") == {}:
        raise LeftOut("defaulted-placement")
    refused = fields_refused([configuration(), policy])
    difference = first_difference(expected["valid"], not refused, ".valid")
    difference = difference or compare_fields(case, refused)
    if difference or refused:
        return difference
    passed = walk_in([configuration(), policy, WEB], [], NOW)
    found = _binding(passed)
    if found is None:
        return "there is no binding"
    copied = field(found, "spec")
    wanted = {name: value for name, value in field(expected, "spec").items() if name in COPIED}
    return first_difference(wanted, {name: copied.get(name) for name in wanted}, ".spec")


def check_bindingfromtemplate(case: Body) -> str | None:
    """Compare the binding of a template, but for what only scheduling writes."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    template, policy = field(given, "template"), field(given, "policy")
    selector = {key: template[key] for key in ("apiVersion", "kind")}
    selecting = {**policy, "spec": {**field(policy, "spec"), "resourceSelectors": [selector]}}
    settings = configuration(karmada={"builtInInterpreters": "upstream"})
    passed = walk_in([settings, selecting, template], [], NOW)
    found = _binding(passed)
    if "error" in expected:
        messages = [fault.message for fault in passed.outcome.faults]
        told = any(message.endswith(str(expected["error"])) for message in messages)
        return None if told else f".error: got {messages}"
    if found is None:
        return "there is no binding"
    metadata = field(found, "metadata")
    annotations = cast(Mapping[str, str], field(metadata, "annotations"))
    kept = {
        name: value
        for name, value in annotations.items()
        if name != APPLIED and not name.startswith(OURS)
    }
    named = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    owners = metadata["ownerReferences"]
    actual = {
        "kind": found["kind"],
        "metadata": {**named, "annotations": kept, "ownerReferences": owners},
        "spec": {key: value for key, value in field(found, "spec").items() if key != "clusters"},
    }
    return compare_binding(expected, actual, list(field(metadata, "labels")), policy)
