"""Rebalancers and triggers of a round: what they trigger, their status files, and their removal.

All are asked first, and what they demand of each target is joined; what comes of it is known after
the plans. A rebalancer or trigger that is over goes: its file, or its document where the file holds
others.

One that demands nothing, leaves its status as it is and looks at no target, or at steady ones only,
rests: it is asked again once its files, a target or the moment say so, or once a step of a target
comes to something. A rebalancer of a hundred moves under way costs a pass about something else
nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

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
from reconciler.dialects.reads import FollowedObjects, KeyIndex, Ownership, Reads, ReadTable
from reconciler.manifests.admission import admit
from reconciler.manifests.edits.documents import cut
from reconciler.manifests.paths import is_frozen
from reconciler.manifests.text.reader import Document, read
from reconciler.model.body import Body, keep_present
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
    for key, wanted in demanding.items():
        for target, demand in wanted.items():
            demands[target][_name(key)] = demand
    for key, wanted_of in surging.items():
        for target in demands.keys() & wanted_of.keys():
            surges[target][_name(key)] = wanted_of[target]
    for key, counts in allowed.items():
        for target, count in counts.items():
            limits[target][_name(key)] = count
    names = {_name(key): key for key in (*demanding, *surging)}
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
        outputs: The status files of those that were asked; all others stay as they are.
        gone: The status files that should not exist any more.
        removed: Those whose manifest goes.
        failed: Those that could not be asked, and why.
        waits: What they wait for.
    """

    outputs: Mapping[ObjectKey, Body]
    gone: frozenset[ObjectKey]
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
    _asking: Mapping[ObjectKey, "_Asking | Failed"]
    _askers: "_Askers"

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
        world, memory = self._askers.world, self._askers.memory
        came_on = {key: self._askers.ask(key) for key in sorted(memory.looking_at(rescheduled))}
        answers: dict[ObjectKey, _Answer] = {}
        failed: dict[ObjectKey, Failed] = {}
        for key, asking in {**self._asking, **came_on}.items():
            answer: _Answer | Failed = (
                asking
                if isinstance(asking, Failed)
                else attempt(
                    partial(asking.close, rescheduled), partial(place_of, world.inputs[key])
                )
            )
            if isinstance(answer, Failed):
                failed[key] = answer
                continue
            answers[key] = answer
            if not isinstance(asking, Failed):
                memory.take(key, asking, answer, world.outputs.get(key))
        kept = {key: world.outputs[key].body for key in failed if key in world.outputs}
        removed = {
            key: Removal(key, world.inputs[key].origin.path, found.results, found.body)
            for key, found in answers.items()
            if found.expired and removable(world, key, self._askers.busy)
        }
        resting = memory.resting.telling(but=answers.keys() | failed.keys())
        return Rebalances(
            outputs=kept | {k: found.body for k, found in answers.items() if k not in removed},
            gone=frozenset(memory.objects.gone | removed.keys()),
            removed=removed,
            failed=tuple(failed.values()),
            waits=(
                *(wait for key, found in answers.items() for wait in _waits(key, found.waits)),
                *(wait for one in resting for wait in _waits(one.key, one.waits)),
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """Where one of them is after the round."""

    body: Body
    results: tuple[TargetResult, ...]
    expired: bool
    waits: tuple[Waiting, ...]


def _waits(key: ObjectKey, waits: Iterable[Waiting]) -> Iterator[Wait]:
    """Yield what one of them waits for."""
    for wait in waits:
        yield Wait(
            until=wait.until,
            key=key,
            subject=f"{key.kind} {key.name}",
            reason=wait.reason,
            then=wait.then,
        )


@dataclass(frozen=True, slots=True)
class _Asking:
    """What one of them wants, and how it stands once it is known what came of that.

    `reads` are the steady targets that it looked at, `None` where it looked at anything else.
    """

    triggers: Mapping[ObjectKey, TargetDemand]
    close: Callable[[Rescheduled], _Answer]
    allowed: Mapping[ObjectKey, int] = field(default_factory=dict)
    surging: Mapping[ObjectKey, MakeBeforeBreak] = field(default_factory=dict)
    reads: Reads | None = None


class _Resting(NamedTuple):
    """One of them at rest: what it has to tell in each round."""

    key: ObjectKey
    waits: tuple[Waiting, ...]
    surging: Mapping[ObjectKey, MakeBeforeBreak]


def _tells(resting: _Resting) -> bool:
    return bool(resting.waits or resting.surging)


REBALANCES = Ownership(kinds=(REBALANCER, TRIGGER))


@dataclass(slots=True, eq=False)
class RebalanceMemory:
    """Rebalancers and triggers at rest, and steady targets; no answer depends on it.

    Attributes:
        objects: All of them.
        resting: Those at rest, with the targets that they look at.
        steady: The steady targets, by the reference that led there.
    """

    objects: FollowedObjects = field(default_factory=partial(FollowedObjects, REBALANCES))
    resting: ReadTable[_Resting] = field(default_factory=partial(ReadTable, tells=_tells))
    steady: dict[Reference, Target] = field(default_factory=dict)
    _references: KeyIndex[ObjectKey, Reference] = field(default_factory=KeyIndex)
    _apart: bool = False

    def begin(
        self, world: World, prepared: Iterable[Prepared], held: Container[ObjectKey], now: datetime
    ) -> list[ObjectKey]:
        """Begin a round, and return those to ask, sorted."""
        own, known = self.objects.follow(world), self._references.ways
        if world.apart != self._apart:
            self._apart, own = world.apart, own | self.objects.there.keys()
        changed = {key for key in known if key in held}
        for part in prepared:
            others = part.changed_targets()
            changed |= known if others is None else known & others
        for key in changed:
            for reference in tuple(self._references.of(key)):
                del self.steady[reference]
                self._references.drop(reference, (key,))
        asked = self.resting.affected(changed, own, now)
        self.resting.drop_all(asked - self.objects.there.keys())
        return sorted(asked & self.objects.there.keys())

    def note(self, reference: Reference, target: Target) -> None:
        """Note a steady target."""
        self.steady[reference] = target
        self._references.put(reference, (target.key,))

    def looking_at(self, targets: Rescheduled) -> set[ObjectKey]:
        """Return those at rest that look at some targets."""
        known = self._references.ways & targets.keys()
        return {key for target in known for key in self.resting.asking(target)}

    def take(
        self, key: ObjectKey, asking: _Asking, answer: _Answer, present: Manifest | None
    ) -> None:
        """Let one rest if it wants nothing, and only what it read and time can change that."""
        if asking.reads is None or asking.triggers or asking.allowed or answer.expired:
            return
        if present is None or keep_present(answer.body, present.body) is not present.body:
            return
        until = earliest(*(wait.until for wait in answer.waits))
        self.resting.settle(key, _Resting(key, answer.waits, asking.surging), asking.reads, until)


def ask_rebalancers(
    world: World,
    prepared: Mapping[Dialect, Prepared],
    now: datetime,
    holds: Holds,
    memory: RebalanceMemory,
) -> WantedRebalances:
    """Ask every rebalancer and trigger that is not at rest.

    One whose record cannot be read waits: it would look like one that never ran.
    """
    keys = memory.begin(world, prepared.values(), holds.targets, now)
    targets = _AllTargets(world, prepared, holds.targets, memory)
    askers = _Askers(world=world, targets=targets, now=now, busy=holds.files, memory=memory)
    asked = {key: askers.ask(key) for key in keys if not is_frozen(world, key)}
    asking = {key: one for key, one in asked.items() if not isinstance(one, Failed)}
    resting = {one.key: one.surging for one in memory.resting.telling(but=asked) if one.surging}
    return WantedRebalances(
        _joined=join_triggers(
            {key: one.triggers for key, one in asking.items()},
            {key: one.allowed for key, one in asking.items()},
            resting | {key: one.surging for key, one in asking.items()},
        ),
        _asking=asked,
        _askers=askers,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Askers:
    """Rebalancers and triggers of a round, asked one by one; `busy` files lose no document."""

    world: World
    targets: "_AllTargets"
    now: datetime
    busy: frozenset[str]
    memory: RebalanceMemory

    def ask(self, key: ObjectKey) -> _Asking | Failed:
        """Ask one of them what it wants."""
        manifest = self.world.inputs[key]
        work = partial(_ask, self.world, manifest, _LookedUp(self.targets), self.now)
        return attempt(work, partial(place_of, manifest))


@dataclass(slots=True, eq=False)
class _AllTargets:
    """The targets of all dialects; `orders` remembers whom a group is asked of first."""

    world: World
    prepared: Mapping[Dialect, Prepared]
    held: Mapping[ObjectKey, str]
    memory: RebalanceMemory
    orders: dict[str, Sequence[Dialect]] = field(default_factory=dict)

    def find(self, reference: Reference, /) -> Target | None:
        """Ask the dialect whose API the reference is of first; one may take workloads of any."""
        known = self.memory.steady.get(reference)
        if known is not None:
            return known
        group = group_of(reference.api_version)
        asked = self.orders.get(group)
        if asked is None:
            asked = sorted(self.prepared, key=lambda dialect: group not in dialect.groups)
            self.orders[group] = asked
        targets = (self.prepared[dialect].target(reference) for dialect in asked)
        target = next((target for target in targets if target is not None), None)
        if target is None:
            return None
        if target.key in self.held:
            return replace(target, waits_for=self.held[target.key], steady=False)
        if target.steady:
            self.memory.note(reference, target)
        return target

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Return what any dialect means by it."""
        references = {ref for part in self.prepared.values() for ref in part.select(selection)}
        return sorted(references, key=lambda reference: reference.order)

    def has_policy(self, key: ObjectKey, /) -> bool:
        """Return whether a policy is in the repository."""
        return key in self.world.inputs


@dataclass(slots=True, eq=False)
class _LookedUp:
    """The targets as one of them looks at them, and whether those are steady ones only."""

    targets: _AllTargets
    keys: set[ObjectKey] = field(default_factory=set)
    steady: bool = True

    def find(self, reference: Reference, /) -> Target | None:
        """Return what a reference names, `None` if nothing."""
        target = self.targets.find(reference)
        if target is None or not target.steady:
            self.steady = False
        else:
            self.keys.add(target.key)
        return target

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Return what a description means, sorted."""
        self.steady = False
        return self.targets.select(selection)

    def has_policy(self, key: ObjectKey, /) -> bool:
        """Return whether a policy is there."""
        self.steady = False
        return self.targets.has_policy(key)


def _ask(world: World, manifest: Manifest, targets: _LookedUp, now: datetime) -> _Asking:
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
    if targets.steady:
        asking = replace(asking, reads=frozenset(targets.keys))
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
        closed = asking.close(rescheduled)
        if closed.expired:
            return replace(closed, body=marked(closed.body, now))
        return replace(closed, waits=kept(closed.waits))

    return replace(asking, close=close)


def _ask_rebalancer(manifest: Manifest, metadata: Body, step: RebalancerStep) -> _Asking:
    """Ask what a WorkloadRebalancer wants."""

    def close(rescheduled: Rescheduled) -> _Answer:
        closed = step.close(rescheduled)
        return _Answer(
            body=_status_file(manifest, metadata, closed.status),
            results=tuple(
                TargetResult(item.reference, str(item.result), item.reason)
                for item in closed.results
            ),
            expired=closed.expired,
            waits=closed.waits,
        )

    return _Asking(step.triggers, close, step.allowed, step.surging)


def _ask_trigger(manifest: Manifest, metadata: Body, firing: Firing) -> _Asking:
    """Ask what a ScheduleTrigger wants; its record says what it has triggered."""
    annotations = {**mapping(metadata, "annotations"), TRIGGERED: firing.trigger.digest}
    recorded = {**metadata, "annotations": annotations}

    def close(rescheduled: Rescheduled) -> _Answer:
        closed = firing.close(rescheduled)
        return _Answer(
            body=_status_file(manifest, recorded, closed.status),
            results=tuple(
                TargetResult(ref, str(phase), reason) for ref, phase, reason in closed.results
            ),
            expired=closed.expired,
            waits=closed.waits,
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
