"""KubeFleet's scheduler through the front door: clusters, a placement, snapshot and bindings.

The placement's strategy is External, so that the rollout leaves what the scheduler decides.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from reconciler.dialects.kubefleet.api.names import (
    PlacementKinds,
    kinds_in,
    named_in,
    placement_key,
)
from reconciler.dialects.kubefleet.api.placement import decode_placement
from reconciler.dialects.kubefleet.api.snapshots import decode_policy_status
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import encoded_hash
from reconciler.manifests.admission import admit
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.kubefleet import snapshot_status
from tests.conformance.door.door import LeftOut, Passed, configuration, field, items, walk_in
from tests.conformance.judgements import forgives

GROUP = "placement.kubernetes-fleet.io"
SNAPSHOT = "ClusterSchedulingPolicySnapshot"
PARENT = "kubernetes-fleet.io/parent-CRP"
GENERATION = "kubernetes-fleet.io/CRP-generation"
NUMBER = "kubernetes-fleet.io/number-of-clusters"
PREVIOUS = "kubernetes-fleet.io/previous-binding-state"
LATEST = "kubernetes-fleet.io/is-latest-snapshot"
INDEX = "kubernetes-fleet.io/policy-index"
REPORTED_AT = "2026-01-01T00:00:00Z"
TOLD = {"reason": "Reported", "message": "", "lastTransitionTime": REPORTED_AT}
STAYING = ("Scheduled", "Bound")
OTHER_HASH = "b3RoZXI="
ELAPSED = re.compile(r"[0-9.]+(?= minutes ago)")
SUFFIX = re.compile(r"-[0-9a-f]{8}$")


def check_schedule(case: Body) -> str | None:
    """Compare bindings and the status of the policy snapshot after one pass.

    Bindings of other placements are not looked at.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if expected["requeue"]:
        raise LeftOut("one-cycle")
    now = str(given["now"])
    passed = walk_in(_inputs(given), _outputs(given), parse_moment(now))
    snapshot = field(given, "policySnapshot")
    kinds, namespace = _kinds(given), _namespace(snapshot)
    name = str(field(snapshot, "metadata")["name"])
    found = passed.of_kind(kinds.policy_snapshot, namespace)[name]
    wanted = {
        "failed": expected["error"] is not None,
        "bindings": sorted((_plain(b) for b in _written(given, expected)), key=_by_target),
        "policySnapshotStatus": _status(field(expected, "policySnapshotStatus")),
    }
    actual = {
        "failed": bool(passed.outcome.faults),
        "bindings": sorted((_plain(b) for b in _described(given, passed)), key=_by_target),
        "policySnapshotStatus": _status(
            snapshot_status(decode_policy_status(found), decode_policy_status(snapshot), now)
        ),
    }
    if _is_satisfied(given) and forgives("kubefleet/schedule", "satisfied PickN"):
        return first_difference(wanted["bindings"], actual["bindings"], ".bindings")
    return first_difference(wanted, actual)


def _is_satisfied(given: Body) -> bool:
    """Whether a PickN is where its snapshot says that it should be."""
    snapshot = field(given, "policySnapshot")
    conditions = items(snapshot, "status", "conditions")
    if field(snapshot, "spec", "policy").get("placementType") != "PickN":
        return False
    return any(item["status"] == "True" for item in conditions)


def _inputs(given: Body) -> Iterator[Body]:
    yield configuration(inventory={"heartbeats": "enforce", "declared": False})
    yield from map(_reported, items(given, "memberClusters"))
    yield _placement(given)


def _reported(cluster: Body) -> Body:
    """A cluster with the fields that every agent reports and no rule reads."""
    status = dict(field(cluster, "status"))
    properties = field(status, "properties")
    if properties:
        status["properties"] = {
            name: {"observationTime": REPORTED_AT, **cast(Body, value)}
            for name, value in properties.items()
        }
    agents = items(status, "agentStatus")
    if agents:
        status["agentStatus"] = [
            {
                **agent,
                "conditions": [{**TOLD, **item} for item in items(agent, "conditions")],
            }
            for agent in agents
        ]
    return {**cluster, "status": status} if status else cluster


def _placement(given: Body) -> Body:
    snapshot = field(given, "policySnapshot")
    policy = field(snapshot, "spec").get("policy")
    number = field(snapshot, "metadata", "annotations").get(NUMBER)
    if field(snapshot, "spec", "policy").get("placementType") == "PickN" and number is None:
        raise LeftOut("no-number")
    if isinstance(policy, Mapping) and number is not None:
        if not str(number).isdecimal():
            raise LeftOut("no-number")
        policy = {**policy, "numberOfClusters": int(str(number))}
    kind = "ConfigMap" if _namespace(snapshot) else "Namespace"
    selector = {"group": "", "version": "v1", "kind": kind, "name": "nothing"}
    spec = {"resourceSelectors": [selector], "strategy": {"type": "External"}}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": _kinds(given).placement,
        "metadata": named_in(_namespace(snapshot), _owner(snapshot)),
        "spec": spec if policy is None else {**spec, "policy": policy},
    }


def _namespace(body: Body) -> str:
    return str(field(body, "metadata").get("namespace", ""))


def _kinds(given: Body) -> PlacementKinds:
    return kinds_in(_namespace(field(given, "policySnapshot")))


def _own(given: Body) -> Sequence[Body]:
    """The bindings of the placement's scope and namespace."""
    namespace = _namespace(field(given, "policySnapshot"))
    return [body for body in items(given, "bindings") if _namespace(body) == namespace]


def _owner(snapshot: Body) -> str:
    return str(field(snapshot, "metadata", "labels")[PARENT])


