"""Rounds until nothing moves: the end of upstream's chain of events, within one pass.

In a round every dialect prepares, rebalancers trigger, and every dialect plans. Each is asked once,
as upstream's controllers would each run once. The next round is asked at the same moment, on the
outputs of the one before. What still moves after the last round oscillates: it keeps its present
decision and is a fault. The world that the last round leaves is what the next pass would see.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from reconciler.core.changes import Change, DeleteFile, LimitOverride, Outcome, Removal, WriteFile
from reconciler.core.ledger import LedgerMemory, open_ledger, plan_in_turn
from reconciler.core.ledger_file import LEDGER
from reconciler.core.rebalances import NO_HOLDS, Holds, RebalanceMemory, ask_rebalancers
from reconciler.dialects.contract import Dialect, DialectMemory, Results
from reconciler.dialects.object_pass import traces_of
from reconciler.manifests.identity import Identity, identify
from reconciler.manifests.paths import ALONE, blob_id, output_path
from reconciler.manifests.text.canonical import read_canonical
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body, keep_present
from reconciler.model.decision import Decision, Wait, joined_causes
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.kinds import Kind
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import branched, differing_keys
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, Trace, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round wants: outputs that differ, the inputs to remove, and what is to be told.

    `written` are the outputs with another body than the round found, `gone` those that should not
    exist any more; every other output stays. `overrides` are the limits of rebalancers that do not
    hold, `oscillating` the outputs that still moved in the last of many rounds. `reserved_until` is
    when the first reservation ends that the round found, also one that it makes anew.
    """

    written: Mapping[ObjectKey, Body]
    gone: frozenset[ObjectKey]
    removed: Mapping[ObjectKey, Removal]
    overrides: tuple[LimitOverride, ...]
    reserved_until: datetime | None
    results: Results
    oscillating: frozenset[ObjectKey] = frozenset()


