"""One sweep: every dialect prepares, rebalancers trigger, every dialect plans."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.rebalances import rebalance
from reconciler.dialects.base import Dialect, Memory
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.world import Body, Fault, World


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
    world: World,
    settings: Settings,
    now: datetime,
    memories: Mapping[Dialect, Memory],
    asked: Container[ObjectKey] = (),
) -> Sweep:
    """Ask everyone once."""
    prepared = {
        dialect: memory.prepare(world, settings, now) for dialect, memory in memories.items()
    }
    rebalances = rebalance(world, prepared, now)
    outputs = dict(rebalances.outputs)
    plans = [part.plan(rebalances.triggers, asked) for part in prepared.values()]
    for plan in plans:
        outputs |= plan.outputs
    return Sweep(
        outputs=outputs,
        removed=rebalances.removed,
        decisions=tuple(decision for plan in plans for decision in plan.decisions),
        edited=tuple(sorted(key for plan in plans for key in plan.edited)),
        faults=tuple(fault for plan in plans for fault in plan.faults),
        until=earliest(rebalances.until, *(plan.until for plan in plans)),
        explanations={key: explain for plan in plans for key, explain in plan.explanations.items()},
    )
