"""The families of KubeFleet's snapshots: policies and selected resources."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

from reconciler.dialects.kubefleet.api.names import go_json
from reconciler.dialects.kubefleet.api.snapshots import (
    Owner,
    SnapshotRevisions,
    annotations_of,
    is_latest,
    marked,
)
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import snapshot_policy
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import (
    Pace,
    Resource,
    snapshot_resources,
)
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference


def check_policysnapshot(case: Body) -> str | None:
    """Compare the snapshots, the writes and the latest of a `policysnapshot` vector."""
    given = cast(Body, case["input"])
    placement = cast(Body, given["placement"])
    policy = cast(Body | None, cast(Body, placement["spec"]).get("policy"))
    snapshots = cast(Sequence[Body], given["snapshots"])
    limit = int(str(given["revisionHistoryLimit"]))
    found = snapshot_policy(_owner(placement), policy, snapshots, limit)
    actual = _described(snapshots, found, "ClusterSchedulingPolicySnapshot", counted=False)
    return first_difference(_expected(case), actual)


def check_resourcesnapshot(case: Body) -> str | None:
    """Compare the snapshots, the writes, the latest and the wait of a vector."""
    given = cast(Body, case["input"])
    now = parse_moment(str(given["now"]))
    selected = cast(Sequence[Body] | None, given.get("selectedResources"))
    found = snapshot_resources(
        _owner(cast(Body, given["placement"])),
        None if selected is None else [Resource(body, go_json(body)) for body in selected],
        cast(Sequence[Body], given["snapshots"]),
        now,
        limit=int(str(given["revisionHistoryLimit"])),
        pace=Pace(
            collection=timedelta(seconds=int(str(given["collectionSeconds"]))),
            minimum=timedelta(seconds=int(str(given["minIntervalSeconds"]))),
        ),
        envelopes=int(str(given["envelopeObjCount"])),
    )
    actual = _described(
        cast(Sequence[Body], given["snapshots"]), found, "ClusterResourceSnapshot", counted=True
    )
    return first_difference(_expected(case), {**actual, "requeueAfterSeconds": _wait(found, now)})


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


def _wait(found: SnapshotRevisions, now: datetime) -> int:
    return 0 if found.until is None else int((found.until - now).total_seconds())


def _described(
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
