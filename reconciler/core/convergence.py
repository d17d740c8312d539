"""Rounds until nothing moves: the end of upstream's chain of events, within one pass.

A round asks each dialect once, as upstream's controllers would each run once. The next one is asked
at the same moment, on the outputs of the one before. What still moves after the last round
oscillates: it keeps its present decision and is a fault.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import replace

from reconciler.core.round import Round
from reconciler.manifests.paths import output_path
from reconciler.model.body import Body
from reconciler.model.decision import Decision, joined_causes
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.stamps import keep_present
from reconciler.model.versioned import branched, differing_keys
from reconciler.model.world import Fault, Manifest, World

ROUNDS = 16  # ours: a chain of evict, schedule, observe and purge converges in five


def converge(world: World, run: Callable[[World], Round]) -> Round:
    """Run rounds until one changes nothing, and return them as one, from first state to last.

    Args:
        world: As the pass finds it.
        run: Runs a round on a world.
    """
    total = latest = run(world)
    current, moving = _after(world, latest)
    for _ in range(ROUNDS - 1):
        if not moving and not latest.removed:
            break
        latest = run(current)
        total = _joined(total, latest)
        current, moving = _after(current, latest)
    written, gone = _final(world, current, moving)
    return replace(
        total,
        written=written,
        gone=gone,
        oscillating=moving,
        decisions=tuple(one for one in _by_object(total.decisions) if one.key not in moving),
        faults=(*total.faults, *(_oscillates(world, key) for key in sorted(moving))),
    )


def _joined(first: Round, later: Round) -> Round:
    """Return two rounds as one; what is wrong, and until when it lasts, is as the later one has it.

    The first has seen what people edited, and explains what it decided before anything moved.
    """
    return replace(
        later,
        removed={**first.removed, **later.removed},
        rescheduled={**first.rescheduled, **later.rescheduled},
        overrides=tuple(sorted({*first.overrides, *later.overrides})),
        decisions=(*first.decisions, *later.decisions),
        edited=first.edited,
        explanations={**later.explanations, **first.explanations},
    )


def _by_object(decisions: Iterable[Decision]) -> list[Decision]:
    """Return one decision an object, from its first state to its last, sorted.

    Rounds may have gone there and back: then there is nothing to tell. What a later one moved on
    has its causes, too.
    """
    found: dict[ObjectKey, Decision] = {}
    for decision in decisions:
        first = found.get(decision.key)
        if first is not None:
            evicted = tuple(dict.fromkeys((*first.evicted, *decision.evicted)))
            went_on = decision.before != decision.after
            cause = joined_causes((first.cause, decision.cause)) if went_on else first.cause
            decision = replace(  # noqa: PLW2901  # the same decision, from the first state on
                decision, cause=cause, before=first.before, evicted=evicted
            )
        found[decision.key] = decision
    return [found[key] for key in sorted(found) if _is_news(found[key])]


def _is_news(decision: Decision) -> bool:
    """Return whether a decision says something that was not so before."""
    moved = decision.before != decision.after or decision.removed
    return moved or bool(decision.problem) or decision.stays


def _after(world: World, result: Round) -> tuple[World, frozenset[ObjectKey]]:
    """Return the world as a round leaves it, and the outputs that moved."""
    moved = _moved(world.outputs, result.written)
    moving = frozenset(moved.keys() | result.gone)
    return world_after(world, moved, result.gone, result.removed), moving


def world_after(
    world: World,
    written: Mapping[ObjectKey, Body],
    gone: Collection[ObjectKey],
    removed: Collection[ObjectKey],
) -> World:
    """Return a world with outputs written and gone, and inputs removed; the same one if none is."""
    if not written and not gone and not removed:
        return world
    root = world.output_root
    came = {k: Manifest(k, Origin(output_path(root, k)), body) for k, body in written.items()}
    return replace(
        world,
        outputs=branched(world.outputs, came, gone),
        inputs=branched(world.inputs, {}, removed) if removed else world.inputs,
        kinds=world.kinds.next(),
        output_kinds=world.output_kinds.next(),
    )


def _moved(
    outputs: Mapping[ObjectKey, Manifest], bodies: Mapping[ObjectKey, Body]
) -> dict[ObjectKey, Body]:
    """Return the outputs that a round added or changed."""
    moved = {}
    for key, body in bodies.items():
        present = outputs.get(key)
        if present is None:
            moved[key] = body
        else:
            kept = keep_present(body, present.body)
            if kept is not present.body:
                moved[key] = kept
    return moved


def _final(
    world: World, current: World, moving: Container[ObjectKey]
) -> tuple[dict[ObjectKey, Body], frozenset[ObjectKey]]:
    """Return the outputs that differ after all rounds, and those that are gone.

    Rounds may have gone there and back, so each is compared with the world as it was; what
    oscillates stays as the pass found it.
    """
    written: dict[ObjectKey, Body] = {}
    gone: set[ObjectKey] = set()
    for key in differing_keys(current.outputs, world.outputs):
        before, after = world.outputs.get(key), current.outputs.get(key)
        if before is after or key in moving:
            continue
        if after is None:
            gone.add(key)
            continue
        body = _kept(world, key, after.body)
        if before is None or body is not before.body:
            written[key] = body
    return written, frozenset(gone)


def _kept(world: World, key: ObjectKey, body: Body) -> Body:
    """Return the body that the pass found where nothing but stamps differs."""
    found = world.outputs.get(key)
    return body if found is None else keep_present(body, found.body)


def _oscillates(world: World, key: ObjectKey) -> Fault:
    """Return the fault of an object that does not converge."""
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
