"""The family ocm/placement: one sync of a placement, inside the scheduler."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import cast

from reconciler.dialects.ocm.api.cluster import (
    Members,
    SetBinding,
    decode_cluster,
    decode_set,
    decode_set_binding,
    members_of,
)
from reconciler.dialects.ocm.api.placement import DecisionObject, decode_decision, decode_placement
from reconciler.dialects.ocm.scheduler.schedule import (
    Code,
    Hub,
    ScheduleResult,
    Status,
    SyncVerdict,
    decided_by,
    judge,
)
from reconciler.dialects.scores import decode_report
from reconciler.errors import UserError
from reconciler.model.identity import ClusterName
from reconciler.model.moments import parse_instant
from reconciler.schedule.columns import Numbers, listed
from reconciler.schedule.framework import Mask, positions_of
from tests.builders import Body
from tests.conformance.compare import first_difference

COMPARED = (
    "placementDecisions",
    "numberOfSelectedClusters",
    "decisionGroups",
    "conditions",
    "ranked",
    "totals",
    "numOfUnscheduled",
    "filterResults",
    "prioritizerResults",
    "scheduleStatus",
    "requeueAfterSeconds",
    "scheduled",
)


def check_placement(case: Body) -> str | None:
    """Compare what section 0 of the vectors' notes names as comparable."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    spellings = [given["placement"], given.get("placementAsProposed")]
    differences = (
        _check_spelling({**given, "placement": body}, expected) for body in spellings if body
    )
    return next((item for item in differences if item is not None), None)


def _check_spelling(given: Body, expected: Body) -> str | None:
    actual = _sync(given)
    choices = cast(Sequence[Body], expected.get("anyOf", [expected]))
    differences = [_difference(choice, actual) for choice in choices]
    return None if None in differences else differences[0]


def _difference(expected: Body, actual: Body) -> str | None:
    wanted = {key: expected[key] for key in COMPARED if key in expected}
    found = {key: actual.get(key) for key in wanted}
    return first_difference(wanted, found)


def bodies(given: Body, name: str) -> Sequence[Body]:
    """Return the objects of one kind."""
    return cast(Sequence[Body], given.get(name) or [])


def members(given: Body) -> Members:
    """Return the fleet of a vector."""
    return members_of(map(decode_cluster, bodies(given, "managedClusters")))


def _hub(given: Body) -> Hub:
    scores = bodies(given, "addOnPlacementScores")
    metadata = [cast(Mapping[str, str], body["metadata"]) for body in scores]
    sets = map(decode_set, bodies(given, "managedClusterSets"))
    return Hub(
        members=members(given),
        sets={item.name: item for item in sets},
        bindings=_by_namespace(map(decode_set_binding, bodies(given, "managedClusterSetBindings"))),
        reports={
            (item["namespace"], item["name"]): report
            for item, report in zip(metadata, map(decode_report, scores), strict=True)
        },
    )


def _by_namespace(bindings: Iterable[SetBinding]) -> Mapping[str, tuple[SetBinding, ...]]:
    found: dict[str, tuple[SetBinding, ...]] = {}
    for one in bindings:
        found[one.namespace] = (*found.get(one.namespace, ()), one)
    return found


def _sync(given: Body) -> Body:
    """One sync; what it writes, and where more of them settle, the front door compares."""
    placement = decode_placement(cast(Body, given["placement"]))
    hub, now = _hub(given), parse_instant(str(given["now"]))
    stored = {
        (item.namespace, item.name): item
        for name in ("otherPlacementDecisions", "placementDecisions")
        for item in map(decode_decision, bodies(given, name))
    }
    try:
        verdict = judge(placement, hub, decided_by(stored.values()), now)
    except UserError:
        return {"scheduled": False}
    if verdict is None:
        return {"scheduled": False}
    return _described(verdict, hub.members, now)


def _status(verdict: SyncVerdict) -> Body:
    return {
        "numberOfSelectedClusters": len(verdict.result.ranked),
        "decisionGroups": [
            {
                "decisionGroupIndex": index,
                "decisionGroupName": item.name,
                "decisions": list(item.objects),
                "clusterCount": len(item.clusters),
            }
            for index, item in enumerate(verdict.grouped.groups)
        ],
        "conditions": [
            {
                "type": item.type,
                "status": item.status,
                "reason": item.reason,
                "message": item.message,
            }
            for item in verdict.conditions
        ],
    }


def _described(verdict: SyncVerdict, members: Members, now: datetime) -> dict[str, object]:
    result = verdict.result
    stopped = result.totals is None
    totals = (
        None
        if stopped
        else _by_name(members, result.feasible, [] if result.totals is None else result.totals)
    )
    return {
        **_status(verdict),
        "placementDecisions": [_object(item) for item in verdict.grouped.objects],
        "ranked": list(result.ranked),
        "totals": totals,
        "numOfUnscheduled": result.unscheduled,
        "filterResults": [
            {"name": name, "clusters": [members.fleet.names[i] for i in positions_of(mask)]}
            for name, mask in result.passed.items()
        ],
        "prioritizerResults": _prioritizers(result, members),
        "scheduleStatus": _code(result.status),
        "requeueAfterSeconds": _seconds(result.until, now),
    }


def _prioritizers(result: ScheduleResult, members: Members) -> list[Body]:
    found = []
    for item in result.scored:
        silent = {members.fleet.names[i] for i in positions_of(item.scores.silent)}
        by_name = _by_name(members, result.feasible, item.scores.column)
        scores = {name: score for name, score in by_name.items() if name not in silent}
        found.append((item.name, item.weight, scores))
    return [
        {"name": name, "weight": weight, "scores": scores}
        for name, weight, scores in sorted(found, key=lambda entry: entry[:2])
    ]


def _by_name(members: Members, mask: Mask, column: Numbers) -> dict[ClusterName, int]:
    return dict(
        zip((members.fleet.names[i] for i in positions_of(mask)), listed(column), strict=True)
    )


def _code(status: Status) -> Body:
    if status.code is Code.SUCCESS:
        return {"code": "Success"}
    return {"code": status.code.value, "plugin": status.plugin, "message": status.message}


def _object(item: DecisionObject) -> Body:
    return {"name": item.name, "labels": dict(item.labels), "clusters": list(item.clusters)}


def _seconds(until: datetime | None, now: datetime) -> float | None:
    return None if until is None else (until - now).total_seconds()
