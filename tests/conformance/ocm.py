"""The family ocm/placement: one sync of a placement, and more of them until it settles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from reconciler.dialects.ocm.api.cluster_sets import decode_set, decode_set_binding
from reconciler.dialects.ocm.api.clusters import Members, decode_cluster, members_of
from reconciler.dialects.ocm.api.placement import Placement, decode_placement
from reconciler.dialects.ocm.decisions.placement_decisions import (
    DecisionObject,
    decided_by,
    decode_decision,
)
from reconciler.dialects.ocm.decisions.sync import Hub, SyncVerdict, judge
from reconciler.dialects.ocm.scheduler.request import decode_report
from reconciler.dialects.ocm.scheduler.schedule import Code, ScheduleResult, Status
from reconciler.errors import UserError
from reconciler.model.identity import ClusterName
from reconciler.model.moments import parse_instant
from reconciler.schedule.framework import Mask, positions_of
from tests.conformance.compare import first_difference
from tests.conformance.judgements import without_library

Body = Mapping[str, object]

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
    "settled",
    "scheduled",
    "storedAfterOneSync",
)
MOST_SYNCS = 16


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
    if "panic" in expected:
        return "upstream crashes here"
    choices = cast(Sequence[Body], expected.get("anyOf", [expected]))
    differences = [_difference(choice, actual) for choice in choices]
    return None if None in differences else differences[0]


def _difference(expected: Body, actual: Body) -> str | None:
    wanted = {key: expected[key] for key in COMPARED if key in expected}
    found = {key: actual.get(key) for key in wanted}
    return first_difference(without_library(wanted), without_library(found))


@dataclass(frozen=True)
class Stored:
    """What the hub holds of the placement: its decisions by name, and its status."""

    decisions: Mapping[str, DecisionObject]
    status: object


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
        bindings=tuple(map(decode_set_binding, bodies(given, "managedClusterSetBindings"))),
        reports={
            (item["namespace"], item["name"]): report
            for item, report in zip(metadata, map(decode_report, scores), strict=True)
        },
    )


def _sync(given: Body) -> Body:
    """One sync, then more of them at the same moment until nothing is written."""
    placement = decode_placement(cast(Body, given["placement"]))
    hub, now = _hub(given), parse_instant(str(given["now"]))
    others = [decode_decision(body) for body in bodies(given, "otherPlacementDecisions")]
    owned = [decode_decision(body) for body in bodies(given, "placementDecisions")]
    both = {(item.namespace, item.name): item for item in (*others, *owned)}
    status = cast(Body, given["placement"]).get("status")

    def answer(stored: Mapping[tuple[str, str], DecisionObject]) -> SyncVerdict | None:
        return judge(placement, hub, decided_by(stored.values()), now)

    try:
        verdict = answer(both)
    except UserError as error:
        return {"scheduled": False, "syncError": error.message}
    if verdict is None:
        return {"scheduled": False}
    first = _written(both, verdict, placement)
    result = _described(verdict, hub.members, now)
    wanted = result["placementDecisions"]
    after = [_object(item) for key, item in sorted(first.items()) if _is_own(item, placement)]
    if after != wanted:
        result["storedAfterOneSync"] = after
    result["settled"] = _settle(both, answer, placement, now, status)
    return result


def _is_own(item: DecisionObject, placement: Placement) -> bool:
    return item.owner == (placement.namespace, placement.name)


def _written(
    stored: Mapping[tuple[str, str], DecisionObject], verdict: SyncVerdict, placement: Placement
) -> dict[tuple[str, str], DecisionObject]:
    """What stands after one sync: labels change only where clusters need not."""
    result = dict(stored)
    names = set()
    for item in verdict.grouped.objects:
        key = (item.namespace, item.name)
        names.add(key)
        present = stored.get(key)
        if present is None or present.clusters == item.clusters:
            result[key] = item
        else:
            result[key] = replace(present, clusters=item.clusters)
    gone = [key for key, item in stored.items() if _is_own(item, placement) and key not in names]
    for key in gone:
        del result[key]
    return result


def _settle(
    stored: dict[tuple[str, str], DecisionObject],
    answer: Callable[[Mapping[tuple[str, str], DecisionObject]], SyncVerdict | None],
    placement: Placement,
    now: datetime,
    status: object,
) -> Body:
    """Repeat the sync until nothing is written."""
    seen = [(stored, status)]
    for number in range(1, MOST_SYNCS):
        verdict = answer(stored)
        assert verdict is not None
        after = _written(stored, verdict, placement)
        described: object = _status(verdict)
        if (after, described) == (stored, status):
            return {
                "syncs": number,
                "requeueAfterSeconds": _seconds(verdict.result.until, now),
            }
        stored, status = after, described
        if (stored, status) in seen:
            period = len(seen) - seen.index((stored, status))
            return {"syncs": number, "oscillates": True, "period": period}
        seen.append((stored, status))
    return {"syncs": MOST_SYNCS}


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
    totals = None if stopped else _by_name(members, result.feasible, result.totals or ())
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


def _by_name(members: Members, mask: Mask, column: Sequence[int]) -> dict[ClusterName, int]:
    return dict(zip((members.fleet.names[i] for i in positions_of(mask)), column, strict=True))


def _code(status: Status) -> Body:
    if status.code is Code.SUCCESS:
        return {"code": "Success"}
    return {"code": status.code.value, "plugin": status.plugin, "message": status.message}


def _object(item: DecisionObject) -> Body:
    return {"name": item.name, "labels": dict(item.labels), "clusters": list(item.clusters)}


def _seconds(until: datetime | None, now: datetime) -> float | None:
    return None if until is None else (until - now).total_seconds()
