"""Rebalancers and triggers of a round: what they trigger, their status files, and their removal.

All are asked first, and what they demand of each target is joined; what comes of it is known after
the plans. A rebalancer or trigger that is over goes: its file, or its document where the file holds
others.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from reconciler.core.changes import (
    Change,
    DeleteFile,
    LimitOverride,
    Removal,
    TargetResult,
    WriteFile,
)
from reconciler.dialects.contract import Dialect, Prepared, RescheduleTrigger
from reconciler.dialects.object_pass import Failed, attempt, place_of
from reconciler.manifests.admission import admit
from reconciler.manifests.edits.documents import cut
from reconciler.manifests.paths import is_frozen
from reconciler.manifests.text.reader import Document, read
from reconciler.model.body import Body
from reconciler.model.decision import Wait
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import Manifest, World
from reconciler.rebalance.rebalancer_files import (
    JoinedDemand,
    TargetDemand,
    decode_rebalancer,
    join_demands,
    overridden_limits,
)
from reconciler.rebalance.schedule_trigger import (
    TRIGGERED,
    Firing,
    Waiting,
    decode_trigger,
    decode_trigger_status,
    fire,
    is_marked,
    kept,
    marked,
    triggered_in,
)
from reconciler.rebalance.surge import MakeBeforeBreak
from reconciler.rebalance.target import (
    REBALANCE_KINDS,
    REBALANCER,
    TRIGGER,
    Reference,
    Rescheduled,
    Target,
    TargetSelection,
)
from reconciler.rebalance.workload_rebalancer import RebalancerStep, advance

Demands = Mapping[ObjectKey, TargetDemand]
"""What one rebalancer demands, by the key of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedTriggers:
    """What is demanded of each target.

    Attributes:
        triggers: Target to the trigger that counts.
        overrides: The limits that do not hold in this round, sorted.
    """

    triggers: Mapping[ObjectKey, RescheduleTrigger] = field(default_factory=dict)
    overrides: tuple[LimitOverride, ...] = ()


def join_triggers(
    demanding: Mapping[ObjectKey, Demands],
    allowed: Mapping[ObjectKey, Mapping[ObjectKey, int]],
    surging: Mapping[ObjectKey, Mapping[ObjectKey, MakeBeforeBreak]],
) -> JoinedTriggers:
    """Join the demands of all rebalancers and triggers.

    Args:
        demanding: Rebalancer to what it demands.
        allowed: Rebalancer to what its limit lets go now, of the targets that have more to move.
        surging: Rebalancer to how it wants its targets made before anything breaks.
    """
    demands: dict[ObjectKey, dict[str, TargetDemand]] = defaultdict(dict)
    limits: dict[ObjectKey, dict[str, int]] = defaultdict(dict)
    surges: dict[ObjectKey, dict[str, MakeBeforeBreak]] = defaultdict(dict)
    for key, wanted_of in surging.items():
        for target, surge in wanted_of.items():
            surges[target][_name(key)] = surge
    for key, wanted in demanding.items():
        for target, demand in wanted.items():
            demands[target][_name(key)] = demand
    for key, counts in allowed.items():
        for target, count in counts.items():
            limits[target][_name(key)] = count
    names = {_name(key): key for key in demanding}
    joined = {target: join_demands(found, surges.get(target)) for target, found in demands.items()}
    overrides = (
        LimitOverride(target, limit)
        for target in joined.keys() & limits.keys()
        for limit in overridden_limits(joined[target], limits[target])
    )
    return JoinedTriggers(
        triggers={target: _trigger(found, names) for target, found in joined.items()},
        overrides=tuple(sorted(overrides)),
    )


def _trigger(joined: JoinedDemand, names: Mapping[str, ObjectKey]) -> RescheduleTrigger:
    demand, askers = joined.demand, tuple(names[who] for who in joined.by)
    return RescheduleTrigger(
        demand.at,
        ", ".join(joined.by),
        demand.budget,
        demand.fresh,
        askers=askers,
        surge=joined.surge,
        preserves=demand.preserves,
        rest_seconds=demand.rest_seconds,
    )


