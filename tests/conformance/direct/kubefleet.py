"""The families of KubeFleet: the scheduler, both kinds of snapshots, the rollout."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

from reconciler.core.dialects import KINDS
from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.member import Members, decode_member, members_of
from reconciler.dialects.kubefleet.api.names import (
    CANDIDATE_SEEN_AT,
    RESOURCE_HASH,
    PlacementKinds,
    UnexpectedBehavior,
    UpstreamCrash,
    go_json,
    kinds_in,
)
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.api.snapshots import (
    Owner,
    PolicySnapshotStatus,
    SnapshotRevisions,
    annotations_of,
    encode_policy_status,
    is_latest,
    marked,
    owned,
    relabelled,
)
from reconciler.dialects.kubefleet.eviction import Judgement, is_over, judge
from reconciler.dialects.kubefleet.scheduler.schedule import Scheduled, _begin, _cycle, schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import (
    Snapshot,
    decode_snapshot,
    snapshot_policy,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import (
    Resource,
    snapshot_resources,
)
from reconciler.dialects.kubefleet.snapshots.selection import SelectedResources, select_resources
from reconciler.errors import UserError
from reconciler.model.cluster import set_condition
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.kinds import KnownKinds
from reconciler.model.moments import format_moment, is_moment, parse_moment
from reconciler.model.records import replace
from tests.builders import Body
from tests.conformance.door.door import LeftOut, field, items
from tests.conformance.judgements import NOT_COMPARED, first_difference
from tests.stories import world


def run_cycle(
    snapshot: Snapshot, bindings: Iterable[Binding], members: Members, now: datetime
) -> Scheduled:
    """Run one scheduling cycle; see `schedule`.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go `RunSchedulingCycleFor`.
    """
    return _cycle(_begin(snapshot, bindings, members), snapshot, members, now)[0]


_SUFFIX = re.compile(r"-[0-9a-f]{8}$")


def check_schedule(case: Body) -> str | None:
    """Compare everything that a `schedule` vector expects; of an error the kind only."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    now = parse_moment(str(given["now"]))
    clusters = cast(Sequence[Body], given["memberClusters"])
    members = members_of((decode_member(body, declared=False) for body in clusters), now)
    snapshot = decode_snapshot(cast(Body, given["policySnapshot"]))
    before = {b.name: b for b in map(decode_binding, cast(Sequence[Body], given["bindings"]))}
    run = schedule if given["mode"] == "settle" else run_cycle
    result = run(snapshot, before.values(), members, now)
    status = snapshot.status if result.status is None else result.status
    created = sorted(result.bindings.keys() - before.keys(), key=lambda n: _order(result, n))
    names = [*sorted(result.bindings.keys() & before.keys()), *created]
    brief = str(case["name"]).startswith("rand")
    actual = {
        "error": failure(result),
        "requeue": result.requeue,
        "bindings": [
            described_binding(before.get(n), result.bindings[n], brief=brief) for n in names
        ],
        "removed": sorted(result.removed),
        "statusUpdated": result.status is not None,
        "policySnapshotStatus": snapshot_status(status, snapshot.status, str(given["now"])),
    }
    for key in NOT_COMPARED["kubefleet/schedule"]:
        expected.pop(key, None)
    if expected["error"] is not None:
        expected["error"] = {"kind": cast(Body, expected["error"])["kind"]}
    return first_difference(expected, actual)


def failure(result: Scheduled) -> Body | None:
    """Return the kind of an error, `None` if there is none."""
    if result.error is None:
        return None
    crashed = isinstance(result.error, UpstreamCrash)
    return {"kind": "panic" if crashed else "unexpected-behavior"}


def _order(result: Scheduled, name: str) -> tuple[str, str]:
    return result.bindings[name].target, name


