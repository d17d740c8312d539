"""KubeFleet's scheduler through the front door: clusters, a placement, snapshot and bindings.

The placement's strategy is External, so that the rollout leaves what the scheduler decides.
"""

import hashlib
import json
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
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import parse_moment
from tests.builders import NOW, Body
from tests.conformance.direct.kubefleet import CUSTOM, identity_of, refuse_options, snapshot_status
from tests.conformance.direct.kubefleet_admission import Refused, compare_admission
from tests.conformance.door.door import LeftOut, Passed, configuration, field, items, walk_in
from tests.conformance.door.door import Refused as door_Refused
from tests.conformance.judgements import first_difference, forgives
from tests.stories import Story

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


IMMUTABLE = "placement-immutable"


def check_admission(case: Body) -> str | None:
    """Compare the faults of a repository with the object, and those of the pass after an edit."""
    return compare_admission(case, _refused, _changed)


def _refused(body: Body) -> Refused:
    faults = Story().put(configuration()).put(body, path="object.yaml").world().faults
    return [(fault.field, fault.rule) for fault in faults]


def _changed(before: Body, after: Body) -> Refused:
    if after["kind"] not in ("ClusterResourcePlacement", "MemberCluster", "ResourcePlacement"):
        raise LeftOut("idle-edit")
    repository = Story().put(configuration(), before)
    repository.run(0)
    faults = repository.put(after).run(60).faults
    return [(fault.field, fault.rule) for fault in faults if fault.rule == IMMUTABLE]


OURS = "reconciler.dev/"

PLACEMENT = "ClusterResourcePlacement"
RESOURCES = "ClusterResourceSnapshot"


def check_policysnapshot(case: Body) -> str | None:
    """Compare the snapshots that stand after one pass."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    _refuse(given)
    passed = walk_in([configuration(), _revised_placement(given)], _snapshot_outputs(given), NOW)
    if passed.faults(IMMUTABLE):
        raise door_Refused(IMMUTABLE)
    found = passed.of_kind(SNAPSHOT)
    wanted = [described_snapshot(body) for body in items(expected, "snapshots")]
    actual = [described_snapshot({**field(body, "metadata"), **body}) for body in found.values()]
    latest = [str(body["name"]) for body in actual if field(body, "labels")[LATEST] == "true"]
    failed = expected["error"] is not None
    return first_difference(
        {"failed": failed, "snapshots": wanted, "latest": [expected["latest"]]},
        {"failed": bool(passed.outcome.faults), "snapshots": actual, "latest": latest},
    )


def check_resourcesnapshot(case: Body) -> str | None:
    """Compare the snapshots that stand after one pass, and the next look.

    A snapshot file holds the hash of each resource; so the hashes of their contents are compared.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["minIntervalSeconds"] or given["collectionSeconds"]:
        raise LeftOut("option")
    selected = items(given, "selectedResources")
    if any(list(body) != sorted(body) for body in selected):
        raise LeftOut("unordered-keys")
    before = [_hashed_snapshot(body) for body in items(given, "snapshots")]
    passed = walk_in(
        [configuration(), _revised_placement(given), *selected],
        [*_status_record(given), *before],
        parse_moment(str(given["now"])),
    )
    found = list(passed.of_kind(RESOURCES).values())
    actual = [described_snapshot({**field(body, "metadata"), **body}) for body in found]
    return first_difference(
        {
            "failed": expected["error"] is not None,
            "snapshots": [
                described_snapshot(_hashed_snapshot(body)) for body in items(expected, "snapshots")
            ],
            "counts": [body["selectedResourceCount"] for body in items(expected, "snapshots")],
            "latest": [expected["latest"]],
            "requeueAfterSeconds": expected["requeueAfterSeconds"],
        },
        {
            "failed": bool(passed.outcome.faults),
            "snapshots": [{**body, "spec": without_places(field(body, "spec"))} for body in actual],
            "counts": [len(items(body, "spec", "selectedResources")) for body in found],
            "latest": [body["name"] for body in actual if field(body, "labels")[LATEST] == "true"],
            "requeueAfterSeconds": passed.seconds or 0,
        },
    )


