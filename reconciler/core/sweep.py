"""One sweep: every dialect prepares, rebalancers trigger, every dialect plans."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.dialects import DIALECTS
from reconciler.core.removal import removable
from reconciler.dialects.base import Dialect, Prepared, Trigger
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import is_frozen
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.world import Body, Fault, Manifest, World
from reconciler.rebalance.target import Reference, Target
from reconciler.rebalance.workload_rebalancer import Progress, advance, decode_rebalancer

REBALANCER = ("apps.karmada.io", "WorkloadRebalancer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What one sweep wants: all outputs, the inputs to remove, and what is to be told."""

    outputs: Mapping[ObjectKey, Body]
    removed: frozenset[ObjectKey]
    decisions: tuple[Decision, ...]
    edited: tuple[ObjectKey, ...]
    faults: tuple[Fault, ...]
    until: datetime | None
    explanations: Mapping[ObjectKey, Explain]


def sweep(
    world: World, settings: Settings, now: datetime, asked: Container[ObjectKey] = ()
) -> Sweep:
    """Ask everyone once.

    A rebalancer whose record cannot be read waits: it would look like one that never ran.
    """
    prepared = {dialect: dialect.prepare(world, settings, now) for dialect in DIALECTS}
    rebalances = {
        key: _rebalance(world, manifest, prepared, now)
        for key, manifest in sorted(world.inputs.items())
        if (key.group, key.kind) == REBALANCER and not is_frozen(world, key)
    }
    triggers = _triggers(rebalances)
    outputs: dict[ObjectKey, Body] = {}
    removed = set()
    for key, (progress, metadata) in rebalances.items():
        if progress.expired and removable(world, key):
            removed.add(key)
        else:
            outputs[key] = _status_file(world.inputs[key], metadata, progress)
    plans = [part.plan(triggers, asked) for part in prepared.values()]
    for plan in plans:
        outputs |= plan.outputs
    return Sweep(
        outputs=outputs,
        removed=frozenset(removed),
        decisions=tuple(decision for plan in plans for decision in plan.decisions),
        edited=tuple(sorted(key for plan in plans for key in plan.edited)),
        faults=tuple(fault for plan in plans for fault in plan.faults),
        until=earliest(
            *(plan.until for plan in plans),
            *(progress.until for progress, _ in rebalances.values()),
        ),
        explanations={key: explain for plan in plans for key, explain in plan.explanations.items()},
    )


def _rebalance(
    world: World, manifest: Manifest, prepared: Mapping[Dialect, Prepared], now: datetime
) -> tuple[Progress, Body]:
    """Admit one rebalancer and let it advance."""
    present = world.outputs.get(manifest.key)
    record = mapping(present.body, "metadata") if present is not None else None
    spec = mapping(manifest.body, "spec")
    admitted, metadata = admit(manifest.key, spec, record, now)
    status = mapping(present.body, "status") if present is not None else {}

    def target_of(reference: Reference) -> Target | None:
        return _target(reference, prepared)

    return advance(decode_rebalancer(spec, status, admitted), target_of, now), metadata


def _target(reference: Reference, prepared: Mapping[Dialect, Prepared]) -> Target | None:
    """Ask the dialect whose API the reference is of first; Karmada takes workloads of any."""
    group = group_of(reference.api_version)
    asked = sorted(prepared, key=lambda dialect: group not in dialect.groups)
    found = (prepared[dialect].target(reference) for dialect in asked)
    return next((target for target in found if target is not None), None)


def _triggers(rebalances: Mapping[ObjectKey, tuple[Progress, Body]]) -> dict[ObjectKey, Trigger]:
    """Return the latest trigger of each target; of equal ones the first rebalancer by name."""
    triggers: dict[ObjectKey, Trigger] = {}
    for key, (progress, _) in rebalances.items():
        for target, moment in progress.triggers.items():
            known = triggers.get(target)
            if known is None or known.at < moment:
                triggers[target] = Trigger(moment, key.name)
    return triggers


def _status_file(manifest: Manifest, metadata: Body, progress: Progress) -> Body:
    """Return the status file of a rebalancer."""
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": metadata,
        "status": progress.status,
    }