def described_binding(before: Binding | None, after: Binding, *, brief: bool) -> Body:
    """Return a binding as vectors have it; with `brief` one that stays has no content."""
    op = _op(before, after)
    name = _SUFFIX.sub("-????????", after.name) if before is None else after.name
    body: dict[str, object] = {"name": name, "op": op, "generation": after.generation}
    if after.deleting:
        body["deleting"] = True
    if op == "none" and brief:
        return body
    decision = {"clusterScore": None, **after.decision.body}
    body |= {
        "spec": {
            "state": after.state,
            "resourceSnapshotName": after.resource_snapshot,
            "schedulingPolicySnapshotName": after.policy_snapshot,
            "targetCluster": after.target,
            "clusterDecision": decision,
        }
    }
    for key, value in (
        ("labels", after.labels),
        ("annotations", after.annotations),
        ("finalizers", list(after.finalizers)),
    ):
        if value:
            body[key] = value
    return body


def _op(before: Binding | None, after: Binding) -> str:
    if before is None:
        return "created"
    if before == after:
        return "none"
    if before.finalizers != after.finalizers:
        return "finalizer-removed"
    left = after.state == "Unscheduled" != before.state
    return "unscheduled" if left else "patched"


def snapshot_status(told: PolicySnapshotStatus, before: PolicySnapshotStatus, now: str) -> Body:
    """Return the status of a policy snapshot as vectors have it: moments are kept or now."""
    status = encode_policy_status(told)
    conditions = cast(Sequence[Mapping[str, object]], status.get("conditions") or [])
    known = before.conditions or ()
    kept = {item["type"]: item.get("lastTransitionTime") for item in known}
    decisions = cast(Sequence[Mapping[str, object]], status.get("targetClusters") or [])
    return {
        "observedCRPGeneration": status.get("observedCRPGeneration", 0),
        "targetClusters": [{"clusterScore": None, **decision} for decision in decisions],
        "conditions": [_condition(item, kept, now) for item in conditions],
    }


def _condition(item: Mapping[str, object], kept: Mapping[object, object], now: str) -> Body:
    moment = item["lastTransitionTime"]
    transition = "kept" if kept.get(item["type"]) == moment else "now" if moment == now else moment
    rest = {key: value for key, value in item.items() if key != "lastTransitionTime"}
    return {**rest, "lastTransition": transition}


CUSTOM = {("example.com", "Widget"): True, ("example.com", "ClusterWidget"): False}
HUB: KnownKinds = replace(KINDS, scopes={**KINDS.scopes, **CUSTOM})
"""What the hub of the vectors serves."""

OPTIONS = ("allowedPropagatingAPIs", "skippedPropagatingAPIs", "enableWorkload")


def check_resourceplacement(case: Body) -> str | None:
    """Compare what a vector expects, by its mode."""
    mode = cast(Body, case["input"])["mode"]
    if mode in ("cycle", "settle"):
        return _check_cycle(case)
    refuse_options(case)
    return _check_selection(case) if mode == "select" else _check_snapshots(case)


def refuse_options(case: Body) -> None:
    """Leave out what depends on an option of the hub, and kinds that only its discovery knows."""
    given = cast(Body, case["input"])
    if any(option in given for option in OPTIONS):
        raise LeftOut("hub-option")
    selectors = items(given, "placement", "spec", "resourceSelectors")
    for selector in selectors:
        kind = str(selector.get("group", "")), str(selector["kind"])
        if kind not in HUB.scopes and kind[0] not in KINDS.groups:
            raise LeftOut("unknown-kind")


def _check_selection(case: Body) -> str | None:
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    try:
        found = _selected(given)
    except UserError as error:
        kind = "unexpected-behavior" if isinstance(error, UnexpectedBehavior) else "user"
        return first_difference(_error(expected), kind, ".error")
    wanted = {key: expected.get(key) for key in ("selected", "contents", "envelopes")}
    return first_difference(
        {"error": _error(expected), **wanted},
        {"error": None, **_told(found), "envelopes": found.envelopes},
    )


def _error(expected: Body) -> object:
    error = expected["error"]
    return None if error is None else cast(Body, error)["kind"]


def _selected(given: Body) -> SelectedResources:
    placement = _placement(given)
    inputs = world(*items(given, "objects")).inputs
    return select_resources(placement.selectors, inputs, {}, HUB, placement.namespace)


def _placement(given: Body) -> Placement:
    body = field(given, "placement")
    return decode_placement(body, str(field(body, "metadata").get("namespace", "")))


def _told(found: SelectedResources) -> Body:
    return {
        "selected": [identity_of(resource.entry) for resource in found.resources],
        "contents": [json.loads(resource.content) for resource in found.resources],
    }