def _hashed_snapshot(snapshot: Body) -> Body:
    """A snapshot with what its file holds of each resource."""
    resources = [entry_of(body) for body in items(snapshot, "spec", "selectedResources")]
    return {**snapshot, "spec": {"selectedResources": resources}}


def entry_of(resource: Body) -> Body:
    """Return what a snapshot file holds of a resource, but for the place in the repository."""
    text = json.dumps(resource, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    for character in "&<>\u2028\u2029":  # as Go writes them
        text = text.replace(character, f"\\u{ord(character):04x}")
    metadata = field(resource, "metadata")
    return {
        **{name: resource[name] for name in ("apiVersion", "kind")},
        "metadata": {name: metadata[name] for name in ("namespace", "name") if name in metadata},
        "hash": hashlib.sha256(text.encode()).hexdigest(),
    }


def without_places(spec: Body) -> Body:
    """The spec of a snapshot without the places of its resources in the repository."""
    resources = [
        {name: value for name, value in body.items() if name not in ("blob", "document")}
        for body in items(spec, "selectedResources")
    ]
    return {"selectedResources": resources}


def _revised_placement(given: Body) -> Body:
    placement = field(given, "placement")
    spec = {**field(placement, "spec"), "revisionHistoryLimit": given["revisionHistoryLimit"]}
    return {
        **{key: placement[key] for key in ("apiVersion", "kind")},
        "metadata": {"name": field(placement, "metadata")["name"]},
        "spec": spec,
    }


def _refuse(given: Body) -> None:
    """Leave out what no pass leaves: snapshots whose labels contradict their names."""
    spreading = items(given, "placement", "spec", "policy", "topologySpreadConstraints")
    if any("maxSkew" not in constraint for constraint in spreading):
        raise LeftOut("defaulted-policy")
    found = {str(field(body, "metadata")["name"]): body for body in items(given, "snapshots")}
    numbers = {name: int(name.rpartition("-")[2]) for name in found}
    for name, body in found.items():
        labels = field(body, "metadata", "labels")
        newest = numbers[name] == max(numbers.values())
        if labels.get(INDEX) != str(numbers[name]) or (labels.get(LATEST) == "true") != newest:
            raise LeftOut("contradicting-labels")
        marks = field(body, "metadata", "annotations")
        fixed = field(body, "spec", "policy").get("placementType") != "PickN"
        if not str(marks.get(GENERATION, "")).isdecimal() or (not fixed and NUMBER not in marks):
            raise LeftOut("uncounted-snapshot")


def _snapshot_outputs(given: Body) -> Iterator[Body]:
    yield from _status_record(given)
    for body in items(given, "snapshots"):
        yield {name: value for name, value in body.items() if name != "status"}


def _status_record(given: Body) -> Iterator[Body]:
    """The status file of the placement, which knows its generation."""
    placement = _revised_placement(given)
    metadata = field(given, "placement", "metadata")
    key = ObjectKey(GROUP, PLACEMENT, "", str(metadata["name"]))
    _, record = admit(key, placement["spec"], None, NOW)
    head = {name: placement[name] for name in ("apiVersion", "kind")}
    yield {**head, "metadata": {**record, "generation": metadata["generation"]}}


def described_snapshot(body: Body) -> Body:
    """Return a snapshot as it is compared: without uids and marks of ours."""
    marks = field(body, "annotations")
    return {
        "name": body["name"],
        "labels": body["labels"],
        "annotations": {name: marks[name] for name in marks if not name.startswith(OURS)},
        "ownerReferences": [
            {name: value for name, value in owner.items() if name != "uid"}
            for owner in items(body, "ownerReferences")
        ],
        "spec": body["spec"],
    }


ENVELOPES = "kubernetes-fleet.io/number-of-enveloped-object"


def check_resourceplacement(case: Body) -> str | None:
    """Compare the outputs of a pass with what a vector expects, by its mode."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["mode"] in ("cycle", "settle"):
        return check_schedule(case)
    refuse_options(case)
    if given["mode"] == "snapshots" and "policy" not in field(given, "placement", "spec"):
        raise LeftOut("defaulted-policy")
    passed = walk_in(
        [configuration(), *_definitions(), *items(given, "objects"), _written_placement(given)],
        [_record(given), *items(given, "snapshots")],
        parse_moment(str(given["now"])),
    )
    namespace = str(field(given, "placement", "metadata").get("namespace", ""))
    kinds = kinds_in(namespace)
    if expected["error"] is not None:
        snapshots = passed.of_kind(kinds.resource_snapshot, namespace)
        return first_difference([True, {}], [bool(passed.outcome.faults), snapshots], ".error")
    if given["mode"] == "select":
        return _compare_selection(expected, passed, kinds, namespace)
    return _compare_snapshots(expected, passed, kinds, namespace)


def _definitions() -> Iterator[Body]:
    """The CRDs of the hub's own kinds."""
    for (group, kind), namespaced in CUSTOM.items():
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{kind.lower()}s.{group}"},
            "spec": {
                "group": group,
                "names": {"kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
            },
        }


def _written_placement(given: Body) -> Body:
    placement = field(given, "placement")
    names = ("name", "namespace")
    metadata = field(placement, "metadata")
    return {**placement, "metadata": {key: metadata[key] for key in names if key in metadata}}


def _record(given: Body) -> Body:
    """The status file of the placement, which knows its generation."""
    placement, metadata = _written_placement(given), field(given, "placement", "metadata")
    key = placement_key(str(metadata.get("namespace", "")), str(metadata["name"]))
    _, record = admit(key, placement["spec"], None, NOW)
    head = {name: placement[name] for name in ("apiVersion", "kind")}
    return {**head, "metadata": {**record, "generation": metadata["generation"]}}


def _compare_selection(
    expected: Body, passed: Passed, kinds: PlacementKinds, namespace: str
) -> str | None:
    """Compare identities, hashes of the contents, and how many are envelopes."""
    [snapshot] = passed.of_kind(kinds.resource_snapshot, namespace).values()
    entries = items(without_places(field(snapshot, "spec")), "selectedResources")
    return first_difference(
        {
            "failed": False,
            "selected": items(expected, "selected"),
            "entries": [entry_of(body) for body in items(expected, "contents")],
            "envelopes": str(expected["envelopes"]),
        },
        {
            "failed": bool(passed.outcome.faults),
            "selected": [identity_of(one) for one in entries],
            "entries": entries,
            "envelopes": field(snapshot, "metadata", "annotations")[ENVELOPES],
        },
    )


def _compare_snapshots(
    expected: Body, passed: Passed, kinds: PlacementKinds, namespace: str
) -> str | None:
    """Compare both kinds of snapshots."""
    policies = passed.of_kind(kinds.policy_snapshot, namespace)
    resources = passed.of_kind(kinds.resource_snapshot, namespace)
    wanted = [
        {**body, "spec": _hashed(field(body, "spec"))}
        for body in items(expected, "resourceSnapshots")
    ]
    found = [{**body, "spec": without_places(field(body, "spec"))} for body in resources.values()]
    errors = (expected["policyError"], expected["resourceError"])
    return first_difference(
        {
            "failed": any(error is not None for error in errors),
            "policies": _described_placements(items(expected, "policySnapshots")),
            "resources": _described_placements(wanted),
        },
        {
            "failed": bool(passed.outcome.faults),
            "policies": _described_placements(list(policies.values())),
            "resources": _described_placements(found),
        },
    )


def _hashed(spec: Body) -> Body:
    return {"selectedResources": [entry_of(body) for body in items(spec, "selectedResources")]}


def _described_placements(bodies: Sequence[Mapping[str, object]]) -> list[Body]:
    return [
        {
            "kind": one["kind"],
            "namespace": field(one, "metadata").get("namespace"),
            **described_snapshot({**field(one, "metadata"), **one}),
        }
        for one in bodies
    ]
