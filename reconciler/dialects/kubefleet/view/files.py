"""The files of a placement that converged, but for its status: bindings and snapshots.

A person's edit of the state or of the target cluster of a binding counts as the previous
assignment. All else that follows from other files, or is constant, is read from there, so that an
edit of it is undone. Digests in snapshots show edits of them.

How bindings and placements are by now is what their files say, and what is assumed since. Nothing
but files is read: a binding without any condition of its present resources is of a cluster that
never reported them, and says when they were rolled out. A placement follows its bindings.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.binding import (
    PLACEMENT_PART,
    Binding,
    ClusterStatus,
    decode_binding,
    decode_placement_status,
    encode_binding,
    encode_placement_status,
    state_of,
    target_of,
)
from reconciler.dialects.kubefleet.api.member import timeless
from reconciler.dialects.kubefleet.api.names import (
    BINDINGS,
    BOUND,
    PARENT,
    PLACEMENT_GROUP,
    PREVIOUS_STATE,
    SCHEDULED,
    SCHEDULER_FINALIZER,
    SCOPES,
    UNSCHEDULED,
    VERSIONS,
    kinds_in,
    named_in,
)
from reconciler.dialects.kubefleet.api.snapshots import (
    ClusterDecision,
    annotations_of,
    chosen,
    labels_of,
    lasting_status,
    new_decision,
)
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement
from reconciler.dialects.kubefleet.rollout.availability import (
    ROLLED_OUT,
    ROLLED_OUT_AT,
    assumed_conditions,
)
from reconciler.dialects.kubefleet.rollout.rollout import (
    OVERRIDDEN,
    ROLLOUT_STARTED,
    STAGES,
    announcement,
    overall_conditions,
    reported,
)
from reconciler.dialects.kubefleet.view.placed import owner_of
from reconciler.errors import UserError
from reconciler.manifests.admission import SPEC_DIGEST, digest
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import mapping, number, text
from reconciler.model.health import assume
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import add, format_moment, is_moment, parse_moment, span, stamp
from reconciler.model.records import dataclass
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World

DECISION_DIGEST = "reconciler.dev/decision-digest"
STATES = (SCHEDULED, BOUND, UNSCHEDULED)
STAYING = (SCHEDULED, BOUND)
KNOWN_MARKS = (PREVIOUS_STATE, ROLLED_OUT, ROLLED_OUT_AT, VERSIONS)


def read_binding(
    body: Body,
    placement: str,
    policy_snapshot: str,
    decisions: Mapping[str, ClusterDecision],
    *,
    edited: bool,
) -> Binding:
    """Return a binding as the scheduler may take it, whatever a person did to its file.

    Args:
        body: The file.
        placement: Name of its placement.
        policy_snapshot: The policy snapshot that the last pass left in force; all bindings that
            stay are of it.
        decisions: What that pass decided, by cluster; empty if a person edited it.
        edited: Whether a person edited the binding, as `is_edited` says.
    """
    read = decode_binding(body)
    state = read.state if read.state in STATES else SCHEDULED
    marks = {name: read.annotations[name] for name in KNOWN_MARKS if name in read.annotations}
    resources = marks.get(ROLLED_OUT, read.resource_snapshot)
    if state == UNSCHEDULED and marks.get(PREVIOUS_STATE) not in STAYING:
        marks[PREVIOUS_STATE] = BOUND if resources else SCHEDULED
    binding = read._replace(
        state=state,
        policy_snapshot=policy_snapshot if state in STAYING else read.policy_snapshot,
        resource_snapshot=resources,
        generation=max(read.generation, 1),
        deleting=False,
        labels={PARENT: placement},
        annotations=marks,
        finalizers=(SCHEDULER_FINALIZER,),
        conditions=tuple(_conditions(read.conditions)),
        overrides=read.overrides if resources else {},
        body=_constant(read),
    )
    if edited and read.decision.cluster != read.target:
        return _moved(binding)
    decided = decisions.get(read.target) if state in STAYING else None
    return binding._replace(
        decision=chosen(read.decision, read.target) if decided is None else decided
    )


def _conditions(written: Iterable[Body]) -> Iterable[Body]:
    """Keep the conditions that a pass writes, each with the words that it writes."""
    seen = set()
    for condition in written:
        kind = condition.get("type")
        if kind not in STAGES or kind in seen:
            continue
        seen.add(kind)
        if kind == ROLLOUT_STARTED:
            announced = announcement(
                started=condition.get("status") == "True",
                generation=number(condition, "observedGeneration"),
            )
            condition = {  # noqa: PLW2901  # the same condition in our words
                **condition,
                "status": announced.status,
                "reason": announced.reason,
                "message": announced.message,
            }
        yield condition


def _constant(binding: Binding) -> Body:
    """Return what of the file never changes."""
    created = text(mapping(binding.body, "metadata"), "creationTimestamp")
    return {"metadata": {"creationTimestamp": created}} if is_moment(created) else {}


def _moved(binding: Binding) -> Binding:
    """Return a binding that a person gave another cluster: nothing of the former one counts."""
    former = (ROLLED_OUT, ROLLED_OUT_AT, VERSIONS)
    marks = {k: v for k, v in binding.annotations.items() if k not in former}
    by_hand = f'Cluster "{binding.target}" was chosen by hand'
    decision = new_decision(binding.target, by_hand, selected=True)
    return binding._replace(annotations=marks, decision=decision, conditions=(), overrides={})


def keep_one_a_cluster(bindings: Iterable[Binding], edited: Iterable[str]) -> dict[str, Binding]:
    """Return the bindings by name, of those for one cluster only one.

    One that stays comes before one that leaves, and an unedited one before an edited one.
    """
    by_hand = frozenset(edited)
    ordered = sorted(bindings, key=lambda b: (b.state == UNSCHEDULED, b.name in by_hand, b.name))
    bindings_by_cluster: dict[str, Binding] = {}
    for binding in ordered:
        bindings_by_cluster.setdefault(binding.target, binding)
    return {
        binding.name: binding
        for binding in sorted(bindings_by_cluster.values(), key=lambda b: b.name)
    }


def is_edited(body: Body) -> bool:
    """Return whether state or target differ from what the last pass wrote."""
    written = text(mapping(mapping(body, "metadata"), "annotations"), DECISION_DIGEST)
    return bool(written) and written != _digest(target_of(body), state_of(body))


def binding_file(binding: Binding, at: str) -> Body:
    """Return the file of a binding.

    Args:
        binding: Where the pass leaves it.
        at: Text of the present moment, for one that is new.
    """
    body = encode_binding(
        binding._replace(
            annotations={
                **binding.annotations,
                DECISION_DIGEST: _digest(binding.target, binding.state),
            }
        )
    )
    metadata = {
        **named_in(binding.namespace, binding.name),
        "uid": uid_of(key_of(binding)),
        "creationTimestamp": at,
        **mapping(body, "metadata"),
    }
    annotations = mapping(metadata, "annotations")
    metadata["annotations"] = {name: annotations[name] for name in sorted(annotations)}
    return {**body, "metadata": metadata}


def _digest(target: str, state: str) -> str:
    return digest([target, state])


def key_of(binding: Binding) -> ObjectKey:
    """Return the key of a binding."""
    return ObjectKey(
        PLACEMENT_GROUP, kinds_in(binding.namespace).binding, binding.namespace, binding.name
    )


def targets_in(files: Mapping[ObjectKey, Body]) -> frozenset[str]:
    """Return the clusters that the bindings among some files are for."""
    return frozenset(target_of(body) for key, body in files.items() if key.kind in BINDINGS)


STATUS_DIGEST = "reconciler.dev/status-digest"


def snapshot_file(key: ObjectKey, body: Body, at: str) -> Body:
    """Return the file of a snapshot: with uid, date, and the digests by which edits are seen.

    Args:
        key: Its key.
        body: Where the pass leaves it.
        at: Text of the present moment, for one that is new.
    """
    metadata = mapping(body, "metadata")
    annotations = {**annotations_of(body), SPEC_DIGEST: digest(mapping(body, "spec"))}
    if mapping(body, "status"):
        annotations[STATUS_DIGEST] = digest(lasting_status(body, timeless))
    return {
        **body,
        "metadata": {
            **named_in(key.namespace, key.name),
            "uid": uid_of(key),
            "creationTimestamp": at,
            **metadata,
            "labels": _by_name(labels_of(body)),
            "annotations": _by_name(annotations),
        },
    }


def _by_name(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return labels or annotations in one order, however they came about."""
    return {name: pairs[name] for name in sorted(pairs)}


