"""The families of Karmada: scheduling, NoExecute taints, graceful eviction."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.cluster import (
    Members,
    TargetCluster,
    decode_cluster,
    members_of,
)
from reconciler.dialects.karmada.eviction import Action, Leaving, assess_tasks, evict
from reconciler.dialects.karmada.scheduler.plugins import Failure
from reconciler.dialects.karmada.scheduler.room import estimates
from reconciler.dialects.karmada.scheduler.schedule import Attempt, ScheduleVerdict, schedule
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.judgements import NOT_COMPARED, forgives

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def check_schedule(case: Body) -> str | None:
    """Compare everything that a `schedule` vector expects."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    members = _members(given)
    body = cast(Body, given["binding"])
    binding = decode_binding(body)
    propagate = bool(given.get("enableEmptyWorkloadPropagation"))
    verdict = schedule(binding, members, NOW, propagate_empty=propagate)
    actual: dict[str, object] = {
        **_described(verdict),
        **_written(verdict, binding.clusters),
        "schedulerObservedGeneration": binding.observed_generation
        if verdict.observed_generation is None
        else verdict.observed_generation,
        "appliedPlacementUpdated": verdict.applied is not None,
    }
    if verdict.applied is not None:
        actual["appliedPlacement"] = json.loads(verdict.applied)
    if "estimates" in expected:
        column = estimates(members, binding.requirements).column
        actual["estimates"] = {
            view.cluster.name: room for view, room in zip(members.views, column, strict=True)
        }
    if "condition" not in expected:
        expected["condition"] = None
    for key in NOT_COMPARED["karmada/schedule"]:
        expected.pop(key, None)
    if "appliedPlacement" not in expected and "appliedPlacementUpdated" not in expected:
        expected["appliedPlacementUpdated"] = False
    _settle_messages(expected, actual)
    return first_difference(expected, {key: actual.get(key) for key in expected})


def _members(given: Body) -> Members:
    clusters = cast(Sequence[Body], given["clusters"])
    return members_of(decode_cluster(cluster, declared=False) for cluster in clusters)


def _described(verdict: ScheduleVerdict) -> dict[str, object]:
    condition = verdict.condition
    return {
        "triggered": verdict.triggered,
        "triggerReason": verdict.trigger.value,
        "algorithmCalls": len(verdict.attempts),
        "attempts": [_attempt(attempt) for attempt in verdict.attempts],
        "observedAffinityName": verdict.observed_affinity,
        "error": None if verdict.error is None else _error(verdict.error),
        "condition": None
        if condition is None
        else {
            "type": condition.type,
            "status": condition.status,
            "reason": str(condition.reason),
            "message": condition.message,
        },
        "lastScheduledTimeUpdated": verdict.scheduled,
    }


def _written(verdict: ScheduleVerdict, present: tuple[TargetCluster, ...]) -> dict[str, object]:
    clusters = present if verdict.clusters is None else verdict.clusters
    return {"clusters": _targets(clusters), "order": [name for name, _ in clusters]}


def _targets(clusters: Sequence[TargetCluster]) -> list[object]:
    return [{"name": name, "replicas": replicas} for name, replicas in sorted(clusters)]


def _attempt(attempt: Attempt) -> Body:
    if isinstance(attempt.result, Failure):
        return {"affinityName": attempt.affinity_name, "error": _error(attempt.result)}
    clusters = {"clusters": _targets(attempt.result)} if attempt.result else {}
    return {"affinityName": attempt.affinity_name, **clusters}


def _error(failure: Failure) -> Body:
    return {"kind": failure.kind.value, "message": failure.message}


def _settle_messages(expected: dict[str, object], actual: dict[str, object]) -> None:
    """Where upstream's message depends on its random plugin order, accept any of its messages."""
    expected["error"] = _settled(expected.get("error"), actual["error"])
    attempts = cast(list[dict[str, object]], actual["attempts"])
    wanted = cast(list[dict[str, object]], expected.get("attempts") or [])
    for one, other in zip(wanted, attempts, strict=False):
        if "error" in one:
            one["error"] = _settled(one["error"], other.get("error"))
    condition, found = expected["condition"], actual["condition"]
    if isinstance(condition, dict) and isinstance(found, dict) and "message" not in condition:
        error = cast(Body, expected["error"])
        expected["condition"] = {**condition, "message": error["message"]}


def _settled(expected: object, actual: object) -> object:
    if not isinstance(expected, Mapping) or "messageAnyOf" not in expected:
        return expected
    if not forgives("karmada/schedule", "messageAnyOf"):
        return expected
    choices = cast(list[object], expected["messageAnyOf"])
    found = actual.get("message") if isinstance(actual, Mapping) else None
    return {"kind": expected["kind"], "message": found if found in choices else choices[0]}


def check_taints(case: Body) -> str | None:
    """Compare decisions, remaining clusters, tasks and errors of a `taints` vector."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    clusters = cast(Sequence[Body], given["clusters"])
    binding = decode_binding(cast(Body, given["binding"]))
    now = parse_moment(str(given["now"]))
    views = [decode_cluster(cluster, declared=False) for cluster in clusters]
    purge_mode = str(given.get("noExecuteTaintEvictionPurgeMode") or "Gracefully")
    if given.get("enableNoExecuteTaintEviction") is False:
        views = []
    eviction = evict(binding, views, now, purge_mode=purge_mode)
    errors = [item.error for item in eviction.decisions if item.error]
    actual: dict[str, object] = {
        "clusters": [{"name": name, "replicas": count} for name, count in eviction.clusters],
        "decisions": {item.cluster: _decision(item, now) for item in eviction.decisions},
        "gracefulEvictionTasks": [task.body for task in eviction.tasks],
        **({"errors": errors} if errors else {}),
    }
    return first_difference(expected, actual)


def _decision(leaving: Leaving, now: datetime) -> Body:
    if leaving.action is Action.AFTER and leaving.until is not None:
        return {"action": "after", "seconds": int((leaving.until - now).total_seconds())}
    return {"action": leaving.action.value}


def check_graceful(case: Body) -> str | None:
    """Compare the tasks that stay and the next look of a `gracefuleviction` vector."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = decode_binding(cast(Body, given["binding"]))
    now = parse_moment(str(given["now"]))
    seconds = int(str(given.get("gracefulEvictionTimeoutSeconds", 600)))
    found = assess_tasks(binding, now, timeout=timedelta(seconds=seconds))
    left = timedelta() if found.expires_at is None else found.expires_at - now
    actual: Body = {
        "gracefulEvictionTasks": [task.body for task in found.tasks],
        "requeueAfterSeconds": int(left.total_seconds()),
    }
    return first_difference(expected, actual)
