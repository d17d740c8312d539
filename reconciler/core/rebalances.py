"""Rebalancers and triggers of a sweep: whom they trigger, their status files, which are over."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.removal import removable
from reconciler.core.survey import REBALANCER, TRIGGER
from reconciler.dialects.base import Dialect, Prepared, Trigger
from reconciler.manifests.admission import Admitted, admit
from reconciler.manifests.paths import is_frozen
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.moments import earliest
from reconciler.model.world import Body, Manifest, World
from reconciler.rebalance.batches import Demand
from reconciler.rebalance.rebalancer_spec import decode_rebalancer
from reconciler.rebalance.schedule_trigger import TRIGGERED, decode_trigger, fire, triggered_in
from reconciler.rebalance.target import Reference, Selection, Target
from reconciler.rebalance.workload_rebalancer import advance


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalances:
    """What all rebalancers and triggers want.

    Attributes:
        triggers: Target to the trigger that counts.
        outputs: Their status files.
        removed: Those whose manifest goes.
        until: When time alone changes this, `None` if it does not.
    """

    triggers: Mapping[ObjectKey, Trigger]
    outputs: Mapping[ObjectKey, Body]
    removed: frozenset[ObjectKey]
    until: datetime | None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one of them wants."""

    triggers: Mapping[ObjectKey, Demand]
    body: Body
    expired: bool
    until: datetime | None


def rebalance(world: World, prepared: Mapping[Dialect, Prepared], now: datetime) -> Rebalances:
    """Ask every rebalancer and trigger.

    One whose record cannot be read waits: it would look like one that never ran.
    """
    targets = _AllTargets(world, prepared)
    answers = {
        manifest.key: _answer(world, manifest, targets, now)
        for kind in (REBALANCER, TRIGGER)
        for manifest in world.of_kind(*kind)
        if not is_frozen(world, manifest.key)
    }
    removed = {key for key, found in answers.items() if found.expired and removable(world, key)}
    return Rebalances(
        triggers=_triggers(answers),
        outputs={key: found.body for key, found in answers.items() if key not in removed},
        removed=frozenset(removed),
        until=earliest(*(found.until for found in answers.values())),
    )


@dataclass(frozen=True, slots=True)
class _AllTargets:
    """The targets of all dialects."""

    world: World
    prepared: Mapping[Dialect, Prepared]

    def find(self, reference: Reference, /) -> Target | None:
        """Ask the dialect whose API the reference is of first; Karmada takes workloads of any."""
        group = group_of(reference.api_version)
        asked = sorted(self.prepared, key=lambda dialect: group not in dialect.groups)
        found = (self.prepared[dialect].target(reference) for dialect in asked)
        return next((target for target in found if target is not None), None)

    def select(self, selection: Selection, /) -> Iterable[Reference]:
        """Return what any dialect means by it."""
        found = {ref for part in self.prepared.values() for ref in part.select(selection)}
        return sorted(found, key=lambda reference: reference.order)

    def has_policy(self, key: ObjectKey, /) -> bool:
        """Say whether a policy is in the repository."""
        return key in self.world.inputs


def _answer(world: World, manifest: Manifest, targets: _AllTargets, now: datetime) -> _Answer:
    """Admit one of them and let it go on."""
    present = world.outputs.get(manifest.key)
    record = mapping(present.body, "metadata") if present is not None else None
    status = mapping(present.body, "status") if present is not None else {}
    spec = mapping(manifest.body, "spec")
    admitted, metadata = admit(manifest.key, spec, record, now)
    if (manifest.key.group, manifest.key.kind) == TRIGGER:
        return _fire(manifest, spec, status, (admitted, metadata, record or {}), targets, now)
    found = advance(decode_rebalancer(spec, status, admitted), targets, now)
    body = _status_file(manifest, metadata, found.status)
    return _Answer(found.triggers, body, found.expired, found.until)


def _fire(
    manifest: Manifest,
    spec: Body,
    status: Body,
    admission: tuple[Admitted, Body, Body],
    targets: _AllTargets,
    now: datetime,
) -> _Answer:
    """Let a ScheduleTrigger go on; its record says what it has triggered."""
    admitted, metadata, record = admission
    decoded = decode_trigger(spec, status, admitted, triggered=triggered_in(record))
    fired = fire(decoded, targets, now)
    annotations = {**mapping(metadata, "annotations"), TRIGGERED: fired.triggered}
    body = _status_file(manifest, {**metadata, "annotations": annotations}, fired.status)
    triggers = {key: Demand(moment) for key, moment in fired.triggers.items()}
    return _Answer(triggers, body, fired.expired, fired.until)


def _triggers(answers: Mapping[ObjectKey, _Answer]) -> dict[ObjectKey, Trigger]:
    """Return the latest trigger of each target; of equal ones the first by kind and name."""
    triggers: dict[ObjectKey, Trigger] = {}
    for key, answer in answers.items():
        for target, demand in answer.triggers.items():
            known = triggers.get(target)
            if known is None or known.at < demand.at:
                triggers[target] = Trigger(demand.at, f"{key.kind} {key.name}", demand.budget)
    return triggers


def _status_file(manifest: Manifest, metadata: Body, status: Body) -> Body:
    """Return a status file."""
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": metadata,
        "status": status,
    }