def files_of(converged: ConvergedPlacement, namespace: str, now: datetime) -> dict[ObjectKey, Body]:
    """Return the files of a placement but for its status."""
    outputs: dict[ObjectKey, Body] = {}
    kinds = kinds_in(namespace)
    for kind, found in (
        (kinds.policy_snapshot, converged.policies),
        (kinds.resource_snapshot, converged.resources),
    ):
        for name, body in found.items():
            key = ObjectKey(PLACEMENT_GROUP, kind, namespace, name)
            outputs[key] = snapshot_file(key, body, stamp(now))
    for binding in converged.bindings.values():
        outputs[key_of(binding)] = binding_file(binding, stamp(now))
    return outputs


def is_unreadable(world: World, key: ObjectKey) -> bool:
    """Return whether a file that may belong to a placement cannot be read."""
    if not world.frozen or is_frozen(world, key):
        return bool(world.frozen)
    stems = (
        output_path(
            world.output_root,
            ObjectKey(PLACEMENT_GROUP, kind, key.namespace, f"{key.name[:PLACEMENT_PART]}-"),
        )
        for kind in kinds_in(key.namespace).owned
    )
    prefixes = tuple(stem.removesuffix(".yaml") for stem in stems)
    return any(path.startswith(prefixes) for path in world.frozen.paths) or any(
        map(world.frozen.may_hold, prefixes)
    )


