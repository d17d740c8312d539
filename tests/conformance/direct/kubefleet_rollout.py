"""KubeFleet's rollout: one round."""

import json
from collections.abc import Sequence
from typing import cast

from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.placement import decode_placement, latest_master
from reconciler.dialects.kubefleet.rollout.rollout import Rollout, roll_out
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.rollout_writes import Told, told_of


def check_rollout(case: Body) -> str | None:
    """Compare everything that a `rollout` vector expects; of an error the kind only."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    now = str(given["now"])
    placement = decode_placement(cast(Body, given["placement"]))
    before = {b.name: b for b in map(decode_binding, cast(Sequence[Body], given["bindings"]))}
    latest = latest_master(cast(Sequence[Body], given["resourceSnapshots"]), placement.name)
    found = Rollout(bindings=before)
    if not placement.deleting:
        found = roll_out(
            placement.strategy, placement.wanted, before.values(), latest, parse_moment(now)
        )
    gone = [name for name in found.deleted if not before[name].finalizers]
    told = (
        Told()
        if placement.deleting
        else told_of(placement.strategy, before, found, latest, parse_moment(now))
    )
    actual = {
        "error": None if found.error is None else {"kind": "unexpected-behavior"},
        "requeue": told.requeue,
        "requeueAfterSeconds": int(told.wait.total_seconds()),
        "removed": gone,
        "ops": _sorted(
            [
                {
                    "verb": verb,
                    "kind": "ClusterResourceBinding",
                    "name": name,
                    "targetCluster": str(before[name].target),
                }
                for verb, name in told.writes
            ]
        ),
        "bindings": [
            _binding(before[name], found, now) for name in sorted(before) if name not in gone
        ],
    }
    expected["ops"] = _sorted(cast(Sequence[Body], expected["ops"]))
    if expected["error"] is not None:
        expected["error"] = {"kind": cast(Body, expected["error"])["kind"]}
    return first_difference(expected, actual)


def _sorted(ops: Sequence[Body]) -> list[Body]:
    return sorted(ops, key=lambda op: json.dumps(op, sort_keys=True))


def _binding(before: Binding, found: Rollout, now: str) -> Body:
    after = found.bindings[before.name]
    spec = {
        "state": after.state,
        "resourceSnapshotName": after.resource_snapshot,
        "schedulingPolicySnapshotName": after.policy_snapshot,
        "targetCluster": after.target,
    }
    if after.apply_strategy is not None:
        spec["applyStrategy"] = after.apply_strategy  # type: ignore[assignment]  # any JSON
    body: dict[str, object] = {
        "name": after.name,
        "op": _op(before, found),
        "generation": after.generation,
        "spec": spec,
    }
    if after.deleting or after.name in found.deleted:
        body["deleting"] = True
    if after.annotations:
        body["annotations"] = after.annotations
    if after.conditions:
        kept = {item["type"]: item.get("lastTransitionTime") for item in before.conditions}
        body["conditions"] = [
            {
                **{key: value for key, value in item.items() if key != "lastTransitionTime"},
                "lastTransition": "kept"
                if kept.get(item["type"]) == item["lastTransitionTime"]
                else "now"
                if item["lastTransitionTime"] == now
                else item["lastTransitionTime"],
            }
            for item in after.conditions
        ]
    return body


def _op(before: Binding, found: Rollout) -> str:
    if before.name in found.deleted:
        return "deletion-started"
    return "none" if found.bindings[before.name].generation == before.generation else "patched"