def identity_of(entry: Body) -> Body:
    """Return a selected resource as vectors name it."""
    group, _, version = str(entry["apiVersion"]).rpartition("/")
    return {
        **({"group": group} if group else {}),
        "version": version,
        "kind": entry["kind"],
        **field(entry, "metadata"),
    }


def _check_snapshots(case: Body) -> str | None:
    """Compare both kinds of snapshots, those of other placements included."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    try:
        found = _selected(given)
    except UserError:
        return first_difference(_error(expected), "user", ".error")
    placement, metadata = _placement(given), field(given, "placement", "metadata")
    owner = Owner(
        placement.name, str(metadata["uid"]), int(str(metadata["generation"])), placement.namespace
    )
    before = items(given, "snapshots")
    policy = cast(Body | None, field(given, "placement", "spec").get("policy"))
    policies = snapshot_policy(owner, policy, before, placement.history)
    whole = [Resource(json.loads(one.content), one.content) for one in found.resources]
    resources = snapshot_resources(
        owner,
        whole,
        [body for body in before if body["kind"] == owner.kinds.resource_snapshot],
        limit=placement.history,
        envelopes=found.envelopes,
    )
    others = [
        body for body in before if field(body, "metadata").get("namespace", "") != owner.namespace
    ]
    actual = {
        "policyError": policies.error,
        "resourceError": resources.error,
        "policySnapshots": _described([*others, *policies.snapshots.values()]),
        "resourceSnapshots": _described(list(resources.snapshots.values())),
        "selected": _told(found)["selected"],
        "envelopes": found.envelopes,
    }
    return first_difference({key: expected[key] for key in actual}, actual)


def _described(bodies: Sequence[Body]) -> list[Body]:
    return [{key: body[key] for key in ("kind", "metadata", "spec")} for body in bodies]


def _check_cycle(case: Body) -> str | None:
    """Compare bindings and status after scheduling; bindings of the other scope are not listed."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    now = parse_moment(str(given["now"]))
    members = members_of(
        (decode_member(body, declared=False) for body in items(given, "memberClusters")), now
    )
    snapshot = decode_snapshot(field(given, "policySnapshot"))
    before = {one.name: one for one in map(decode_binding, items(given, "bindings"))}
    run = schedule if given["mode"] == "settle" else run_cycle
    result = run(snapshot, before.values(), members, now)
    status = snapshot.status if result.status is None else result.status
    actual = {
        "error": failure(result),
        "requeue": result.requeue,
        "bindings": list(_bindings(before, result.bindings, kinds_in(snapshot.namespace))),
        "statusUpdated": result.status is not None,
        "policySnapshotStatus": snapshot_status(status, snapshot.status, str(given["now"])),
    }
    wanted = {key: expected[key] for key in actual}
    if wanted["error"] is not None:
        wanted["error"] = {"kind": _error(expected)}
    return first_difference(wanted, actual)


def _bindings(
    before: Mapping[str, Binding], after: Mapping[str, Binding], kinds: PlacementKinds
) -> Iterator[Body]:
    """Those that stay by namespace and name, then new ones by cluster, then those that are gone."""
    new = sorted(after.keys() - before.keys(), key=lambda name: after[name].target)
    known = sorted(before.keys() & after.keys(), key=lambda name: (after[name].namespace, name))
    for name in (*known, *new):
        if kinds_in(after[name].namespace) is kinds:
            place = {"namespace": after[name].namespace} if after[name].namespace else {}
            yield {**described_binding(before.get(name), after[name], brief=True), **place}
    for name in sorted(before.keys() - after.keys()):
        yield {"name": name, "op": "removed"}


def check_policysnapshot(case: Body) -> str | None:
    """Compare the snapshots, the writes and the latest of a `policysnapshot` vector."""
    given = cast(Body, case["input"])
    placement = cast(Body, given["placement"])
    policy = cast(Body | None, cast(Body, placement["spec"]).get("policy"))
    snapshots = cast(Sequence[Body], given["snapshots"])
    limit = int(str(given["revisionHistoryLimit"]))
    found = snapshot_policy(_owner(placement), policy, snapshots, limit)
    actual = _snapshots_described(
        snapshots, found, "ClusterSchedulingPolicySnapshot", counted=False
    )
    return first_difference(_expected(case), actual)