TOLD = "Scheduled"  # what an entry of a cluster says before its stages


def assumed_bindings(world: World, now: datetime, /) -> Callable[[Manifest], Body]:
    """Return what says how bindings are by now; one of which nothing is assumed stays the same."""
    seconds = settings_in(world).assume_after_seconds

    def of(manifest: Manifest) -> Body:
        assumed = _assumed(manifest.body, seconds, now)
        if assumed is None:
            return manifest.body
        conditions: Sequence[Body] = assumed.binding.conditions
        for condition in assumed.conditions:
            conditions = set_condition(conditions, condition, at=assumed.since)
        ordered = sorted(conditions, key=_place)
        status = {**mapping(manifest.body, "status"), "conditions": ordered}
        return {**manifest.body, "status": status}

    return of


def _place(condition: Body) -> int:
    """Return where a condition stands among others; one that a person wrote comes last."""
    kind = condition.get("type")
    return STAGES.index(kind) if kind in STAGES else len(STAGES)


def assumed_placements(world: World, now: datetime, /) -> Callable[[Manifest], Body]:
    """Return what says how placements are by now, by their bindings; see `assumed_bindings`."""
    fleet = _Fleet(world, now)

    def of(manifest: Manifest) -> Body:
        try:
            return _placement(manifest, fleet.assumed.get(manifest.key, {}))
        except UserError:  # a person made it unreadable, and it is shown as it stands
            return manifest.body

    return of


class _Assumed(NamedTuple):
    """What is assumed of the cluster of a binding, since a moment as text."""

    binding: Binding
    conditions: Sequence[Condition]
    since: str


def _assumed(body: Body, seconds: int | None, now: datetime) -> _Assumed | None:
    """Return what is assumed by now of the cluster of a binding's file, `None` if nothing is."""
    try:
        binding = decode_binding(body)
    except UserError:
        return None
    at = binding.annotations.get(ROLLED_OUT_AT, "")
    is_there = binding.state in (BOUND, UNSCHEDULED) and binding.resource_snapshot
    is_dated = binding.annotations.get(ROLLED_OUT) == binding.resource_snapshot and is_moment(at)
    silent = not _reports(binding) and not _is_undelivered(binding)
    if seconds is None or not is_there or not is_dated or not silent:
        return None
    if not assume(parse_moment(at), seconds, now).available:
        return None
    since = format_moment(add(parse_moment(at), span(seconds=seconds)))
    return _Assumed(binding, assumed_conditions(binding, seconds), since)


