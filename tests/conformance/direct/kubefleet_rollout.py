"""KubeFleet's staged update runs, round by round, with what happens in between."""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding, encode_binding
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    NUMBER_OF_SNAPSHOTS,
    PARENT,
    RESOURCE_HASH,
    SCHEDULED,
    UNSCHEDULED,
    as_count,
    kinds_in,
)
from reconciler.dialects.kubefleet.api.placement import (
    ROLLING_UPDATE,
    RolloutStrategy,
    decode_placement,
    latest_master,
)
from reconciler.dialects.kubefleet.api.snapshots import (
    Owner,
    SnapshotRevisions,
    annotations_of,
    is_latest,
)
from reconciler.dialects.kubefleet.api.updates import (
    LISTS,
    ApprovalRequest,
    RunStatus,
    decode_request,
    decode_run,
    decode_run_status,
    encode_run_status,
    encode_spec,
)
from reconciler.dialects.kubefleet.rollout.rollout import Rollout, readiness_of, roll_out
from reconciler.dialects.kubefleet.snapshots.overrides import (
    MemberLabels,
    Override,
    PickedOverrides,
    decode_override,
    overrides_of_cluster,
    overrides_of_placement,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import Resource, snapshot_resources
from reconciler.dialects.kubefleet.snapshots.selection import select_resources
from reconciler.dialects.kubefleet.updaterun.cycle import RunRound, run_round
from reconciler.dialects.kubefleet.updaterun.runs import (
    INITIALIZED,
    SUCCEEDED,
    UNEXPECTED,
    OverridesOf,
    RunView,
    Waits,
    condition_status,
)
from reconciler.dialects.kubefleet.workgenerator.content import targets_of
from reconciler.errors import UserError
from reconciler.model.fields import bodies, mapping, number, strings, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.direct.kubefleet import HUB
from tests.conformance.direct.kubefleet_admission import is_namespaced
from tests.conformance.judgements import first_difference
from tests.stories import world

FINALIZER = "kubernetes-fleet.io/stagedupdaterun-finalizer"
WAITS = {Waits.CLUSTERS: 15, Waits.APPROVAL: 60, Waits.NEXT_ROUND: 0}
PRINTED = (
    "the applyStrategy in the updateRun is outdated",  # Go prints addresses
    "the stage label selector is invalid",  # words of a library
    "invalid cluster label selector",
)
"""From here on messages are for people."""
INCOMPLETE = (
    "expected behavior which can be recovered by itself: not all resource snapshot in the same "
    "index group are created: resource snapshots are still being created for the "
    "masterResourceSnapshot"
)


def check_updaterun(case: Body) -> str | None:
    """Compare everything that an `updaterun` vector expects, step by step; of errors their kind."""
    given = cast(Body, case["input"])
    hub = Hub(given)
    for step, wanted in zip(
        bodies(given, "steps"), bodies(cast(Body, case["expected"]), "steps"), strict=True
    ):
        for action in bodies(step, "actions"):
            hub.act(action, str(step["now"]))
        told = first_difference(_plain(wanted), _plain(hub.reconcile(str(step["now"]))))
        if told is not None:
            return f"{step['now']}: {told}"
    return None


def _plain(step: object) -> object:
    """Return what a step tells without what is for people only."""
    if isinstance(step, Mapping):
        told = {name: _plain(value) for name, value in step.items()}
        if isinstance(told.get("error"), Mapping):
            told["error"] = cast(Body, told["error"])["kind"]
        message = told.get("message")
        for begun in PRINTED if isinstance(message, str) else ():
            told["message"] = str(told["message"]).partition(begun)[0]
        return told
    return [_plain(one) for one in step] if isinstance(step, list | tuple) else step


@dataclass
class Hub:
    """The objects of a vector, as the fake API server of upstream's tests keeps them."""

    given: Body
    objects: dict[tuple[str, str, str], dict[str, object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the objects at the beginning."""
        for body in bodies(self.given, "objects"):
            self.put(deepcopy(dict(body)))

    def put(self, body: dict[str, object]) -> None:
        """Create an object, or replace it."""
        metadata = mapping(body, "metadata")
        place = (str(body["kind"]), text(metadata, "namespace"), text(metadata, "name"))
        self.objects[place] = body

    def of(self, *kinds: str, namespace: str | None = None) -> Iterator[dict[str, object]]:
        """Yield the objects of some kinds, by namespace and name."""
        for (kind, place, _), body in sorted(self.objects.items()):
            if kind in kinds and namespace in (None, place):
                yield body

    def act(self, action: Body, now: str) -> None:
        """Do what happens between two rounds."""
        if action["op"] == "create":
            self.put(deepcopy(dict(mapping(action, "object"))))
            return
        place = (str(action["kind"]), text(action, "namespace"), text(action, "name"))
        body = self.objects.get(place)
        if body is None:
            return
        match action["op"]:
            case "delete":
                self.delete(place, now)
            case "finalize":
                self.finalize(place)
            case "patch":
                self.patch(place, mapping(action, "merge"))
            case "patchStatus":
                status = _merged(body.get("status", {}), mapping(action, "merge").get("status"))
                body["status"] = status
            case "condition":
                _set_condition(body, mapping(action, "condition"), now)

    def delete(self, place: tuple[str, str, str], now: str) -> None:
        """Delete an object; finalizers keep it."""
        metadata = cast(dict[str, object], self.objects[place]["metadata"])
        if not metadata.get("finalizers"):
            del self.objects[place]
        elif "deletionTimestamp" not in metadata:
            metadata["deletionTimestamp"] = now
            metadata["generation"] = number(metadata, "generation") + 1

    def finalize(self, place: tuple[str, str, str]) -> None:
        """Take all finalizers away."""
        metadata = cast(dict[str, object], self.objects[place]["metadata"])
        metadata.pop("finalizers", None)
        if "deletionTimestamp" in metadata:
            del self.objects[place]

    def patch(self, place: tuple[str, str, str], merge: Body) -> None:
        """Change an object; its generation counts changes of the spec."""
        before = self.objects[place]
        after = cast(dict[str, object], _merged(before, merge))
        after["status"] = before.get("status", {})
        metadata = cast(dict[str, object], after["metadata"])
        if after.get("spec") != before.get("spec"):
            metadata["generation"] = number(metadata, "generation") + 1
        self.objects[place] = after

    def reconcile(self, now: str) -> Body:
        """Run one round, and tell what it did."""
        named = mapping(self.given, "run")
        namespace, name = text(named, "namespace"), text(named, "name")
        scope = "" if namespace else "Cluster"
        place = (f"{scope}StagedUpdateRun", namespace, name)
        if place not in self.objects:
            return self.told(now, None, [], {"error": None})
        metadata = cast(dict[str, object], self.objects[place]["metadata"])
        if "deletionTimestamp" in metadata:
            return self._deleted(place, now)
        ops: list[tuple[str, str, str]] = []
        if FINALIZER not in strings(metadata, "finalizers"):
            metadata["finalizers"] = [*strings(metadata, "finalizers"), FINALIZER]
            ops.append((place[0], name, "update"))
        return self._round(place, now, ops)

    def _deleted(self, place: tuple[str, str, str], now: str) -> Body:
        kind = f"{'' if place[1] else 'Cluster'}ApprovalRequest"
        label = "kubernetes-fleet.io/targetUpdateRun"
        ops = []
        for body in list(self.of(kind, namespace=place[1])):
            if labels_of(body).get(label) == place[2]:
                name = text(mapping(body, "metadata"), "name")
                ops.append((kind, name, "delete"))
                self.delete((kind, place[1], name), now)
        self.finalize(place)
        return self.told(now, place, [*ops, (place[0], place[2], "update")], {"error": None})

    def _round(
        self, place: tuple[str, str, str], now: str, ops: list[tuple[str, str, str]]
    ) -> Body:
        namespace, body = place[1], self.objects[place]
        kinds = kinds_in(namespace)
        scope = "" if namespace else "Cluster"
        before = {b.name: b for b in map(_binding, self._owned(kinds.binding, place))}
        status = decode_run_status(body)
        requests = {
            one.name: one
            for one in map(decode_request, self.of(f"{scope}ApprovalRequest", namespace=namespace))
        }
        view = self._view(place, now)
        found = run_round(view, status, before, requests)
        ops += _writes_of_run(place, view, status, found)
        body["status"] = encode_run_status(found.status)
        ops += self._write_bindings(kinds.binding, before, found, now)
        ops += self._write_requests(f"{scope}ApprovalRequest", namespace, requests, found)
        for name, made in found.made.items():
            if (kinds.resource_snapshot, namespace, name) not in self.objects:
                ops.append((kinds.resource_snapshot, name, "create"))
            self.put(dict(made))
        return self.told(now, place, ops, _requeue(found, now))

    def _owned(self, kind: str, place: tuple[str, str, str]) -> Iterator[dict[str, object]]:
        run = decode_run(self.objects[place], place[1])
        for body in self.of(kind, namespace=place[1]):
            if labels_of(body).get(PARENT) == run.placement:
                yield body

    def _view(self, place: tuple[str, str, str], now: str) -> RunView:
        namespace, body = place[1], self.objects[place]
        kinds, run = kinds_in(namespace), decode_run(body, namespace)
        scope = "" if namespace else "Cluster"
        placement = self.objects.get((kinds.placement, namespace, run.placement))
        strategy = self.objects.get((f"{scope}StagedUpdateStrategy", namespace, run.strategy))
        resources = {
            text(mapping(one, "metadata"), "name"): one
            for one in self.of(kinds.resource_snapshot, namespace=namespace)
        }
        return RunView(
            run=run,
            generation=number(mapping(body, "metadata"), "generation"),
            now=parse_moment(now),
            placement=None if placement is None else decode_placement(placement, namespace),
            policies=list(self.of(kinds.policy_snapshot, namespace=namespace)),
            resources=resources,
            clusters={
                ClusterName(text(mapping(one, "metadata"), "name")): labels_of(one)
                for one in self.of("MemberCluster")
            },
            strategy=None if strategy is None else mapping(strategy, "spec"),
            select=lambda: self._selected(cast(Body, placement), namespace, resources),
            overrides=lambda group: self._overrides(run.placement, group),
        )

    def _selected(
        self, placement: Body, namespace: str, resources: Mapping[str, Body]
    ) -> SnapshotRevisions:
        decoded = decode_placement(placement, namespace)
        inputs = world(*bodies(self.given, "hubObjects")).inputs
        found = select_resources(decoded.selectors, inputs, {}, HUB, namespace)
        metadata = mapping(placement, "metadata")
        uid, generation = text(metadata, "uid"), number(metadata, "generation")
        return snapshot_resources(
            Owner(decoded.name, uid, generation, namespace),
            [Resource(json.loads(one.content), one.content) for one in found.resources],
            resources.values(),
            limit=decoded.history,
            envelopes=found.envelopes,
        )

    def _overrides(self, placement: str, group: Sequence[Body]) -> OverridesOf:
        kinds = ("ClusterResourceOverrideSnapshot", "ResourceOverrideSnapshot")
        latest = [_override(one) for one in self.of(*kinds) if is_latest(one)]
        if latest:
            _check_whole(group, f"{text(mapping(self.given, 'run'), 'namespace')}/{placement}")
        targets = [
            target
            for snapshot in group
            for one in bodies(mapping(snapshot, "spec"), "selectedResources")
            for target in targets_of(one, is_namespaced)
        ]
        matched = overrides_of_placement(latest, placement, targets, is_namespaced)
        return lambda name: _lists(matched, MemberLabels(name, self._labels(name)))

    def _labels(self, name: str) -> Mapping[str, str]:
        return labels_of(self.objects["MemberCluster", "", name])

    def _write_bindings(
        self, kind: str, before: Mapping[str, Binding], found: RunRound, now: str
    ) -> Iterator[tuple[str, str, str]]:
        for name, one in found.bindings.items():
            place = (kind, before[name].namespace, name)
            if one.generation != before[name].generation:
                yield kind, name, "update"
            if one.conditions != before[name].conditions:
                yield kind, name, "update-status"
            if one != before[name]:
                self.put(encode_binding(one))
            if name in found.deleted:
                yield kind, name, "delete"
                self.delete(place, now)

    def _write_requests(
        self, kind: str, namespace: str, before: Mapping[str, ApprovalRequest], found: RunRound
    ) -> Iterator[tuple[str, str, str]]:
        for name, one in found.requests.items():
            if name in found.asked:
                yield kind, name, "create"
            if one == before.get(name):
                continue
            if name in before:
                yield kind, name, "update-status"
            metadata = {"name": name, "generation": one.generation, "labels": dict(one.labels)}
            self.put(
                {
                    "kind": kind,
                    "metadata": {**metadata, **({"namespace": namespace} if namespace else {})},
                    "spec": encode_spec(one),
                    "status": {"conditions": list(one.conditions)},
                }
            )

    def told(
        self,
        now: str,
        place: tuple[str, str, str] | None,
        ops: Sequence[tuple[str, str, str]],
        requeue: Body,
    ) -> Body:
        """Return what a vector says after a step."""
        namespace = text(mapping(self.given, "run"), "namespace")
        scope = "" if namespace else "Cluster"
        stands = {"namespace": namespace} if namespace else {}
        run = None if place is None else self.objects.get(place)
        return {
            "requeue": False,
            "requeueAfterSeconds": 0,
            **requeue,
            "now": now,
            "ops": [
                {"kind": kind, "name": name, "verb": verb, **stands}
                for kind, name, verb in sorted(ops)
            ],
            "run": None if run is None else _run(run),
            "bindings": [
                _shown_binding(one)
                for one in self.of(kinds_in(namespace).binding, namespace=namespace)
            ],
            "approvalRequests": [_shown_request(one) for one in self.of(f"{scope}ApprovalRequest")],
        }


def _check_whole(group: Sequence[Body], placement: str) -> None:
    """Refuse a group of snapshots that lacks some, as upstream does where there are overrides."""
    master = next(one for one in group if annotations_of(one).get(RESOURCE_HASH))
    count = as_count(annotations_of(master).get(NUMBER_OF_SNAPSHOTS), NUMBER_OF_SNAPSHOTS)
    if count != len(group):
        name = text(mapping(master, "metadata"), "name")
        raise UserError(
            f"{INCOMPLETE} {name}, total snapshot in the index group = {count}, num Of existing "
            f"snapshot in the group= {len(group)}, placement = {placement}"
        )


def _binding(body: Body) -> Binding:
    """Return a binding with the overrides that its spec lists."""
    spec = mapping(body, "spec")
    lists = {name: spec[name] for name in LISTS if name in spec}
    return decode_binding(body)._replace(overrides=lists)


def _override(body: Body) -> Override:
    metadata = mapping(body, "metadata")
    name, namespace = text(metadata, "name"), text(metadata, "namespace")
    spec = mapping(mapping(body, "spec"), "overrideSpec")
    return decode_override(ObjectKey("", "", namespace, name), spec, name)


def _lists(matched: Sequence[Override], member: MemberLabels) -> Body:
    return PickedOverrides(overrides_of_cluster(matched, member)).lists


def _writes_of_run(
    place: tuple[str, str, str], view: RunView, before: RunStatus, found: RunRound
) -> Iterator[tuple[str, str, str]]:
    """Yield the writes of the run's status: once initialized, and once moved."""
    conditions = before.conditions
    was, now = (condition_status(c, INITIALIZED) for c in (conditions, found.status.conditions))
    write = (place[0], place[2], "update-status")
    if was != now:
        yield write
    over = condition_status(conditions, SUCCEEDED) or now != "True"
    failed = found.error and found.status is before
    moved = view.run.state != "Initialize" or condition_status(found.status.conditions, SUCCEEDED)
    if not over and not failed and moved:
        yield write


def _requeue(found: RunRound, now: str) -> Body:
    kind = "unexpected-behavior" if found.error.startswith(UNEXPECTED) else "other"
    error = {"kind": kind} if found.error else None
    if error is not None or found.waits is Waits.NOTHING:
        return {"error": error}
    seconds = WAITS.get(found.waits)
    if seconds is None and found.until is not None:
        seconds = int((found.until - parse_moment(now)).total_seconds())
    return {"error": None, "requeue": True, "requeueAfterSeconds": seconds}


def _merged(before: object, merge: object) -> object:
    """Return what a JSON merge patch makes of a value."""
    if not isinstance(merge, Mapping):
        return merge
    result = dict(before) if isinstance(before, Mapping) else {}
    for name, value in merge.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result


def _set_condition(body: dict[str, object], condition: Body, now: str) -> None:
    """Take the condition of a type away, and set it anew behind the others."""
    status = dict(mapping(body, "status"))
    fresh = {
        "message": "m",
        "observedGeneration": number(mapping(body, "metadata"), "generation"),
        "lastTransitionTime": now,
        **condition,
    }
    others = [one for one in bodies(status, "conditions") if one["type"] != fresh["type"]]
    body["status"] = {**status, "conditions": [*others, fresh]}


def _run(body: Body) -> Body:
    metadata = mapping(body, "metadata")
    told = {"generation": metadata["generation"], "status": body.get("status") or {}}
    return {"finalizers": list(strings(metadata, "finalizers")), **told}


def _shown_binding(body: Body) -> Body:
    metadata = mapping(body, "metadata")
    spec = {k: v for k, v in mapping(body, "spec").items() if k != "clusterDecision"}
    told: dict[str, object] = {
        "name": metadata["name"],
        "generation": metadata["generation"],
        "spec": spec,
    }
    conditions = bodies(mapping(body, "status"), "conditions")
    if conditions:
        told["conditions"] = list(conditions)
    if "deletionTimestamp" in metadata:
        told["deletionTimestamp"] = metadata["deletionTimestamp"]
    return told


def _shown_request(body: Body) -> Body:
    metadata = mapping(body, "metadata")
    conditions = [
        {name: value for name, value in one.items() if value}  # as Go writes it
        for one in bodies(mapping(body, "status"), "conditions")
    ]
    told = {"name": metadata["name"], "labels": metadata["labels"], "spec": body["spec"]}
    return {**told, "conditions": conditions} if conditions else told


CLEANUP_WAIT = timedelta(seconds=5)  # rollout/controller.go: a binding of the cluster is leaving
A_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Told:
    """Whether to run again and how long before, and (verb, name) of each write."""

    requeue: bool = False
    wait: timedelta = timedelta()
    writes: tuple[tuple[str, str], ...] = ()


def told_of(
    strategy: RolloutStrategy,
    before: Mapping[str, Binding],
    found: Rollout,
    latest: str | None,
    now: datetime,
) -> Told:
    """Return what upstream tells of a round.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `Reconcile`.
    """
    if strategy.type != ROLLING_UPDATE or found.error is not None:
        return Told()
    after = found.bindings
    pushed = [n for n, one in before.items() if one.apply_strategy != after[n].apply_strategy]
    if pushed:
        return Told(requeue=True, writes=tuple(("patch", name) for name in pushed))
    leaving = {one.target for one in before.values() if one.deleting}
    if leaving & {one.target for one in before.values() if not one.deleting}:
        return Told(wait=CLEANUP_WAIT)
    if latest is None:
        return Told()
    rolls = any(_is_rolled(one, latest) for one in before.values())
    wait = _wait(before, found, timedelta(seconds=strategy.period_seconds), now)
    return Told(rolls, wait if rolls else timedelta(), tuple(_writes(before, found, rolls=rolls)))


def _is_rolled(binding: Binding, latest: str) -> bool:
    """Return whether there is something to do with a binding."""
    stale = binding.state == BOUND and binding.resource_snapshot != latest
    return binding.state == SCHEDULED or (
        not binding.deleting and (stale or binding.state == UNSCHEDULED)
    )


def _wait(
    before: Mapping[str, Binding], found: Rollout, period: timedelta, now: datetime
) -> timedelta:
    """Return how long upstream waits: the period, or less where time makes one ready sooner."""
    running = [one for one in before.values() if one.state in (BOUND, UNSCHEDULED)]
    if all(readiness_of(one, now, period).ready for one in running):
        return timedelta()
    return period if found.until is None else min(period, found.until - A_SECOND - now)


def _writes(
    before: Mapping[str, Binding], found: Rollout, *, rolls: bool
) -> Iterator[tuple[str, str]]:
    """Yield what is written: a round that rolls announces even what was announced before."""
    for name, binding in before.items():
        after = found.bindings[name]
        if binding.generation != after.generation:
            yield "update", name
        staying = binding.state == SCHEDULED or (binding.state == BOUND and not binding.deleting)
        if staying if rolls else binding.conditions != after.conditions:
            yield "update-status", name
    yield from (("delete", name) for name in found.deleted)


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
            _binding_after(before[name], found, now) for name in sorted(before) if name not in gone
        ],
    }
    expected["ops"] = _sorted(cast(Sequence[Body], expected["ops"]))
    if expected["error"] is not None:
        expected["error"] = {"kind": cast(Body, expected["error"])["kind"]}
    return first_difference(expected, actual)


def _sorted(ops: Sequence[Body]) -> list[Body]:
    return sorted(ops, key=lambda op: json.dumps(op, sort_keys=True))


def _binding_after(before: Binding, found: Rollout, now: str) -> Body:
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
