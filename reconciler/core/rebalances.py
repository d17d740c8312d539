"""Rebalancers and triggers of a round: what they trigger, their status files, which are over."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from reconciler.core.changes import LimitOverride, Removal, TargetResult
from reconciler.core.joined_triggers import JoinedTriggers, join_triggers
from reconciler.core.removal import removable
from reconciler.dialects.contract import Dialect, Prepared, RescheduleTrigger
from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.moments import earliest
from reconciler.model.wait import Wait
from reconciler.model.world import Manifest, World
from reconciler.rebalance.expiry import is_marked, marked
from reconciler.rebalance.joined_demands import TargetDemand
from reconciler.rebalance.kinds import REBALANCER, TRIGGER
from reconciler.rebalance.rebalancer_spec import decode_rebalancer
from reconciler.rebalance.schedule_trigger import (
    TRIGGERED,
    Firing,
    decode_trigger,
    fire,
    triggered_in,
)
from reconciler.rebalance.target import Reference, Rescheduled, Target, TargetSelection
from reconciler.rebalance.trigger_status import decode_trigger_status
from reconciler.rebalance.waiting import Waiting, kept
from reconciler.rebalance.workload_rebalancer import RebalancerStep, advance


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
        ),
        _asking=asking,
        _failed=failed,
        _world=world,
        _holds=holds,
    )


@dataclass(frozen=True, slots=True)
class _AllTargets:
    """The targets of all dialects."""

    world: World
    prepared: Mapping[Dialect, Prepared]
    held: Mapping[ObjectKey, str]

    def find(self, reference: Reference, /) -> Target | None:
        """Ask the dialect whose API the reference is of first; one may take workloads of any."""
        group = group_of(reference.api_version)
        asked = sorted(self.prepared, key=lambda dialect: group not in dialect.groups)
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

    return _Asking(step.triggers, close, step.allowed)


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

    return _Asking(firing.triggers, close)


def _status_file(manifest: Manifest, metadata: Body, status: Body) -> Body:
    """Return a status file."""
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": metadata,
        "status": status,
    }