def run_round(
    world: World,
    settings: Settings,
    now: datetime,
    memories: Mapping[Dialect, DialectMemory],
    *,
    ledgers: LedgerMemory | None = None,
    rebalances: RebalanceMemory | None = None,
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
        rebalances: What is remembered of rebalancers and triggers, `None` for nothing.
        asked: Outputs to explain.
        holds: Which rebalances and removals wait.
    """
    prepared = {
        dialect: memory.prepare(world, settings, now) for dialect, memory in memories.items()
    }
    wanted = ask_rebalancers(world, prepared, now, holds, rebalances or RebalanceMemory())
    book = open_ledger(world, settings, now, ledgers or LedgerMemory(), tuple(prepared))
    planned = plan_in_turn(
        prepared,
        lambda part: part.plan(wanted.triggers, asked, holds.objects),
        None if book is None else book.ledger,
    )
    results = _together([plan.results for plan in planned.values()])
    closed = wanted.close(results.rescheduled)
    written, gone = _differing(world, closed.outputs, (), closed.gone)
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
    of_rebalances = Results(
        faults=tuple(failed.fault for failed in closed.failed),
        traces=traces_of(closed.failed),
        until=earliest(closed.until, None if book is None else book.ends()),
        waits=closed.waits,
    )
    return Round(
        written=written,
        gone=frozenset(gone),
        removed=closed.removed,
        overrides=wanted.overrides,
        reserved_until=None if book is None else book.until,
        results=_together([of_rebalances, results]),
    )


def _together(results: Collection[Results]) -> Results:
    """Return the results of several APIs as one, in their order."""
    return Results(
        decisions=tuple(decision for one in results for decision in one.decisions),
        edited=tuple(sorted(key for one in results for key in one.edited)),
        faults=tuple(fault for one in results for fault in one.faults),
        rescheduled={key: met for one in results for key, met in one.rescheduled.items()},
        traces=tuple(trace for one in results for trace in one.traces),
        until=earliest(*(one.until for one in results)),
        waits=tuple(sorted(chain.from_iterable(one.waits for one in results))),
        explanations={key: explain for one in results for key, explain in one.explanations.items()},
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
    found = total.results
    results = replace(
        found,
        decisions=tuple(one for one in _by_object(found.decisions) if one.key not in moving),
        faults=(*found.faults, *(_oscillates(world, key) for key in sorted(moving))),
    )
    return replace(total, written=written, gone=gone, oscillating=moving, results=results)


def _joined(first: Round, later: Round) -> Round:
    """Return two rounds as one; what is wrong, and until when it lasts, is as the later one has it.

    The first has seen what people edited, and explains what it decided before anything moved. It
    has also seen reservations that it made anew, which a later round does not find: whoever asks
    again at their end, without the outputs of this pass, gets another file.
    """
    older, newer = first.results, later.results
    return replace(
        later,
        reserved_until=first.reserved_until,
        removed={**first.removed, **later.removed},
        overrides=tuple(sorted({*first.overrides, *later.overrides})),
        results=replace(
            newer,
            until=earliest(newer.until, first.reserved_until),
            rescheduled={**older.rescheduled, **newer.rescheduled},
            decisions=(*older.decisions, *newer.decisions),
            edited=older.edited,
            explanations={**newer.explanations, **older.explanations},
        ),
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
            started = [one.begun for one in (first, decision) if one.begun is not None]
            decision = replace(  # noqa: PLW2901  # the same decision, from the first state on
                decision,
                cause=cause,
                before=first.before,
                evicted=evicted,
                begun=sum(started) if started else None,
                given_back=first.given_back + decision.given_back,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """A decided world with what a step has added to it, and what is to be told of that.

    Attributes:
        world: With all of it.
        written: The outputs that get another body.
        gone: The outputs that go.
        faults: What people must edit.
        traces: Of mistakes of ours.
        waits: For what time alone ends.
    """

    world: World
    written: Mapping[ObjectKey, Body] = field(default_factory=dict)
    gone: frozenset[ObjectKey] = frozenset()
    faults: tuple[Fault, ...] = ()
    traces: tuple[Trace, ...] = ()
    waits: tuple[Wait, ...] = ()

    @property
    def until(self) -> datetime | None:
        """When time alone could change something, `None` if never."""
        return earliest(*(wait.until for wait in self.waits))

    def then(self, later: "Additions") -> "Additions":
        """Return these with those of a step that began with this world."""
        return Additions(
            world=later.world,
            written={**self.written, **later.written},
            gone=self.gone | later.gone,
            faults=(*self.faults, *later.faults),
            traces=(*self.traces, *later.traces),
            waits=(*self.waits, *later.waits),
        )


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
    manifest = world.outputs.get(key)
    return body if manifest is None else keep_present(body, manifest.body)


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


def next_world(world: World, outcome: Outcome) -> World:
    """Return the world with the changes of a pass in it, the same one if there are none.

    The revision stays: that of the commit that a pass would make is not known.
    """
    if not outcome.changes:
        return world
    prefix = f"{world.output_root}/"
    ours = [change for change in outcome.changes if change.path.startswith(prefix)]
    theirs = [change for change in outcome.changes if not change.path.startswith(prefix)]
    return _with_delivered(_with_inputs(_with_outputs(world, ours), outcome, theirs), outcome)


def _with_delivered(world: World, outcome: Outcome) -> World:
    """Return the world with the files of clusters that a pass writes and deletes."""
    like = world.revision
    came = {
        one.path: blob_id(one.content.encode(), like=like)
        for one in outcome.delivered
        if isinstance(one, WriteFile)
    }
    gone = [one.path for one in outcome.delivered if isinstance(one, DeleteFile)]
    return replace(world, delivered=branched(world.delivered, came, gone))


def _with_outputs(world: World, changes: Sequence[Change]) -> World:
    """Return the world with the outputs that a pass writes and deletes."""
    outputs: dict[ObjectKey, Manifest] = {}
    present: dict[str, str] = {}
    inexact = dict(world.inexact)
    deleted = {change.path for change in changes if isinstance(change, DeleteFile)}
    gone = [key for key, one in world.outputs.items() if deleted and one.origin.path in deleted]
    for change in changes:
        inexact.pop(change.path, None)
        if isinstance(change, DeleteFile):
            continue
        data = change.content.encode()
        quickly = read_canonical(data)
        body = read(data, change.path).documents[0].body if quickly is None else quickly
        key = _key(world, change, body)
        if quickly is None:
            inexact[change.path] = key
        outputs[key] = Manifest(key, Origin(change.path), body)
        present[change.path] = blob_id(data, like=world.revision)
    return replace(
        world,
        outputs=branched(world.outputs, outputs, gone),
        present=branched(world.present, present, deleted),
        inexact=inexact,
        kinds=world.kinds.next(),
        output_kinds=world.output_kinds.next(),
    )


def _key(world: World, change: WriteFile, body: Body) -> ObjectKey:
    """Return the key of an output, by its path where it is one of the two of all objects."""
    for key in ALONE:
        if change.path == output_path(world.output_root, key):
            return key
    match identify(body, world.known):
        case Identity() as found:
            return ObjectKey(found.group, found.kind, found.namespace, found.name)
        case _:
            raise ValueError(f"{change.path} is no output")


def _with_inputs(world: World, outcome: Outcome, changes: Iterable[Change]) -> World:
    """Return the world without the documents that a pass takes out of people's files."""
    changed = {change.path: change for change in changes}
    origins = ((removal.key, world.inputs[removal.key].origin) for removal in outcome.removals)
    removed = {key: origin for key, origin in origins if origin.path in changed}
    if not removed:
        return world
    inputs = {}
    for key, manifest in world.inputs.items():
        place = manifest.origin
        before = sum(one.path == place.path and one.index < place.index for one in removed.values())
        moved = replace(manifest, origin=replace(place, index=place.index - before))
        if key not in removed:
            inputs[key] = moved if before else manifest
    kinds = world.known.texts
    holding = {m.origin.path for key, m in inputs.items() if (key.group, key.kind) in kinds}
    blobs, texts = dict(world.blobs), dict(world.texts)
    for path, change in changed.items():
        blobs.pop(path, None)
        texts.pop(path, None)
        if isinstance(change, WriteFile):
            data = change.content.encode()
            blobs[path] = blob_id(data, like=world.revision)
            texts |= {path: data} if path in holding else {}
    return replace(world, inputs=inputs, blobs=blobs, texts=texts)
