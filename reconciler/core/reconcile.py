"""The pass: sweeps of all dialects until nothing moves, then desired files against present ones.

A sweep asks each dialect once, as upstream's controllers would each run once. Sweeps are repeated
at the same moment until one changes nothing, so that a pass ends where upstream's chain of events
would end. What still moves after the last sweep oscillates: it keeps its present decision.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from reconciler import __version__
from reconciler.core.brake import Brake, brake
from reconciler.core.changes import Change, DeleteFile, Outcome, Removal, WriteFile
from reconciler.core.input_index import CONFIGURATION
from reconciler.core.memo import Memo
from reconciler.core.rebalances import Holds
from reconciler.core.record import faults_body, record_body
from reconciler.core.removal import remove_documents
from reconciler.core.round import run_round
from reconciler.manifests.emitter import encode
from reconciler.manifests.paths import FAULTS, RECORD, blob_id, is_frozen, output_path
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.settings import Safety, Settings, decode_settings
from reconciler.model.stamps import at_rest
from reconciler.model.world import Body, Fault, Manifest, Trace, World

ROUNDS = 16  # ours: a chain of evict, schedule, observe and purge settles in five


def reconcile(
    world: World,
    now: datetime,
    *,
    asked: frozenset[ObjectKey] = frozenset(),
    busy: frozenset[str] = frozenset(),
    memo: Memo | None = None,
) -> Outcome:
    """Decide what the repository should hold at `now`, and when to look again.

    Args:
        world: The input tree and the state tree; not modified.
        now: Aware UTC, whole seconds. The caller sees to it that it is later than the last pass;
            any moment is computed.
        asked: Outputs to explain; the changes never depend on it.
        busy: Files that a person is editing where they would change, so that what is over stays
            in them for now.
        memo: What earlier passes of this repository remember; the outcome never depends on it.

    Returns:
        Changes that bring the output root to what it should be. A second call with the changed
        world at the same `now` has no changes.

    Source: ours; the order of the stages follows karmada@f8fdd02 pkg/controllers and pkg/scheduler.
    """
    memo = Memo() if memo is None else memo
    idle = None if asked or busy else memo.idle(world, now)
    if idle is not None:
        return idle
    configuration = _configuration(world)
    settings = memo.settings.recall(None, (configuration,), lambda: decode_settings(configuration))
    if settings.suspend or is_frozen(world, RECORD) or is_frozen(world, FAULTS):
        # Without the record the last good version of a faulty file is not known: what it holds
        # would be unscheduled.
        return Outcome(faults=world.faults, traces=world.traces)
    settle = partial(_settle, world, settings, now, memo, asked)
    settled, braked = _kept(world, settings.safety, settle, Holds(files=busy))
    outputs = {**settled.outputs, **braked.outputs}
    faults = tuple(sorted({*world.faults, *settled.faults, *braked.faults}))
    if faults or world.held:
        outputs[FAULTS] = faults_body(faults, world.held)
    changes = _diff(world, outputs)
    changes += remove_documents(world, settled.removed)
    if changes:
        record = record_body(world.revision, now, __version__)
        path = output_path(world.output_root, RECORD)
        changes = [change for change in changes if change.path != path]
        changes.append(WriteFile(path, encode(record)))
    outcome = Outcome(
        changes=tuple(sorted(changes, key=lambda change: change.path)),
        decisions=tuple(
            d for d in settled.decisions if d.key not in braked.held and not is_frozen(world, d.key)
        ),
        removals=tuple(settled.removed[key] for key in sorted(settled.removed)),
        edited=settled.edited,
        faults=faults,
        traces=tuple(sorted({*world.traces, *settled.traces})),
        recheck_at=settled.until,
        explanations=settled.explanations,
    )
    memo.close(world, now, outcome, idle=not busy)
    return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settled:
    """Where the sweeps ended."""

    outputs: Mapping[ObjectKey, Body]
    removed: Mapping[ObjectKey, Removal]
    rescheduled: frozenset[ObjectKey]
    oscillating: frozenset[ObjectKey]
    decisions: tuple[Decision, ...]
    edited: tuple[ObjectKey, ...]
    faults: tuple[Fault, ...]
    traces: tuple[Trace, ...]
    until: datetime | None
    explanations: Mapping[ObjectKey, Explain]


def _kept(
    world: World, safety: Safety, settle: Callable[[Holds], _Settled], holds: Holds
) -> tuple[_Settled, Brake]:
    """Settle, and brake removals; a rebalance whose result is not kept is put off altogether."""
    settled = settle(holds)
    braked = brake(world, settled.decisions, safety)
    lost = settled.rescheduled & (settled.oscillating | braked.held)
    if not lost:
        return settled, braked
    return _kept(world, safety, settle, replace(holds, targets=holds.targets | lost))


def _settle(
    world: World,
    settings: Settings,
    now: datetime,
    memo: Memo,
    asked: frozenset[ObjectKey],
    holds: Holds,
) -> _Settled:
    """Sweep until nothing moves."""
    current = world
    removed: dict[ObjectKey, Removal] = {}
    rescheduled: frozenset[ObjectKey] = frozenset()
    decisions: dict[ObjectKey, Decision] = {}
    edited: tuple[ObjectKey, ...] = ()
    moving: frozenset[ObjectKey] = frozenset()
    explanations: dict[ObjectKey, Explain] = {}
    for number in range(ROUNDS):
        result = run_round(current, settings, now, memo.dialects, asked=asked, holds=holds)
        explanations = {**result.explanations, **explanations}
        removed |= result.removed
        rescheduled |= result.rescheduled
        edited = result.edited if number == 0 else edited
        for decision in result.decisions:
            decisions[decision.key] = _joined(decisions.get(decision.key), decision)
        moved = _moved(current.outputs, result.outputs)
        gone = current.outputs.keys() - result.outputs.keys() - {RECORD, FAULTS}
        moving = frozenset(moved.keys() | gone)
        if not moving and not result.removed:
            break
        current = _with_outputs(current, moved, gone, result.removed)
    outputs = {
        key: m.body if m is world.outputs.get(key) else _final(world, key, m.body)
        for key, m in current.outputs.items()
    }
    faults = result.faults
    if moving:
        outputs = _restore(world, outputs, moving)
        faults += tuple(_oscillates(world, key) for key in sorted(moving))
    return _Settled(
        outputs={key: body for key, body in outputs.items() if key not in (RECORD, FAULTS)},
        removed=removed,
        rescheduled=rescheduled,
        oscillating=moving,
        decisions=tuple(
            decisions[key]
            for key in sorted(decisions)
            if key not in moving and _tells(decisions[key])
        ),
        edited=edited,
        faults=faults,
        traces=result.traces,
        until=result.until,
        explanations=explanations,
    )


def _final(world: World, key: ObjectKey, body: Body) -> Body:
    """Compare with the world as it was: sweeps may have gone there and back."""
    return at_rest(body, _body(world.outputs, key))


def _joined(first: Decision | None, later: Decision) -> Decision:
    """Tell two sweeps' decisions on one object as one: from the first state to the last."""
    if first is None:
        return later
    evicted = tuple(dict.fromkeys((*first.evicted, *later.evicted)))
    return replace(later, cause=first.cause, before=first.before, evicted=evicted)


