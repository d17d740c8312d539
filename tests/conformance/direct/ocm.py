"""The family ocm/placement: one sync of a placement, inside the scheduler."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, cast

from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.ocm.api.cluster import (
    Members,
    SetBinding,
    decode_cluster,
    decode_set,
    decode_set_binding,
    members_of,
)
from reconciler.dialects.ocm.api.placement import (
    PLACEMENT_LABEL,
    DecisionObject,
    decode_decision,
    decode_placement,
)
from reconciler.dialects.ocm.hub import OcmMemory
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    SET_LABEL,
    ManifestWork,
    ReplicaSet,
    decode_replica_set,
    decode_work,
)
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    CreateWork,
    DecidedPlacement,
    DeleteWork,
    ReplaceWork,
    SetOutcome,
    WorkAction,
    decided_placement,
    status_after,
    sync,
)
from reconciler.dialects.ocm.plan import Ocm
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
from reconciler.dialects.ocm.scheduler.schedule import (
    Code,
    Hub,
    ScheduleResult,
    Status,
    SyncVerdict,
    decided_by,
    judge,
)
from reconciler.dialects.ocm.workstatus.work_status import status_of_work
from reconciler.dialects.scores import decode_report
from reconciler.errors import UserError
from reconciler.manifests.durations import UNITS
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.fields import at, strings, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.labels import is_label_value
from reconciler.model.moments import format_moment, parse_instant, parse_moment
from reconciler.model.records import replace
from reconciler.model.world import Manifest, World
from reconciler.schedule.columns import Numbers, listed
from reconciler.schedule.framework import Mask, positions_of
from tests.builders import Body, manifest, path_of
from tests.conformance.door.door import field, items
from tests.conformance.door.ocm import GROUP, KINDS
from tests.conformance.judgements import first_difference
from tests.stories import Story, applied, linked

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


PLACEMENT = "Placement"
DECISION = "PlacementDecision"
SPOKEN = {
    **KINDS,
    "placements": ("v1beta1", PLACEMENT),
    "placementDecisions": ("v1beta1", DECISION),
}
VERSIONS = {kind: version for version, kind in SPOKEN.values()}
PASSES = 4


def check_events(case: Body) -> str | None:
    """Check that every placement that upstream queues is decided anew, if it is still there."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    repository, memo = Story().put(*_inputs(given)), Memo()
    for body in items(given, "placementDecisions"):
        _write(repository, _whole(body, DECISION))
    written = {(one := manifest(body)).key: one for body in _inputs(given)}
    there = repository.world().inputs
    refused = {key: one for key, one in written.items() if key not in there}
    world = None
    for _ in range(PASSES):
        world = _advance(repository, memo, refused, world)
    event = cast(Mapping[str, object], given["event"])
    before = _remembered(memo, expected)
    strangers = [name for name in before if not _stands(repository, name)]
    if strangers:
        return f".queued: {strangers} are no placements"
    world = _advance(repository, memo, refused, world)
    if any(answer is not before[name] for name, answer in _remembered(memo, expected).items()):
        return ".queued: without an event nothing is passed over"
    body = _whole(field(given, "event", "object"), str(event["kind"]))
    _happen(repository, str(event["verb"]), body)
    _advance(repository, memo, refused, world)
    left = [name for name, answer in _remembered(memo, expected).items() if answer is before[name]]
    passed = [name for name in left if before[name] is not None and _stands(repository, name)]
    return f".queued: {passed} are passed over" if passed else None


def _inputs(given: Body) -> Iterator[Body]:
    for name, (_, kind) in SPOKEN.items():
        if kind != DECISION:
            yield from (_whole(body, kind) for body in items(given, name))


def _whole(body: Body, kind: str) -> Body:
    whole = {"apiVersion": f"{GROUP}/{VERSIONS[kind]}", "kind": kind, **body}
    if kind != DECISION:
        return whole
    chosen = [{"reason": "", **item} for item in items(body, "status", "decisions")]
    return {**whole, "status": {"decisions": chosen}}


