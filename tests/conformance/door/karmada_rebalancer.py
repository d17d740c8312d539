"""Karmada's rebalancer through the front door: its file, its record, workloads on one cluster."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from reconciler.manifests.admission import GENERATION_SEEN_AT, SPEC_DIGEST, digest
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import format_moment, parse_moment
from tests.builders import Body, cluster, cluster_policy
from tests.conformance.compare import first_difference
from tests.conformance.door.door import LeftOut, Passed, configuration, field, items, walk_in
from tests.conformance.door.karmada import APPLIED
from tests.conformance.door.karmada_files import last_binding

REBALANCER = "WorkloadRebalancer"
BINDINGS = ("ResourceBinding", "ClusterResourceBinding")
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
        if key.kind in BINDINGS
    }
