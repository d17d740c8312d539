"""Karmada's policies through the front door: which one claims a template, and its binding."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from reconciler.dialects.karmada.detector.binding_draft import claimant
from reconciler.manifests.admission import GENERATION_SEEN_AT, SPEC_DIGEST, digest
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import format_moment, parse_moment
from tests.builders import NOW, Body, cluster, cluster_policy, deployment
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
from tests.conformance.door.karmada import APPLIED, claim_of, last_binding
from tests.conformance.judgements import first_difference

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


REBALANCER = "WorkloadRebalancer"
POLICY = ObjectKey("policy.karmada.io", "ClusterPropagationPolicy", "", "cp")
CLAIM = {
    "annotations": {"clusterpropagationpolicy.karmada.io/name": POLICY.name},
    "labels": {"clusterpropagationpolicy.karmada.io/permanent-id": uid_of(POLICY)},
}
EARLIER = timedelta(hours=1)


def check_rebalancer(case: Body) -> str | None:
    """Compare triggers, status, removal and the next look after one pass."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    now = parse_moment(str(given["now"]))
    bindings = [*items(given, "bindings"), *items(given, "clusterBindings")]
    workloads = [_workload(field(binding, "spec", "resource")) for binding in bindings]
    selectors = [{name: body[name] for name in ("apiVersion", "kind")} for body in workloads]
    before = [_scheduled(*pair, now) for pair in zip(bindings, workloads, strict=True)]
    rebalancer = field(given, "rebalancer")
    written = {name: rebalancer[name] for name in ("apiVersion", "kind", "spec")}
    passed = walk_in(
        [
            configuration(),
            cluster("a"),
            *([cluster_policy(POLICY.name, selectors=selectors)] if selectors else []),
            *workloads,
            {**written, "metadata": {"name": field(rebalancer, "metadata")["name"]}},
        ],
        [_record(rebalancer, now), *before],
        now,
    )
    name = str(field(rebalancer, "metadata")["name"])
    found = passed.of_kind(REBALANCER).get(name)
    actual: dict[str, object] = {
        "deleted": ObjectKey("apps.karmada.io", REBALANCER, "", name) not in passed.inputs,
        "rescheduleTriggeredAt": _triggers(passed),
        "requeueAfterSeconds": passed.seconds or 0,
        **({} if found is None else {"status": found.get("status")}),
    }
    return first_difference({name: expected[name] for name in expected if name != "passes"}, actual)


def _workload(resource: Body) -> Body:
    metadata = {name: resource[name] for name in ("name", "namespace") if name in resource}
    head = {name: resource[name] for name in ("apiVersion", "kind")}
    return {**head, "metadata": metadata}


def _scheduled(binding: Body, workload: Body, now: datetime) -> Body:
    """The binding as a pass left it that placed the workload, whatever triggered it last."""
    spec = field(binding, "spec")
    written = {
        **binding,
        "metadata": {**field(binding, "metadata"), "annotations": {APPLIED: "{}"}},
        "spec": {**spec, "placement": {}, "clusters": [{"name": "a"}]},
        "status": {
            "lastScheduledTime": spec.get("rescheduleTriggeredAt") or format_moment(now - EARLIER)
        },
    }
    return last_binding(written, workload, claim=CLAIM)


def _record(rebalancer: Body, now: datetime) -> Body:
    """The status file of the last pass, which knows an older spec if a generation is to come."""
    metadata, status = field(rebalancer, "metadata"), field(rebalancer, "status")
    created = parse_moment(str(metadata["creationTimestamp"]))
    if created > now:
        raise LeftOut("future-creation")
    observed = int(str(status.get("observedGeneration", metadata["generation"])))
    edited = observed != metadata["generation"]
    annotations = {
        SPEC_DIGEST: "sha256:other" if edited else digest(rebalancer["spec"]),
        GENERATION_SEEN_AT: format_moment(created),
    }
    return {
        **{name: rebalancer[name] for name in ("apiVersion", "kind")},
        "metadata": {
            "name": metadata["name"],
            "creationTimestamp": format_moment(created),
            "generation": observed,
            "annotations": annotations,
        },
        "status": status,
    }


def _triggers(passed: Passed) -> Mapping[str, object]:
    """Binding to the text of its trigger, `None` without one, as the vectors name them."""
    return {
        f"{key.namespace}/{key.name}" if key.namespace else key.name: field(body, "spec").get(
            "rescheduleTriggeredAt"
        )
        for key, body in sorted(passed.outputs.items())
        if key.kind in KINDS
    }