def _tells(decision: Decision) -> bool:
    """Say whether a decision is news: sweeps may have gone there and back."""
    moved = decision.before != decision.after or decision.removed
    return moved or bool(decision.problem) or decision.stays


def _moved(
    outputs: Mapping[ObjectKey, Manifest], bodies: Mapping[ObjectKey, Body]
) -> dict[ObjectKey, Body]:
    """Return the outputs that a sweep added or changed."""
    moved = {}
    for key, body in bodies.items():
        present = outputs.get(key)
        if present is None or present.body is not body:
            resting = at_rest(body, None if present is None else present.body)
            if present is None or present.body is not resting:
                moved[key] = resting
    return moved


def _with_outputs(
    world: World,
    moved: Mapping[ObjectKey, Body],
    gone: Container[ObjectKey],
    removed: Container[ObjectKey],
) -> World:
    """Return the world as the next sweep finds it."""
    outputs = {key: m for key, m in world.outputs.items() if key not in gone}
    for key, body in moved.items():
        outputs[key] = Manifest(key, Origin(output_path(world.output_root, key)), body)
    inputs = {key: m for key, m in world.inputs.items() if key not in removed}
    return replace(world, outputs=outputs, inputs=inputs if removed else world.inputs)


def _restore(
    world: World, outputs: Mapping[ObjectKey, Body], moving: frozenset[ObjectKey]
) -> dict[ObjectKey, Body]:
    """Give each oscillating object its present body back."""
    kept = {key: body for key, body in outputs.items() if key not in moving}
    kept |= {key: world.outputs[key].body for key in moving if key in world.outputs}
    return kept


def _oscillates(world: World, key: ObjectKey) -> Fault:
    """Say that an object does not come to rest."""
    return Fault(
        path=output_path(world.output_root, key),
        line=0,
        column=0,
        field="",
        rule="oscillates",
        message="the decision does not come to rest, so the present one is kept",
        expected="policies and tolerations that agree with each other",
        subject=str(key),
    )


def _diff(world: World, outputs: Mapping[ObjectKey, Body]) -> list[Change]:
    """Compare desired outputs with the files that stand below the output root.

    A body that is the one read from its file is not encoded where that file is as `encode` writes.
    """
    changes: list[Change] = []
    written: set[str] = set()
    record = output_path(world.output_root, RECORD)
    for key, body in outputs.items():
        known = world.outputs.get(key)
        path = output_path(world.output_root, key) if known is None else known.origin.path
        written.add(path)
        as_read = known is not None and known.body is body and path in world.canonical
        if as_read or path in world.frozen:
            continue
        content = encode(body)
        if world.present.get(path) != blob_id(content.encode(), like=world.revision):
            changes.append(WriteFile(path, content))
    gone = world.present.keys() - written - {record}
    changes.extend(DeleteFile(path) for path in gone if path not in world.frozen)
    return changes


def _body(outputs: Mapping[ObjectKey, Manifest], key: ObjectKey) -> Body | None:
    """Return the body of an output, `None` if there is none."""
    manifest = outputs.get(key)
    return manifest.body if manifest is not None else None


def _configuration(world: World) -> Body | None:
    """Return the configuration of the repository, `None` if it has none."""
    found = world.of_kind(*CONFIGURATION)
    return found[0].body if found else None
