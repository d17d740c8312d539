"""The pass: every dialect's answer until nothing moves, then desired files against present ones.

Passes of one repository share a memo, so that work follows what changed. No answer depends on it: a
pass with a memo, whatever it saw before, and a pass without one give equal outcomes. The caller
owns it and hands it to one pass after the other. It refers to the documents of the worlds that it
saw, and these must not change.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from operator import itemgetter

from reconciler.core.changes import (
    Change,
    DeleteFile,
    FailedTarget,
    Outcome,
    WaitingTarget,
    WriteFile,
)
from reconciler.core.cluster_reports import Drawn, ReportRecords, report_records
from reconciler.core.dialects import DIALECTS, wraps
from reconciler.core.freeze import EndingSuspensions
from reconciler.core.inputs.world import apis_on_projected, with_ended_switches, with_projected
from reconciler.core.ledger import LedgerMemory
from reconciler.core.ledger_file import but_of
from reconciler.core.losses import KeptPlacements, keep_placements
from reconciler.core.publishing import PublishMemory, publish
from reconciler.core.rebalances import Holds, RebalanceMemory, remove_documents
from reconciler.core.record import faults_body, record_body
from reconciler.core.restored import told_restored, with_restored
from reconciler.core.rounds import Round, converge, run_round, world_after
from reconciler.core.safety import (
    NO_WAITS,
    WAITS,
    Brake,
    Pacing,
    SafetyRecord,
    brake,
    is_of,
    next_record,
    pace,
    safety_body,
    safety_record,
)
from reconciler.core.staged_deliveries import StagingMemory, stage
from reconciler.delivery.deliver import Delivered, deliver
from reconciler.delivery.memory import DeliveryMemory
from reconciler.dialects.contract import Dialect, DialectMemory
from reconciler.manifests.paths import (
    ALONE,
    DELIVERY,
    FAULTS,
    RECORD,
    SAFETY,
    blob_id,
    is_frozen,
    output_path,
)
from reconciler.manifests.text.emitter import Written, encode
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, UnchangedUntil
from reconciler.model.settings import CONFIGURATION, Settings, decode_settings
from reconciler.model.world import Manifest, World
from reconciler.rebalance.rebalancer_files import failures_in, waits_in
from reconciler.rebalance.schedule_trigger import decode_trigger_status
from reconciler.rebalance.target import REBALANCER, TRIGGER, Reference
from reconciler.version import __version__


def _begun() -> dict[Dialect, DialectMemory]:
    """Return memories that have seen nothing yet."""
    return {dialect: dialect.begin() for dialect in DIALECTS}


def undelivered() -> DeliveryMemory:
    """Return a memory of delivery that has rendered nothing yet."""
    renderers = {dialect.name: dialect.renderers() for dialect in DIALECTS}
    return DeliveryMemory(renderers, wraps())


@dataclass(slots=True)
class Memo:
    """What earlier passes found out.

    Attributes:
        dialects: The memory of each dialect.
        settings: The configuration decoded, under one name.
        delivery: Which files of clusters there should be.
        ledger: What is reserved of clusters.
        rebalances: Which rebalancers and triggers rest.
        suspensions: Which objects are suspended until a moment.
        published: What was told in neutral kinds.
        staging: What staged deliveries select.
        reports: The records of clusters that are reported.
        former: The same of the world in which people place as before, `None` while no edit is held.
    """

    dialects: dict[Dialect, DialectMemory] = field(default_factory=_begun)
    settings: AnswerCache[None, Settings] = field(default_factory=AnswerCache)
    delivery: DeliveryMemory = field(default_factory=undelivered)
    ledger: LedgerMemory = field(default_factory=LedgerMemory)
    rebalances: RebalanceMemory = field(default_factory=RebalanceMemory)
    former: "Memo | None" = None
    suspensions: EndingSuspensions = field(default_factory=EndingSuspensions)
    published: PublishMemory = field(default_factory=PublishMemory)
    staging: StagingMemory = field(default_factory=StagingMemory)
    reports: AnswerCache[ObjectKey, Drawn] = field(default_factory=AnswerCache)
    _last: tuple[World, UnchangedUntil, Outcome] | None = None

    def clear(self) -> None:
        """Forget everything, as after a pass that was not brought to its end."""
        self.dialects, self.settings, self._last = _begun(), AnswerCache(), None
        self.delivery, self.ledger, self.former = undelivered(), LedgerMemory(), None
        self.published, self.rebalances = PublishMemory(), RebalanceMemory()
        self.staging = StagingMemory()

    def idle(self, world: World, now: datetime) -> Outcome | None:
        """Return the outcome of the last pass if it had the same world and nothing to do."""
        if self._last is None or self._last[0] is not world or not self._last[1].holds(now):
            return None
        return self._last[2]

    def close(self, world: World, now: datetime, outcome: Outcome, *, idle: bool) -> None:
        """End a pass: remember an idle one, and forget what is of no use any more.

        Args:
            world: That the pass looked at.
            now: Its moment.
            outcome: What came of it.
            idle: Whether nothing but the world had it do nothing, if it did.
        """
        still = idle and not (outcome.changes or outcome.decisions or outcome.edited)
        self._last = (world, UnchangedUntil(now, outcome.recheck_at), outcome) if still else None
        if self.former is not None:
            self.former.close(world, now, outcome, idle=False)
        self.settings.forget()
        self.reports.forget()
        self.ledger.forget()
        for memory in self.dialects.values():
            memory.forget()


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
    projected = with_projected(world)
    restored = with_restored(projected)
    world, ends_at = memo.suspensions.resumed(restored, now)
    outcome = None if asked or busy else memo.idle(world, now)
    if outcome is None:
        try:
            outcome = told_restored(projected, restored, _pass(world, now, asked, busy, memo))
        except BaseException:
            memo.clear()  # tables that are changed in place may be half of this pass
            raise
    if ends_at is None:
        return outcome
    return replace(outcome, recheck_at=earliest(outcome.recheck_at, ends_at))


def _pass(
    world: World,
    now: datetime,
    asked: frozenset[ObjectKey],
    busy: frozenset[str],
    memo: Memo,
) -> Outcome:
    """Decide, and close the memo."""
    configuration = _configuration(world)
    settings = memo.settings.recall(None, (configuration,), partial(decode_settings, configuration))
    if settings.suspend or any(is_frozen(world, key) for key in ALONE):
        # Without the record the last good version of a faulty file is not known: what it holds
        # would be unscheduled.
        return Outcome(faults=world.faults, traces=world.traces)
    kept, braked, paced = _decide_braked(world, settings, now, memo, asked, Holds(files=busy))
    result = kept.result
    found, held = result.results, {*braked.held, *paced.decisions}
    written, gone = _but_held(world, result, held)
    after = world_after(world, written, gone, result.removed)
    switched = with_ended_switches(world, after)
    if switched is not world:
        memo.clear()  # it is about clusters that are not seen any more
        return _pass(switched, now, asked, busy, memo)
    added = publish(world, after, settings, now, memo.published)
    added = added.then(stage(added.world, settings, memo.delivery.renderers, now, memo.staging))
    written |= added.written
    gone |= added.gone
    delivered = deliver(world, added.world, settings, memo.delivery)
    records = report_records(world, memo.reports)
    safety = next_record(
        safety_record(world.outputs),
        paced.waiting,
        paced.moved,
        apis_on_projected(added.world),
        now,
    )
    beside = (*braked.faults, *kept.faults, *added.faults, *delivered.faults)
    faults = tuple(sorted({*world.faults, *found.faults, *beside}))
    files = _delivered(world, delivered)
    report = faults_body(faults, world.held, kept.versions) if faults or world.held else None
    outcome = Outcome(
        changes=_changes(world, now, result, (written, gone), delivered, report, safety, records),
        delivered=files,
        decisions=tuple(
            d for d in found.decisions if d.key not in held and not is_frozen(world, d.key)
        ),
        removals=tuple(result.removed[key] for key in sorted(result.removed)),
        edited=found.edited,
        faults=faults,
        allow=tuple(sorted({fault.allow for fault in faults if fault.allow})),
        waiting=waiting_since(result.written, world.outputs),
        failed=failed_since(result.written, world.outputs),
        overrides=result.overrides,
        warnings=delivered.warnings,
        traces=tuple(sorted({*world.traces, *found.traces, *added.traces, *delivered.traces})),
        recheck_at=earliest(found.until, paced.until, added.until),
        waits=tuple(sorted((*found.waits, *paced.waits, *added.waits))),
        explanations=found.explanations,
    )
    memo.close(world, now, outcome, idle=not busy)
    return outcome


def _decide_braked(
    world: World,
    settings: Settings,
    now: datetime,
    memo: Memo,
    asked: frozenset[ObjectKey],
    holds: Holds,
) -> tuple[KeptPlacements, Brake, Pacing]:
    """Decide, and keep the placements that an edit would take; a rebalance of these waits."""
    former = memo.former or Memo()
    memo.former = None

    def decide_as_before(before: World) -> Round:
        memo.former = former
        return _decide(before, settings, now, former, asked, holds)[0]

    result, braked, paced = _decide(world, settings, now, memo, asked, holds)
    kept = keep_placements(world, result, settings.safety, decide_as_before)
    lost = result.results.rescheduled.keys() & kept.held - holds.targets.keys()
    if not lost:
        return kept, braked, paced
    targets = {**holds.targets, **dict.fromkeys(lost, "its placement is kept (loss-braked)")}
    return _decide_braked(world, settings, now, memo, asked, replace(holds, targets=targets))


def _decide(
    world: World,
    settings: Settings,
    now: datetime,
    memo: Memo,
    asked: frozenset[ObjectKey],
    holds: Holds,
    waiting: Pacing = NO_WAITS,
) -> tuple[Round, Brake, Pacing]:
    """Run rounds, brake removals, and pace the rest; a rebalance whose result is not kept waits.

    `waiting` is what waits among the targets that are held already.
    """
    run = partial(
        run_round,
        settings=settings,
        now=now,
        memories=memo.dialects,
        ledgers=memo.ledger,
        rebalances=memo.rebalances,
        asked=asked,
        holds=holds,
    )
    result = converge(world, run)
    decisions, rescheduled = result.results.decisions, result.results.rescheduled
    braked = brake(world, decisions, settings.safety)
    paced = pace(decisions, settings, safety_record(world.outputs), now)
    unkept = result.oscillating | braked.held | paced.rebalances.keys()
    lost = {key: _unkept(key, result, paced) for key in rescheduled.keys() & unkept}
    waiting = waiting.beside(paced)
    frozen = {key: WAITS[why] for key, why in paced.decisions.items() if key not in holds.objects}
    if not lost and not frozen:
        return result, braked, waiting
    held = replace(holds, targets={**holds.targets, **lost}, objects={**holds.objects, **frozen})
    return _decide(world, settings, now, memo, asked, held, waiting)


def _unkept(key: ObjectKey, result: Round, paced: Pacing) -> str:
    """Return why what a rebalance brings about does not take effect."""
    if key in result.oscillating:
        return "its decision does not come to rest (oscillates)"
    if key in paced.rebalances:
        return WAITS[paced.rebalances[key]]
    return "its removal is held back by the brake (removal-braked)"


def _but_held(
    world: World, result: Round, held: Container[ObjectKey]
) -> tuple[dict[ObjectKey, Body], frozenset[ObjectKey]]:
    """Return the outputs that are written and that go, but for those of objects that are held."""
    if not held:
        return dict(result.written), result.gone
    reserved = but_of(world.outputs, result.written, held)
    written = {
        key: body
        for key, found in result.written.items()
        if (body := reserved.get(key, found)) is not None and not is_of(key, body, held)
    }
    gone = (key for key in result.gone if not is_of(key, world.outputs[key].body, held))
    return written, frozenset(gone)


def _changes(
    world: World,
    now: datetime,
    result: Round,
    desired: tuple[dict[ObjectKey, Body], AbstractSet[ObjectKey]],
    delivered: Delivered,
    report: Body | None,
    safety: SafetyRecord,
    records: ReportRecords,
) -> tuple[Change, ...]:
    """Return what the files lack; some records are written with anything else only.

    Args:
        world: As the pass found it.
        now: Its moment.
        result: Of its rounds.
        desired: The outputs that are written, and those that go.
        delivered: What delivery wants.
        report: Of everything that is wrong, `None` if nothing is.
        safety: What the pass leaves to the next ones.
        records: Of the clusters that are reported.
    """
    written, gone = {**desired[0], **records.written}, desired[1] | records.gone
    body = safety_body(safety)
    if body is not None and safety != safety_record(world.outputs):
        written[SAFETY] = body
    elif body is None and SAFETY in world.outputs:
        gone |= {SAFETY}
    if delivered.record is not None:
        written[DELIVERY] = delivered.record
    elif DELIVERY in world.outputs:
        gone |= {DELIVERY}
    if report is not None:
        written[FAULTS] = report
    elif FAULTS in world.outputs:
        gone |= {FAULTS}
    removed = remove_documents(world, result.removed)
    changes = [*_diff(world, written, gone), *removed]
    if changes or delivered.written or delivered.gone:
        if records.renewed:
            changes = [*_diff(world, {**written, **records.renewed}, gone), *removed]
        record = record_body(world, now, __version__)
        path = output_path(world.output_root, RECORD)
        changes = [change for change in changes if change.path != path]
        changes.append(WriteFile(path, encode(record)))
    return tuple(sorted(changes, key=lambda change: change.path))


def _delivered(world: World, delivered: Delivered) -> tuple[Change, ...]:
    """Return the changes to the files of clusters."""
    changes: list[Change] = [WriteFile(path, text) for path, text in delivered.written.items()]
    changes += [DeleteFile(path) for path in delivered.gone if path in world.delivered]
    return tuple(sorted(changes, key=lambda change: change.path))


def _diff(
    world: World, written: Mapping[ObjectKey, Body], gone: Collection[ObjectKey]
) -> list[Change]:
    """Compare desired outputs with the files that stand below the output root.

    Beside what a pass writes and what goes, these are files that are not as `encode` writes: an
    output that stays is put right, anything else is deleted.
    """
    root, outputs, bodies = world.output_root, world.outputs, dict(written)
    record = output_path(root, RECORD)
    paths = {outputs[key].origin.path if key in outputs else output_path(root, key) for key in gone}
    for path, key in world.inexact.items():
        if path == record or (key is not None and (key in written or key in gone)):
            continue
        if key is None:
            paths.add(path)
        else:
            bodies[key] = outputs[key].body
    changes: list[Change] = []
    shared: Written = {}
    for key, body in sorted(bodies.items(), key=itemgetter(0)):  # alike ones have names alike
        known = outputs.get(key)
        path = output_path(root, key) if known is None else known.origin.path
        paths.discard(path)
        if path in world.frozen:
            continue
        content = encode(body, shared)
        if world.present.get(path) != blob_id(content.encode(), like=world.revision):
            changes.append(WriteFile(path, content))
    changes.extend(
        DeleteFile(path) for path in paths if path in world.present and path not in world.frozen
    )
    return changes


def _configuration(world: World) -> Body | None:
    """Return the configuration of the repository, `None` if it has none."""
    configurations = world.of_kind(*CONFIGURATION)
    return configurations[0].body if configurations else None


def waiting_since(
    written: Mapping[ObjectKey, Body], outputs: Mapping[ObjectKey, Manifest]
) -> tuple[WaitingTarget, ...]:
    """Return what records that a pass writes say of waiting, and did not say before; sorted."""
    said = _said_since(written, outputs, (REBALANCER, TRIGGER), _waits)
    return tuple(sorted(WaitingTarget(*one) for one in said))


def failed_since(
    written: Mapping[ObjectKey, Body], outputs: Mapping[ObjectKey, Manifest]
) -> tuple[FailedTarget, ...]:
    """Return what rebalancers' records that a pass writes say of failures, and did not; sorted."""
    said = _said_since(written, outputs, (REBALANCER,), lambda _, body: failures_in(body))
    return tuple(sorted(FailedTarget(*one) for one in said))


def _said_since(
    written: Mapping[ObjectKey, Body],
    outputs: Mapping[ObjectKey, Manifest],
    kinds: Collection[Kind],
    read: Callable[[ObjectKey, Body], Iterable[tuple[Reference, str]]],
) -> Iterator[tuple[ObjectKey, Reference, str]]:
    """Yield what records of some kinds say of their targets, and did not say before."""
    for key, body in written.items():
        if key[:2] in kinds:
            known = {} if key not in outputs else dict(read(key, outputs[key].body))
            yield from ((key, ref, why) for ref, why in read(key, body) if known.get(ref) != why)


def _waits(key: ObjectKey, body: Body) -> Iterator[tuple[Reference, str]]:
    if key[:2] == REBALANCER:
        return waits_in(body)
    return iter(decode_trigger_status(body).failed)
