"""The families of KubeFleet: the scheduler, both kinds of snapshots, the rollout."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.member import decode_member, members_of
from reconciler.dialects.kubefleet.api.names import UpstreamCrash
from reconciler.dialects.kubefleet.api.snapshots import PolicySnapshotStatus, encode_policy_status
from reconciler.dialects.kubefleet.scheduler.schedule import Scheduled, schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import decode_snapshot
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.kubefleet_cycle import run_cycle
from tests.conformance.judgements import NOT_COMPARED

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