def _name(key: ObjectKey) -> str:
    """Return a rebalancer or trigger as people call it."""
    return f"{key.kind} {key.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """What waits though its time has come.

    Attributes:
        targets: Targets that are not rebalanced, since what this pass decides about them does not
            take effect, and why.
        files: Files that a person is editing, so nothing is taken out of them.
        objects: Objects whose decision waits, and why.
    """

    targets: Mapping[ObjectKey, str] = field(default_factory=dict)
    objects: Mapping[ObjectKey, str] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


NO_HOLDS = Holds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalances:
    """What became of all rebalancers and triggers in a round.

    Attributes:
        outputs: Their status files.
        removed: Those whose manifest goes.
        failed: Those that could not be asked, and why.
        waits: What they wait for.
    """

    outputs: Mapping[ObjectKey, Body]
    removed: Mapping[ObjectKey, Removal]
    failed: tuple[Failed, ...]
    waits: tuple[Wait, ...]

    @property
    def until(self) -> datetime | None:
        """When time alone changes this, `None` if it does not."""
        return earliest(*(wait.until for wait in self.waits))


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRebalances:
    """What all rebalancers and triggers want; what comes of it is known after the plans."""

    _joined: JoinedTriggers
    _asking: Mapping[ObjectKey, "_Asking"]
    _failed: Mapping[ObjectKey, Failed]
    _world: World
    _holds: Holds

    @property
    def triggers(self) -> Mapping[ObjectKey, RescheduleTrigger]:
        """Target to the trigger that counts."""
        return self._joined.triggers

    @property
    def overrides(self) -> tuple[LimitOverride, ...]:
        """The limits that do not hold, since others demand more."""
        return self._joined.overrides

    def close(self, rescheduled: Rescheduled) -> Rebalances:
        """Return how they stand, given the targets whose demand was met."""
        answers: dict[ObjectKey, _Answer] = {}
        failed = dict(self._failed)
        inputs, outputs = self._world.inputs, self._world.outputs
        for key, asking in self._asking.items():
            answer = attempt(partial(asking.close, rescheduled), partial(place_of, inputs[key]))
            if isinstance(answer, Failed):
                failed[key] = answer
            else:
                answers[key] = answer
        kept = {key: outputs[key].body for key in failed if key in outputs}
        removed = {
            key: Removal(key, inputs[key].origin.path, found.results, found.body)
            for key, found in answers.items()
            if found.expired and removable(self._world, key, self._holds.files)
        }
        return Rebalances(
            outputs=kept | {k: found.body for k, found in answers.items() if k not in removed},
            removed=removed,
            failed=tuple(failed.values()),
            waits=tuple(wait for key, found in answers.items() for wait in _waits(key, found)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """Where one of them is after the round."""

    body: Body
    results: tuple[TargetResult, ...]
    expired: bool
    waits: tuple[Waiting, ...]


def _waits(key: ObjectKey, answer: _Answer) -> Iterator[Wait]:
    """Yield what one of them waits for."""
    for item in answer.waits:
        yield Wait(
            until=item.until,
            key=key,
            subject=f"{key.kind} {key.name}",
            reason=item.reason,
            then=item.then,
        )


@dataclass(frozen=True, slots=True)
class _Asking:
    """What one of them wants, and how it stands once it is known what came of that."""

    triggers: Mapping[ObjectKey, TargetDemand]
    close: Callable[[Rescheduled], _Answer]
    allowed: Mapping[ObjectKey, int] = field(default_factory=dict)
    surging: Mapping[ObjectKey, MakeBeforeBreak] = field(default_factory=dict)


def ask_rebalancers(
    world: World, prepared: Mapping[Dialect, Prepared], now: datetime, holds: Holds
) -> WantedRebalances:
    """Ask every rebalancer and trigger.

    One whose record cannot be read waits: it would look like one that never ran.
    """
    targets = _AllTargets(world, prepared, holds.targets)
    asking: dict[ObjectKey, _Asking] = {}
    failed: dict[ObjectKey, Failed] = {}
    for manifest in (one for kind in (REBALANCER, TRIGGER) for one in world.of_kind(*kind)):
        if is_frozen(world, manifest.key):
            continue
        asked = attempt(partial(_ask, world, manifest, targets, now), partial(place_of, manifest))
        if isinstance(asked, Failed):
            failed[manifest.key] = asked
        else:
            asking[manifest.key] = asked
    return WantedRebalances(
        _joined=join_triggers(
            {key: one.triggers for key, one in asking.items()},
            {key: one.allowed for key, one in asking.items()},
            {key: one.surging for key, one in asking.items()},
        ),
        _asking=asking,
        _failed=failed,
        _world=world,
        _holds=holds,
    )


@dataclass(slots=True, eq=False)
class _AllTargets:
    """The targets of all dialects; `orders` remembers whom a group is asked of first."""

    world: World
    prepared: Mapping[Dialect, Prepared]
    held: Mapping[ObjectKey, str]
    orders: dict[str, Sequence[Dialect]] = field(default_factory=dict)

    def find(self, reference: Reference, /) -> Target | None:
        """Ask the dialect whose API the reference is of first; one may take workloads of any."""
        group = group_of(reference.api_version)
        asked = self.orders.get(group)
        if asked is None:
            asked = sorted(self.prepared, key=lambda dialect: group not in dialect.groups)
            self.orders[group] = asked
        found = (self.prepared[dialect].target(reference) for dialect in asked)
        target = next((target for target in found if target is not None), None)
        if target is None or target.key not in self.held:
            return target
        return replace(target, waits_for=self.held[target.key])

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Return what any dialect means by it."""
        found = {ref for part in self.prepared.values() for ref in part.select(selection)}
        return sorted(found, key=lambda reference: reference.order)

    def has_policy(self, key: ObjectKey, /) -> bool:
        """Return whether a policy is in the repository."""
        return key in self.world.inputs