def _outputs(given: Body) -> Iterator[Body]:
    snapshot, now = field(given, "policySnapshot"), parse_moment(str(given["now"]))
    bindings = _own(given)
    for binding in bindings:
        _refuse_binding(binding, snapshot)
    targets = [field(binding, "spec")["targetCluster"] for binding in bindings]
    if len(set(targets)) != len(targets):
        raise LeftOut("two-bindings")
    marks = field(snapshot, "metadata", "annotations")
    if not str(marks.get(GENERATION, "")).isdecimal():
        raise LeftOut("no-generation")
    placement = _placement(given)
    key = placement_key(_namespace(snapshot), _owner(snapshot))
    _, metadata = admit(key, placement["spec"], None, now)
    generation = int(str(marks[GENERATION]))
    head = {name: placement[name] for name in ("apiVersion", "kind")}
    yield {**head, "metadata": {**metadata, "generation": generation}}
    yield _snapshot(given, placement)
    yield from items(given, "bindings")


def _snapshot(given: Body, placement: Body) -> Body:
    """The snapshot that the last pass left: the vector's, or the one before if it is to come."""
    snapshot = field(given, "policySnapshot")
    name = str(field(snapshot, "metadata")["name"])
    staying = [b for b in _own(given) if field(b, "spec")["state"] in STAYING]
    names = {str(field(b, "spec").get("schedulingPolicySnapshotName")) for b in staying}
    policy = decode_placement(
        placement, _namespace(placement)
    ).policy  # with its defaults, as it is hashed
    if names <= {name}:
        spec = {**field(snapshot, "spec"), "policyHash": encoded_hash(policy)}
        return _known({**snapshot, "spec": spec})
    index = int(name.rpartition("-")[2]) - 1
    before = f"{_owner(snapshot)}-{index}"
    if names != {before} or items(snapshot, "status", "conditions"):
        raise LeftOut("several-policies")
    labels = {PARENT: _owner(snapshot), LATEST: "true", INDEX: str(index)}
    old = {
        **snapshot,
        "metadata": {**field(snapshot, "metadata"), "name": before, "labels": labels},
        "spec": {**field(snapshot, "spec"), "policyHash": OTHER_HASH},
    }
    return {key: value for key, value in old.items() if key != "status"}


def _known(snapshot: Body) -> Body:
    """A snapshot as a pass leaves it: without a status until it was scheduled."""
    scheduled = items(snapshot, "status", "conditions")
    return {key: value for key, value in snapshot.items() if key != "status" or scheduled}


def _refuse_binding(binding: Body, snapshot: Body) -> None:
    metadata, spec = field(binding, "metadata"), field(binding, "spec")
    marks = field(metadata, "annotations")
    if metadata.get("deletionTimestamp"):
        raise LeftOut("deleting-binding")
    if spec["state"] == "Unscheduled" and marks.get(PREVIOUS) not in STAYING:
        raise LeftOut("forgotten-state")
    fixed = field(snapshot, "spec", "policy").get("placementType") == "PickFixed"
    if fixed and field(spec, "clusterDecision").get("clusterScore") is not None:
        raise LeftOut("fixed-score")


def _written(given: Body, expected: Body) -> Iterator[Body]:
    """The bindings that upstream leaves; what it left as it was is as in the input."""
    before = {field(b, "metadata")["name"]: b for b in _own(given)}
    namespace = _namespace(field(given, "policySnapshot"))
    for item in items(expected, "bindings"):
        if item["op"] == "removed" or item.get("namespace", "") != namespace:
            continue
        known = before.get(item["name"], {})
        spec = item.get("spec", known.get("spec"))
        marks = item.get("annotations", field(known, "metadata").get("annotations", {}))
        kept = marks if "spec" in item else field(known, "metadata").get("annotations", {})
        labels = item.get("labels", field(known, "metadata").get("labels"))
        yield {"name": item["name"], "spec": spec, "labels": labels, "annotations": kept}


def _described(given: Body, passed: Passed) -> Iterator[Body]:
    known = {field(b, "metadata")["name"] for b in _own(given)}
    namespace = _namespace(field(given, "policySnapshot"))
    for name, body in passed.of_kind(_kinds(given).binding, namespace).items():
        marks = field(body, "metadata", "annotations")
        shown = name if name in known else SUFFIX.sub("-????????", name)
        labels = field(body, "metadata", "labels")
        yield {"name": shown, "spec": body["spec"], "labels": labels, "annotations": marks}


def _plain(binding: Body) -> Body:
    spec = field(binding, "spec")
    marks, decision = field(binding, "annotations"), field(spec, "clusterDecision")
    return {
        "name": binding["name"],
        "spec": {
            "state": spec.get("state"),
            "targetCluster": spec.get("targetCluster"),
            "schedulingPolicySnapshotName": spec.get("schedulingPolicySnapshotName"),
            "resourceSnapshotName": spec.get("resourceSnapshotName"),
            "clusterDecision": _timeless({"clusterScore": None, **decision}),
        },
        "labels": binding["labels"],
        "previous": marks.get(PREVIOUS),
    }


def _by_target(binding: Body) -> tuple[str, str]:
    return str(field(binding, "spec")["targetCluster"]), str(binding["name"])


def _status(status: Body) -> Body:
    decisions = cast(Sequence[Body], status.get("targetClusters") or [])
    return {**status, "targetClusters": [_timeless(item) for item in decisions]}


def _timeless(decision: Body) -> Body:
    """A decision whose text does not say how long ago something was."""
    if not forgives("kubefleet/schedule", "elapsed minutes"):
        return decision
    return {**decision, "reason": ELAPSED.sub("some", str(decision.get("reason", "")))}