def _write(repository: Story, body: Body) -> None:
    if body["kind"] == DECISION:
        repository.files[output_path("status", manifest(body).key)] = encode(body)
    else:
        repository.put(body)


def _happen(repository: Story, verb: str, body: Body) -> None:
    if verb != "delete":
        _write(repository, body)
        return
    decided = body["kind"] == DECISION
    path = output_path("status", manifest(body).key) if decided else path_of(body)
    del repository.files[path]


def _advance(
    repository: Story, memo: Memo, refused: Mapping[ObjectKey, Manifest], before: World | None
) -> World:
    found = repository.world()
    world = linked(replace(found, inputs={**found.inputs, **refused}), before)
    outcome = reconcile(world, repository.now, memo=memo)
    repository.files = applied(repository.files, outcome)
    return world


def _key(name: str) -> ObjectKey:
    namespace, _, plain = name.partition("/")
    return ObjectKey(GROUP, PLACEMENT, namespace, plain)


def _stands(repository: Story, name: str) -> bool:
    return _key(name) in repository.world().inputs


def _remembered(memo: Memo, expected: Body) -> dict[str, object]:
    """What a pass remembers of each placement that upstream queues, by its name."""
    names = cast(list[str], expected["queued"])
    memory = _memory(memo)
    return {name: memory.parts.find(_key(name)) for name in names}


def _memory(memo: Memo) -> OcmMemory:
    return next(part.memory for part in memo.dialects.values() if isinstance(part, Ocm))


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
    existing = [_cluster_rollout(one) for one in cast(Sequence[Body], given["existing"])]
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
    return _group_key(body), cast(Sequence[ClusterName], body["clusters"])


def _group_key(body: Body) -> GroupKey:
    return GroupKey(str(body.get("name", "")), cast(int, body.get("index", 0)))


