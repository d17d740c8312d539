"""The family ocm/rollout: which clusters a rollout goes to now."""

from collections.abc import Sequence
from typing import cast

from reconciler.dialects.ocm.rollout import (
    BLOCKS,
    ClusterGroups,
    ClusterRollout,
    GroupKey,
    PlacementRollout,
    RolloutStatus,
    RolloutType,
    decode_strategy,
    roll_out,
)
from reconciler.errors import UserError
from reconciler.manifests.durations import UNITS
from reconciler.model.identity import ClusterName
from reconciler.model.moments import format_moment, parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference


def check_rollout(case: Body) -> str | None:
    """Compare the strategy in force and all lists, or the error."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    expected.pop("crdErrors", None)
    return first_difference(expected, _answer(given))


def _answer(given: Body) -> Body:
    try:
        strategy = decode_strategy(cast(Body | None, given.get("strategy")))
    except UserError as error:
        word = "error" if "strategy type" in error.message else "decodeError"
        return {word: error.message}
    now = parse_moment(str(given["now"]))
    groups = ClusterGroups(map(_group, cast(Sequence[Body], given["groups"])))
    existing = [_status(one) for one in cast(Sequence[Body], given["existing"])]
    try:
        found = roll_out(strategy, groups, existing, now)
    except UserError as error:
        return {"error": error.message}
    until = found.until(now)
    return {
        "strategy": _strategy(strategy),
        "clustersToRollout": [_shown(one) for one in found.clusters],
        "clustersTimeOut": [_shown(one) for one in found.timed_out],
        "clustersRemoved": [_shown(one) for one in found.removed],
        "maxFailureBreach": found.breached,
        "recheckAfterSeconds": None if until is None else (until - now).total_seconds(),
    }


def _group(body: Body) -> tuple[GroupKey, Sequence[ClusterName]]:
    return _key(body), cast(Sequence[ClusterName], body["clusters"])


def _key(body: Body) -> GroupKey:
    return GroupKey(str(body.get("name", "")), cast(int, body.get("index", 0)))


def _status(body: Body) -> ClusterRollout:
    changed, recheck = body.get("lastTransitionTime"), body.get("recheckTime")
    return ClusterRollout(
        cluster=ClusterName(str(body["cluster"])),
        group=_key(cast(Body, body.get("group", {}))),
        status=RolloutStatus(str(body["status"])),
        changed_at=parse_moment(str(changed)) if changed else None,
        recheck_at=parse_moment(str(recheck)) if recheck else None,
    )


def _shown(one: ClusterRollout) -> Body:
    body: dict[str, object] = {"cluster": one.cluster, "status": str(one.status)}
    if one.group != GroupKey():
        name = {"name": one.group.name} if one.group.name else {}
        body["group"] = {"index": one.group.index, **name}
    if one.changed_at is not None:
        body["lastTransitionTime"] = format_moment(one.changed_at)
    if one.recheck_at is not None:
        body["recheckTime"] = one.recheck_at.isoformat().replace("+00:00", "Z")
    return body


def _strategy(one: PlacementRollout) -> Body:
    """Return a strategy as upstream returns it."""
    block: dict[str, object] = {
        "maxFailures": 0 if one.max_failures is None else one.max_failures,
        "minSuccessTime": go_duration(one.min_success_nanoseconds),
    }
    if one.type is RolloutType.PROGRESSIVE:
        block["maxConcurrency"] = 0 if one.max_concurrency is None else one.max_concurrency
    if one.progress_deadline:
        block["progressDeadline"] = one.progress_deadline
    if one.mandatory:
        block["mandatoryDecisionGroups"] = [
            ({"groupName": group.name} if group.name else {})
            | ({"groupIndex": group.index} if group.index else {})
            for group in one.mandatory
        ]
    return {"type": str(one.type), BLOCKS[one.type]: block}


def go_duration(nanoseconds: int) -> str:
    """Return a duration as Go prints it."""
    sign, left = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if 0 < left < UNITS["s"]:
        unit = next(one for one in ("ms", "us", "ns") if left >= UNITS[one])
        return f"{sign}{_fraction(left, unit)}{unit}"
    minutes, left = divmod(left, UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    whole = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes or hours else "")
    return f"{sign}{whole}{_fraction(left, 's')}s"


def _fraction(nanoseconds: int, unit: str) -> str:
    whole, rest = divmod(nanoseconds, UNITS[unit])
    digits = len(str(UNITS[unit])) - 1
    return f"{whole}.{rest:0{digits}}".rstrip("0").rstrip(".") if rest else str(whole)
