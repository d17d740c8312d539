"""The family ocm/workreplicaset: one look at a ManifestWorkReplicaSet."""

from collections.abc import Mapping, Sequence
from typing import cast

from reconciler.dialects.ocm.api.placement import PLACEMENT_LABEL
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    SET_LABEL,
    ReplicaSet,
    decode_replica_set,
    decode_work,
)
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    CreateWork,
    DeleteWork,
    ReplaceWork,
    SetFinalizers,
    SetOutcome,
    decided_placement,
    look_at,
    status_after,
)
from reconciler.model.fields import at, text
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference

INFORMER_RESYNC_SECONDS = 30 * 60  # upstream looks again by then anyway


def check_workreplicaset(case: Body) -> str | None:
    """Compare what is made, changed and deleted, finalizers, the status and the next look."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    body = cast(Body, given["manifestWorkReplicaSet"])
    answers = cast(Sequence[Body], expected.get("anyOf", [expected]))
    found = _answer(given, body)
    differences = [first_difference(_compared(one), found) for one in answers]
    return None if None in differences else differences[0]


def _compared(expected: Body) -> Body:
    return {name: one for name, one in expected.items() if name != "crdErrors"}


def _answer(given: Body, body: Body) -> Body:
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
    outcome = look_at(wanted, placements, [decode_work(one) for one in works], moment)
    known = at(body, "status")
    status = status_after(known, outcome, at="now")
    status = {name: one for name, one in status.items() if name != "conditions" or one}
    looked = bool(outcome.conditions)
    seconds = None if outcome.until is None else (outcome.until - moment).total_seconds()
    late = seconds is None or seconds >= INFORMER_RESYNC_SECONDS or outcome.errors
    errors = outcome.errors
    return {
        **_changes(wanted, outcome, changed=looked and status != known),
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


def _changes(wanted: ReplicaSet, outcome: SetOutcome, *, changed: bool) -> Body:
    """Return the calls in the words of the vectors."""
    actions, creates, updates, deletes = [], [], [], []
    finalizers = wanted.finalizers
    itself = f"{wanted.namespace}/{wanted.name}"
    for action in outcome.actions:
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
        "labels": _difference(work.labels, labels),
        "annotations": None,
        "ownerReferences": None,
    }
    fields = {name: one for name, one in changed.items() if name in action.fields}
    if fields:
        patch["metadata"] = fields
    if "spec" in action.fields:
        patch["spec"] = _difference(work.spec, wanted.template)
    return {
        "namespace": work.cluster,
        "name": work.name,
        "patch": patch,
        "result": {"metadata": {**metadata, "labels": labels}, "spec": wanted.template},
    }


def _difference(before: Mapping[str, object], after: Mapping[str, object]) -> Body:
    """Return the merge patch from one mapping to another."""
    patch: dict[str, object] = dict.fromkeys(before.keys() - after.keys())
    for name, one in after.items():
        was = before.get(name)
        if isinstance(was, Mapping) and isinstance(one, Mapping):
            below = _difference(was, one)
            patch |= {name: below} if below else {}
        elif was != one:
            patch[name] = one
    return patch