def _cluster_rollout(body: Body) -> ClusterRollout:
    changed, recheck = body.get("lastTransitionTime"), body.get("recheckTime")
    return ClusterRollout(
        cluster=ClusterName(str(body["cluster"])),
        group=_group_key(cast(Body, body.get("group", {}))),
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


INFORMER_RESYNC_SECONDS = 30 * 60  # upstream looks again by then anyway


def check_workreplicaset(case: Body) -> str | None:
    """Compare what is made, changed and deleted, finalizers, the status and the next look."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    body = cast(Body, given["manifestWorkReplicaSet"])
    answers = cast(Sequence[Body], expected.get("anyOf", [expected]))
    found = _set_answer(given, body)
    differences = [first_difference(_compared(one), found) for one in answers]
    return None if None in differences else differences[0]


def _compared(expected: Body) -> Body:
    return {name: one for name, one in expected.items() if name != "crdErrors"}


FINALIZER = "work.open-cluster-management.io/manifest-work-cleanup"


class SetFinalizers(NamedTuple):
    """The set itself gets these finalizers instead of those that it has; a file has none."""

    finalizers: tuple[str, ...]


@dataclass(frozen=True)
class Look:
    """What a look at a set does to it, and what it finds of its works."""

    actions: tuple[WorkAction | SetFinalizers, ...]
    outcome: SetOutcome


def look_at(
    body: Body,
    placements: Mapping[str, DecidedPlacement],
    works: Sequence[ManifestWork],
    now: datetime,
) -> Look:
    """What becomes of a set of an API server, whether it is new, stands or is deleted.

    One that is deleted deletes all works, again each time, and then lets the set go; Foreground
    waits until no work is left. In a repository a set stands, or its file is gone.

    Source: ocm@00f84c3 pkg/work/hub/controllers/manifestworkreplicasetcontroller
    `manifestworkreplicaset_controller.go` `sync`, `manifestworkreplicaset_finalize_reconcile.go`.
    """
    wanted, metadata = decode_replica_set(body), at(body, "metadata")
    finalizers = strings(metadata, "finalizers")
    deleted = metadata.get("deletionTimestamp") is not None
    if not deleted and FINALIZER not in finalizers:
        return Look((SetFinalizers((*finalizers, FINALIZER)),), SetOutcome())
    if not deleted or not is_label_value(wanted.label):
        outcome = sync(wanted, placements, works, now)
        return Look(outcome.actions, outcome)
    actions: list[WorkAction | SetFinalizers] = [*map(DeleteWork, works)]
    waits = at(body, "spec").get("cascadeDeletionPolicy") == "Foreground" and bool(works)
    if not waits and FINALIZER in finalizers:
        actions.append(SetFinalizers(tuple(one for one in finalizers if one != FINALIZER)))
    return Look(tuple(actions), SetOutcome())


def _set_answer(given: Body, body: Body) -> Body:
    wanted, now = decode_replica_set(body), str(given["now"])
    works = sorted(
        (one for one in cast(Sequence[Body], given["manifestWorks"]) if _is_own(one, wanted)),
        key=lambda one: (text(at(one, "metadata"), "namespace"), text(at(one, "metadata"), "name")),
    )
    decisions = cast(Sequence[Body], given["placementDecisions"])
    placements = {
        text(at(one, "metadata"), "name"): decided_placement(one, _decisions_of(one, decisions))
        for one in cast(Sequence[Body], given["placements"])
        if at(one, "metadata")["namespace"] == wanted.namespace
    }
    moment = parse_moment(now)
    look = look_at(body, placements, [decode_work(one) for one in works], moment)
    outcome = look.outcome
    known = at(body, "status")
    status = status_after(known, outcome, at="now")
    status = {name: one for name, one in status.items() if name != "conditions" or one}
    looked = bool(outcome.conditions)
    seconds = None if outcome.until is None else (outcome.until - moment).total_seconds()
    late = seconds is None or seconds >= INFORMER_RESYNC_SECONDS or outcome.errors
    errors = outcome.errors
    return {
        **_changes(body, look, changed=looked and status != known),
        "status": {**status, "placementSummary": status.get("placementSummary") or None},
        "requeueAfterSeconds": None if late else seconds,
        "syncError": None if not errors else errors[0] if len(errors) == 1 else list(errors),
    }


def _is_own(work: Body, wanted: ReplicaSet) -> bool:
    return at(work, "metadata", "labels").get(SET_LABEL) == wanted.label


def _decisions_of(placement: Body, decisions: Sequence[Body]) -> list[Body]:
    metadata = at(placement, "metadata")
    return [
        one
        for one in decisions
        if at(one, "metadata")["namespace"] == metadata["namespace"]
        and at(one, "metadata", "labels").get(PLACEMENT_LABEL) == metadata["name"]
    ]


def _changes(body: Body, look: Look, *, changed: bool) -> Body:
    """Return the calls in the words of the vectors."""
    actions, creates, updates, deletes = [], [], [], []
    wanted, finalizers = decode_replica_set(body), strings(at(body, "metadata"), "finalizers")
    itself = f"{wanted.namespace}/{wanted.name}"
    for action in look.actions:
        match action:
            case CreateWork():
                actions.append(f"create manifestworks {action.cluster}")
                creates.append(_made(wanted, action))
            case ReplaceWork():
                actions.append(f"patch manifestworks {action.work.cluster}/{action.work.name}")
                updates.append(_updated(wanted, action))
            case DeleteWork():
                path = f"{action.work.cluster}/{action.work.name}"
                actions.append(f"delete manifestworks {path}")
                deletes.append(path)
            case SetFinalizers():
                actions.append(f"patch manifestworkreplicasets {itself}")
                finalizers = action.finalizers
    if changed:
        actions.append(f"patch manifestworkreplicasets/status {itself}")
    return {
        "actions": _sorted_deletes(actions),
        "creates": creates,
        "updates": updates,
        "deletes": sorted(deletes),
        "finalizers": [*finalizers],
    }


def _sorted_deletes(actions: list[str]) -> list[str]:
    """Return the calls with runs of deletes sorted, as upstream's order varies."""
    result: list[str] = []
    run: list[str] = []
    for action in [*actions, ""]:
        if action.startswith("delete"):
            run.append(action)
            continue
        result += [*sorted(run), action]
        run = []
    return result[:-1]


def _made(wanted: ReplicaSet, action: CreateWork) -> Body:
    metadata = {
        "generateName": wanted.name,
        "namespace": action.cluster,
        "labels": wanted.labels_for(action.placement),
    }
    return {"metadata": metadata, "spec": wanted.template}


def _updated(wanted: ReplicaSet, action: ReplaceWork) -> Body:
    work = action.work
    kept = at(work.body, "metadata")
    metadata = {name: kept[name] for name in ("name", "namespace") if name in kept}
    patch: dict[str, object] = {}
    labels = wanted.labels_for(action.placement)
    changed = {
        "labels": _merge_patch(work.labels, labels),
        "annotations": None,
        "ownerReferences": None,
    }
    fields = {name: one for name, one in changed.items() if name in action.fields}
    if fields:
        patch["metadata"] = fields
    if "spec" in action.fields:
        patch["spec"] = _merge_patch(work.spec, wanted.template)
    return {
        "namespace": work.cluster,
        "name": work.name,
        "patch": patch,
        "result": {"metadata": {**metadata, "labels": labels}, "spec": wanted.template},
    }


def _merge_patch(before: Mapping[str, object], after: Mapping[str, object]) -> Body:
    """Return the merge patch from one mapping to another."""
    patch: dict[str, object] = dict.fromkeys(before.keys() - after.keys())
    for name, one in after.items():
        was = before.get(name)
        if isinstance(was, Mapping) and isinstance(one, Mapping):
            below = _merge_patch(was, one)
            patch |= {name: below} if below else {}
        elif was != one:
            patch[name] = one
    return patch


def check_workstatus(case: Body) -> str | None:
    """Compare the status, and whether it was patched."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    work = cast(Body, given["manifestWork"])
    raw = given.get("rawFeedbackJsonString") is True

    def lookup(meta: Body) -> Body | UserError | None:
        for fault in cast(Sequence[Body], given.get("getFaults", ())):
            if text(fault, "name") == text(meta, "name"):
                why = f"is forbidden: {fault['error']}"
                return UserError(f'{text(meta, "resource")} "{text(meta, "name")}" {why}')
        found = (o for o in cast(Sequence[Body], given["objects"]) if _identity(o) == _meant(meta))
        return next(found, None)

    before = at(work, "status")
    after = status_of_work(work, lookup, raw=raw, at="now")
    answer = {"status": after, "patched": after != before, "syncError": None}
    answers = cast(Sequence[Body], expected.get("anyOf", [expected]))
    differences = [first_difference(_told(one), _told(answer)) for one in answers]
    return None if None in differences else differences[0]


def _identity(body: Body) -> tuple[str, ...]:
    metadata, version = at(body, "metadata"), text(body, "apiVersion")
    group = group_of(version)
    named = text(metadata, "namespace"), text(metadata, "name")
    return (group, version.removeprefix(f"{group}/"), text(body, "kind"), *named)


def _meant(meta: Body) -> tuple[str, ...]:
    return tuple(text(meta, name) for name in ("group", "version", "kind", "namespace", "name"))


def _told(expected: Body) -> Body:
    """Return what is compared; Go writes no empty list."""
    status = cast(Body, expected["status"])
    full = {name: one for name, one in status.items() if one != []}
    return {"status": full, "patched": expected["patched"], "syncError": expected["syncError"]}