def _ask(world: World, manifest: Manifest, targets: _AllTargets, now: datetime) -> _Asking:
    """Admit one of them and ask what it wants."""
    present = world.outputs.get(manifest.key)
    record = mapping(present.body, "metadata") if present is not None else None
    status = mapping(present.body, "status") if present is not None else {}
    spec = mapping(manifest.body, "spec")
    admitted, metadata = admit(manifest.key, spec, record, now)
    if (manifest.key.group, manifest.key.kind) == TRIGGER:
        known = decode_trigger_status({} if present is None else present.body)
        decoded = decode_trigger(spec, known, admitted, triggered=triggered_in(record or {}))
        asking = _ask_trigger(manifest, metadata, fire(decoded, targets, now))
    else:
        step = advance(decode_rebalancer(spec, status, admitted), targets, now)
        asking = _ask_rebalancer(manifest, metadata, step)
    if not manifest.origin.pointer and not world.apart:
        return asking
    return _staying(asking, None if present is None else present.body, now)


def _staying(asking: _Asking, known: Body | None, now: datetime) -> _Asking:
    """Return what one wants that no pass removes: once its time is over, it wants nothing more."""
    if known is not None:
        idle = asking.close({})
        if idle.expired and is_marked(known, idle.body):
            return _Asking({}, lambda _: replace(idle, body=known, waits=()))

    def close(rescheduled: Rescheduled) -> _Answer:
        found = asking.close(rescheduled)
        if found.expired:
            return replace(found, body=marked(found.body, now))
        return replace(found, waits=kept(found.waits))

    return replace(asking, close=close)


def _ask_rebalancer(manifest: Manifest, metadata: Body, step: RebalancerStep) -> _Asking:
    """Ask what a WorkloadRebalancer wants."""

    def close(rescheduled: Rescheduled) -> _Answer:
        found = step.close(rescheduled)
        return _Answer(
            body=_status_file(manifest, metadata, found.status),
            results=tuple(
                TargetResult(item.reference, str(item.result), item.reason)
                for item in found.results
            ),
            expired=found.expired,
            waits=found.waits,
        )

    return _Asking(step.triggers, close, step.allowed, step.surging)


def _ask_trigger(manifest: Manifest, metadata: Body, firing: Firing) -> _Asking:
    """Ask what a ScheduleTrigger wants; its record says what it has triggered."""
    annotations = {**mapping(metadata, "annotations"), TRIGGERED: firing.trigger.digest}
    recorded = {**metadata, "annotations": annotations}

    def close(rescheduled: Rescheduled) -> _Answer:
        found = firing.close(rescheduled)
        return _Answer(
            body=_status_file(manifest, recorded, found.status),
            results=tuple(
                TargetResult(ref, str(phase), reason) for ref, phase, reason in found.results
            ),
            expired=found.expired,
            waits=found.waits,
        )

    return _Asking(firing.triggers, close, surging=firing.surging)


def _status_file(manifest: Manifest, metadata: Body, status: Body) -> Body:
    """Return a status file."""
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": metadata,
        "status": status,
    }


REMOVABLE = frozenset((kind.group, kind.kind) for kind in REBALANCE_KINDS)


def remove_documents(world: World, removed: Iterable[ObjectKey]) -> list[Change]:
    """Return the changes that take the documents of the removed objects out of their files.

    Every other byte of the files stays: comments, other documents, their order.
    """
    indices: dict[str, list[int]] = defaultdict(list)
    for key in removed:
        origin = world.inputs[key].origin
        indices[origin.path].append(origin.index)
    changes: list[Change] = []
    for path, positions in indices.items():
        data = world.texts[path]
        for index in sorted(positions, reverse=True):
            data = cut(data, index)
        changes.append(WriteFile(path, data.decode("utf-8")) if data else DeleteFile(path))
    return changes


def removable(world: World, key: ObjectKey, busy: Container[str] = ()) -> bool:
    """Return whether the document of an object can be taken out of its file now.

    Never from a List, of which it is a part, nor where outputs are on a branch of their own. Not
    while the file is faulty: its documents cannot be told apart for sure, and an earlier version
    of them may be in force. Not either while it is among the `busy` ones.
    """
    origin = world.inputs[key].origin
    path = origin.path
    if origin.pointer or world.apart:
        return False
    faulty = {entry.path for entry in world.held} | {fault.path for fault in world.faults}
    return path in world.texts and path not in faulty and path not in busy


def loses_demands_only(before: bytes, after: bytes | None, path: str) -> bool:
    """Return whether a file lost documents of rebalancers or triggers, and is otherwise the same.

    Args:
        before: The file as it was.
        after: As it is now, `None` if it is gone.
        path: Root-relative.
    """
    left = [] if after is None else [one.body for one in read(after, path).documents]
    lost = [one for one in read(before, path).documents if one.body not in left]
    data = before
    try:
        for document in reversed(lost):
            if not _is_removable(document):
                return False
            data = cut(data, document.index)
    except ValueError:
        return False
    return (data or None) == after


def _is_removable(document: Document) -> bool:
    group = text(document.body, "apiVersion").rpartition("/")[0]
    return not document.pointer and (group, text(document.body, "kind")) in REMOVABLE