def check_resourcesnapshot(case: Body) -> str | None:
    """Compare the snapshots, the writes, the latest and the wait of a vector."""
    given = cast(Body, case["input"])
    now = parse_moment(str(given["now"]))
    selected = cast(Sequence[Body] | None, given.get("selectedResources"))
    resources = None if selected is None else [Resource(body, go_json(body)) for body in selected]
    owner, before = _owner(cast(Body, given["placement"])), items(given, "snapshots")
    found = snapshot_resources(
        owner,
        resources,
        before,
        limit=int(str(given["revisionHistoryLimit"])),
        envelopes=int(str(given["envelopeObjCount"])),
    )
    found, until = _held_back(owned(before, owner), found, given, now)
    actual = _snapshots_described(before, found, "ClusterResourceSnapshot", counted=True)
    wait = 0 if until is None else int((until - now).total_seconds())
    return first_difference(_expected(case), {**actual, "requeueAfterSeconds": wait})


def _held_back(
    before: Mapping[str, Body], found: SnapshotRevisions, given: Body, now: datetime
) -> tuple[SnapshotRevisions, datetime | None]:
    """A new group waits until changes were collected, and the latest has had its time.

    A pass takes all changes of a commit at once, so nothing waits there.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `shouldCreateNewResourceSnapshotNow`.
    """
    collection, minimum = (
        timedelta(seconds=int(str(given[name])))
        for name in ("collectionSeconds", "minIntervalSeconds")
    )
    retired = [name for name, body in before.items() if is_latest(body)]
    replaced = [name for name in retired if not is_latest(found.snapshots.get(name, {}))]
    masters = [name for name in replaced if RESOURCE_HASH in annotations_of(before[name])]
    if not masters or max(collection, minimum) <= timedelta():
        return found, None
    (name,) = masters
    seen = annotations_of(before[name]).get(CANDIDATE_SEEN_AT, "")
    seen = seen if is_moment(seen) else format_moment(now)
    dated = relabelled(before[name], annotations={CANDIDATE_SEEN_AT: seen})
    created = text(mapping(dated, "metadata"), "creationTimestamp")
    collected_at = parse_moment(seen) + collection
    until = max(collected_at, parse_moment(created) + minimum if created else collected_at)
    if now < until:
        return SnapshotRevisions(snapshots={**before, name: dated}, latest=name), until
    if name not in found.snapshots:
        return found, None
    snapshots = {**found.snapshots, name: marked(dated, latest=False)}
    return replace(found, snapshots=snapshots), None


def _owner(placement: Body) -> Owner:
    metadata = cast(Mapping[str, object], placement["metadata"])
    return Owner(str(metadata["name"]), str(metadata["uid"]), int(str(metadata["generation"])))


def _expected(case: Body) -> Body:
    expected = dict(cast(Body, case["expected"]))
    if expected["error"] is not None:
        expected["error"] = {"kind": cast(Body, expected["error"])["kind"]}
    expected["ops"] = _sorted(cast(Sequence[Body], expected["ops"]))
    return expected


def _sorted(ops: Sequence[Body]) -> list[Body]:
    return sorted(ops, key=lambda op: json.dumps(op, sort_keys=True))


def _snapshots_described(
    present: Sequence[Body], found: SnapshotRevisions, kind: str, *, counted: bool
) -> Body:
    writes = _writes({_name(body): body for body in present}, found)
    ops = [{"verb": verb, "kind": kind, "name": name} for verb, name in writes]
    return {
        "error": None if found.error is None else {"kind": "unexpected-behavior"},
        "latest": found.latest,
        "ops": _sorted(cast(list[Body], ops)),
        "snapshots": [
            _snapshot(found.snapshots[name], counted=counted) for name in sorted(found.snapshots)
        ],
    }


def _writes(before: Mapping[str, Body], found: SnapshotRevisions) -> Iterator[tuple[str, str]]:
    """Yield verb and name of each write of upstream's; one that is retired may go after that.

    A candidate is dated by a write of its own, before it is retired.
    """
    after = found.snapshots
    for name, body in before.items():
        now = after.get(name, marked(body, latest=False))
        if is_latest(body) != is_latest(now):
            yield "update", name
        if annotations_of(body) != annotations_of(now):
            yield "update", name
    yield from (("create", name) for name in after.keys() - before.keys())
    yield from (("delete", name) for name in before.keys() - after.keys())


