"""One round: every dialect prepares, rebalancers trigger, every dialect plans."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.changes import LimitOverride, Removal
from reconciler.core.ledger.ledger_file import LEDGER
from reconciler.core.ledger.ledger_round import LedgerMemory, open_ledger
from reconciler.core.ledger.turns import plan_in_turn
from reconciler.core.rebalances import NO_HOLDS, Holds, ask_rebalancers
from reconciler.dialects.contract import Dialect, DialectMemory
from reconciler.dialects.object_boundary import traces_of
from reconciler.model.body import Body
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.wait import Wait
from reconciler.model.world import Fault, Trace, World
from reconciler.rebalance.kinds import REBALANCER, TRIGGER
from reconciler.rebalance.target import Rescheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round wants: outputs that differ, the inputs to remove, and what is to be told.

    `written` are the outputs with another body than the round found, `gone` those that should not
    exist any more; every other output stays. `overrides` are the limits of rebalancers that do not
    hold, `oscillating` the outputs that still moved in the last of many rounds.
    """

    written: Mapping[ObjectKey, Body]
    gone: frozenset[ObjectKey]
    removed: Mapping[ObjectKey, Removal]
    rescheduled: Rescheduled
    overrides: tuple[LimitOverride, ...]
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
    ledgers: LedgerMemory | None = None,
    asked: frozenset[ObjectKey] = frozenset(),
    holds: Holds = NO_HOLDS,
) -> Round:
    """Ask every dialect once.

    Args:
        world: As it is by now.
        settings: Of the repository.
        now: Moment of the pass.
        memories: What each dialect remembers.
        ledgers: What is remembered of reservations, `None` for nothing.
        asked: Outputs to explain.
        holds: Which rebalances and removals wait.
    """
    prepared = {
        dialect: memory.prepare(world, settings, now) for dialect, memory in memories.items()
    }
    wanted = ask_rebalancers(world, prepared, now, holds)
    book = open_ledger(world, settings, now, ledgers or LedgerMemory(), tuple(prepared))
    planned = plan_in_turn(
        prepared,
        lambda part: part.plan(wanted.triggers, asked, holds.objects),
        None if book is None else book.ledger,
    )
    plans = planned.values()
    rescheduled = {key: left for plan in plans for key, left in plan.rescheduled.items()}
    rebalances = wanted.close(rescheduled)
    written, gone = _differing(world, rebalances.outputs, (REBALANCER, TRIGGER))
    for dialect, plan in planned.items():
        own, lost = _differing(world, plan.outputs, dialect.written, plan.gone)
        written |= own
        gone |= lost
    if book is None:  # what another configuration left
        gone |= {one.key for one in world.outputs_of_kind(LEDGER)}
    else:
        own, lost = _differing(world, book.outputs(), (), book.gone())
        written |= own
        gone |= lost
    return Round(
        written=written,
        gone=frozenset(gone),
        removed=rebalances.removed,
        rescheduled=rescheduled,
        overrides=wanted.overrides,
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
        until=earliest(
            rebalances.until,
            None if book is None else book.ends(),
            *(plan.until for plan in plans),
        ),
        waits=tuple(sorted((*rebalances.waits, *(w for plan in plans for w in plan.waits)))),
        explanations={key: explain for plan in plans for key, explain in plan.explanations.items()},
    )


def _differing(
    world: World,
    outputs: Mapping[ObjectKey, Body],
    kinds: Iterable[Kind],
    gone: frozenset[ObjectKey] | None = None,
) -> tuple[dict[ObjectKey, Body], set[ObjectKey]]:
    """Return which outputs get another body, and which go: all that lack one unless it is said."""
    present = world.outputs
    written = {
        key: body
        for key, body in outputs.items()
        if (known := present.get(key)) is None or known.body is not body
    }
    if gone is None:
        gone = frozenset(one.key for one in world.outputs_of(kinds) if one.key not in outputs)
    return written, {key for key in gone if key in present}