def _is_undelivered(binding: Binding) -> bool:
    """Return whether an override does not fit, so that the cluster was given nothing."""
    return any(
        (one.get("type"), one.get("status")) == (OVERRIDDEN, "False")
        and one.get("observedGeneration") == binding.generation
        for one in binding.conditions
    )


def _reports(binding: Binding) -> bool:
    """Return whether a binding says anything of what clusters report."""
    return any(
        one.get("type") in reported(binding.apply_strategy)
        and one.get("observedGeneration") == binding.generation
        for one in binding.conditions
    )


@dataclass
class _Fleet:
    """The bindings of a world."""

    world: World
    now: datetime

    @cached_property
    def assumed(self) -> Mapping[ObjectKey, Mapping[str, _Assumed]]:
        """By placement and cluster what is assumed; each is looked at once."""
        seconds = settings_in(self.world).assume_after_seconds
        found: defaultdict[ObjectKey, dict[str, _Assumed]] = defaultdict(dict)
        for binding in self._bindings():
            owner, assumed = (
                owner_of(binding.key, binding.body),
                _assumed(binding.body, seconds, self.now),
            )
            staying = assumed is not None and assumed.binding.state in (SCHEDULED, BOUND)
            if owner is not None and assumed is not None and staying:
                found[owner][str(assumed.binding.target)] = assumed
        return found

    def _bindings(self) -> Iterator[Manifest]:
        return self.world.outputs_of((PLACEMENT_GROUP, kinds.binding) for kinds in SCOPES)


def _placement(manifest: Manifest, assumed: Mapping[str, _Assumed]) -> Body:
    """Return a placement with what is assumed of its clusters."""
    status = decode_placement_status(manifest.body)
    entries = [_entry(one, assumed.get(one.cluster)) for one in status.clusters or ()]
    since = [found.since for one, found in entries if found is not None]
    if not since:
        return manifest.body
    kind, conditions = manifest.key.kind, list(status.conditions or ())
    reached = [_reached(one) for one, _ in entries]
    stages = [stage for stage in STAGES if any(stage in one for one in reached)]
    generation = _generation(conditions, f"{kind}Scheduled")
    overridden = any(one.overrides for one, _ in entries)
    reaching = [one for one in reached if one]
    for condition in overall_conditions(kind, stages, generation, reaching, overridden=overridden):
        conditions = set_condition(conditions, condition, at=max(since))
    placement_status = status._replace(
        conditions=conditions, clusters=tuple(one for one, _ in entries)
    )
    return {**manifest.body, "status": encode_placement_status(placement_status)}


def _entry(entry: ClusterStatus, assumed: _Assumed | None) -> tuple[ClusterStatus, _Assumed | None]:
    """Return the entry of a cluster with what is assumed of it, where it waits for reports."""
    last: Body = entry.conditions[-1] if entry.conditions else {}
    waits = last.get("status") == "Unknown"
    if assumed is None or not waits or last.get("type") != assumed.conditions[0].type:
        return entry, None
    conditions: Sequence[Body] = entry.conditions
    for condition in assumed.conditions:
        announced = Condition(
            condition.type,
            condition.status,
            condition.reason,
            condition.message,
            _generation([last]),
        )
        conditions = set_condition(conditions, announced, at=assumed.since)
    return entry._replace(conditions=conditions), assumed


def _reached(entry: ClusterStatus) -> dict[str, str]:
    """Return the stages of a selected cluster with their status, none of another one."""
    stages = {text(one, "type"): text(one, "status") for one in entry.conditions}
    return stages if stages.pop(TOLD, "") == "True" else {}


def _generation(conditions: Iterable[Body], kind: str = "") -> int:
    """Return the generation that the first condition speaks of, or that of a type."""
    matching = (one for one in conditions if kind in ("", one.get("type")))
    return number(next(matching, {}), "observedGeneration")