def _name(body: Body) -> str:
    return str(cast(Body, body["metadata"])["name"])


def _snapshot(body: Body, *, counted: bool) -> Body:
    metadata, spec = cast(Body, body["metadata"]), cast(Body, body["spec"])
    found = {key: metadata[key] for key in ("name", "labels", "annotations", "ownerReferences")}
    if counted:
        found["selectedResourceCount"] = len(cast(Sequence[Body], spec["selectedResources"]))
    return {**found, "spec": spec}


KIND = "ClusterResourcePlacementEviction"


def check_eviction(case: Body) -> str | None:
    """Compare everything that an `eviction` vector expects."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    following = cast(Body | None, expected.pop("nextCycle", None))
    found, actual = _judged(given)
    told = first_difference(expected, actual)
    if told is not None or following is None:
        return told
    left = [
        {**body, "metadata": {**mapping(body, "metadata"), "deletionTimestamp": given["now"]}}
        if mapping(body, "metadata")["name"] == found.deleted
        else body
        for body in bodies(given, "bindings")
        if mapping(body, "metadata")["name"] not in _removed(actual)
    ]
    return check_schedule(
        {
            "name": "rand",  # as of those, what stays has no content
            "input": {**given, "bindings": left, "mode": "cycle"},
            "expected": {
                **following,
                "bindings": [one for one in bodies(following, "bindings") if not _is_gone(one)],
                "removed": _removed(following),
            },
        }
    )


def _judged(given: Body) -> tuple[Judgement, Body]:
    """Return what an eviction comes to, and the same as a vector has it."""
    now, eviction = str(given["now"]), mapping(given, "eviction")
    generation = number(mapping(eviction, "metadata"), "generation")
    before = bodies(mapping(eviction, "status"), "conditions")
    placement = cast(Body | None, given["placement"])
    budget = cast(Body | None, given["disruptionBudget"])
    bindings = [decode_binding(body) for body in bodies(given, "bindings")]
    over = is_over(before, generation)
    found = Judgement(())
    if not over:
        found = judge(
            mapping(eviction, "spec"),
            generation,
            None if placement is None else decode_placement(placement),
            bindings,
            None if budget is None else mapping(budget, "spec"),
        )
    after: Sequence[Body] = before
    for condition in found.conditions:
        after = set_condition(after, condition, at=now)
    name = mapping(eviction, "metadata")["name"]
    ops = [{"verb": "delete", "kind": "ClusterResourceBinding", "name": found.deleted}]
    updates = [{"verb": "update-status", "kind": KIND, "name": name}]
    return found, {
        "error": None,
        "conditions": [_eviction_condition(one, before, now) for one in after],
        "ops": [*(ops if found.deleted else []), *([] if over else updates)],
        "bindings": sorted(
            (_binding(one, deleted=one.name == found.deleted) for one in sorted(bindings)),
            key=_is_gone,
        ),
    }


def _binding(binding: Binding, *, deleted: bool) -> Body:
    """Return a binding as vectors have it; one without finalizers is gone at once."""
    if deleted and not binding.finalizers:
        return {"name": binding.name, "op": "removed"}
    op = "deletion-started" if deleted else "none"
    deleting = {"deleting": True} if binding.deleting or deleted else {}
    return {"name": binding.name, "generation": binding.generation, "op": op, **deleting}


def _is_gone(binding: Body) -> bool:
    return binding["op"] == "removed"


def _removed(judged: Body) -> list[object]:
    return [one["name"] for one in bodies(judged, "bindings") if _is_gone(one)]


def _eviction_condition(one: Body, before: Sequence[Body], now: str) -> Body:
    kept = {item["type"]: item.get("lastTransitionTime") for item in before}
    moment = one["lastTransitionTime"]
    told = "kept" if kept.get(one["type"]) == moment else "now" if moment == now else moment
    return {**{k: v for k, v in one.items() if k != "lastTransitionTime"}, "lastTransition": told}
