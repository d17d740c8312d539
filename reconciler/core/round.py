"""One round: every dialect prepares, rebalancers trigger, every dialect plans."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.changes import Removal
from reconciler.core.rebalances import NO_HOLDS, Holds, ask_rebalancers
from reconciler.dialects.contract import Dialect, DialectMemory
from reconciler.dialects.object_boundary import traces_of
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.wait import Wait
from reconciler.model.world import Body, Fault, Trace, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round wants: all outputs, the inputs to remove, and what is to be told.

    `rescheduled` are the targets whose demand by a rebalancer was met, `oscillating` the outputs
    that still moved in the last of many rounds.
    """

    outputs: Mapping[ObjectKey, Body]
    removed: Mapping[ObjectKey, Removal]
    rescheduled: frozenset[ObjectKey]
    decisions: tuple[Decision, ...]
    edited: tuple[ObjectKey, ...]
    faults: tuple[Fault, ...]
    traces: tuple[Trace, ...]
    until: datetime | None
    waits: tuple[Wait, ...]
    explanations: Mapping[ObjectKey, Explain]
    oscillating: frozenset[ObjectKey] = frozenset()


def run_round(
    world: World,
    settings: Settings,
    now: datetime,
    memories: Mapping[Dialect, DialectMemory],
    *,
    asked: frozenset[ObjectKey] = frozenset(),
    holds: Holds = NO_HOLDS,
) -> Round:
    """Ask every dialect once.

    Args:
        world: As it is by now.
        settings: Of the repository.
        now: Moment of the pass.
        memories: What each dialect remembers.
        asked: Outputs to explain.
        holds: Which rebalances and removals wait.
    """
    prepared = {
        dialect: memory.prepare(world, settings, now) for dialect, memory in memories.items()
    }
    wanted = ask_rebalancers(world, prepared, now, holds)
    plans = [part.plan(wanted.triggers, asked) for part in prepared.values()]
    rescheduled = frozenset(key for plan in plans for key in plan.rescheduled)
    rebalances = wanted.close(rescheduled)
    outputs = dict(rebalances.outputs)
    for plan in plans:
        outputs |= plan.outputs
    return Round(
        outputs=outputs,
        removed=rebalances.removed,
        rescheduled=rescheduled,
        decisions=tuple(decision for plan in plans for decision in plan.decisions),
        edited=tuple(sorted(key for plan in plans for key in plan.edited)),
        faults=(
            *(failed.fault for failed in rebalances.failed),
            *(fault for plan in plans for fault in plan.faults),
        ),
        traces=(
            *traces_of(rebalances.failed),
            *(trace for plan in plans for trace in plan.traces),
        ),
        until=earliest(rebalances.until, *(plan.until for plan in plans)),
        waits=tuple(sorted((*rebalances.waits, *(w for plan in plans for w in plan.waits)))),
        explanations={key: explain for plan in plans for key, explain in plan.explanations.items()},
    )
