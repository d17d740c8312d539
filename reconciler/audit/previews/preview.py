"""What a change of the inputs would move: two passes at the same moment, compared.

One pass takes the branch as it is, the other takes it after the merge. What both do happens in any
case; the difference is due to the merge. Three more comparisons follow the same way: two foresights
for what the change brings about later, the files delivered to each cluster as counts, and the
manifests of each cluster before and after.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import unified_diff
from enum import StrEnum

from reconciler.audit.fleet.placed import named, placed_on
from reconciler.audit.fleet.usage import Down, clusters_down
from reconciler.audit.previews.foresight import Coming, passes_of_each, told_by
from reconciler.audit.previews.placement_moves import PlacementMove, moves_of, parts_moved
from reconciler.audit.previews.warn import Question, warnings_of
from reconciler.core.asked import Passes, SettledWorld, changed_keys, owners_of, passes_since
from reconciler.core.changes import DeleteFile, Outcome
from reconciler.core.dialects import DIALECTS, RUNS, dialect_of
from reconciler.core.message import RunProgress, progress_in
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.delivery.kustomization import FILE as KUSTOMIZATION
from reconciler.delivery.settings import decode_delivery, recorded
from reconciler.dialects.renderer import Rendered, Renderer
from reconciler.dialects.view import Warned
from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import settings_in
from reconciler.model.world import Fault, World


@dataclass(frozen=True, slots=True, order=True)
class DeliveryChange:
    """How many files of a cluster come or change, and how many go.

    The cluster is `""` for files of no cluster alone, such as lists of clusters.
    """

    transport: str
    cluster: ClusterName
    written: int
    removed: int


def delivery_changes(
    merged: World, outcome: Outcome, baseline: Outcome
) -> tuple[DeliveryChange, ...]:
    """Return what a change does to delivered files on the branch that is served, sorted.

    Args:
        merged: The world with the change.
        outcome: Of a pass over it.
        baseline: Of a pass without the change; what both do is left out.
    """
    unchanged = set(baseline.delivered)
    configured = decode_delivery(settings_in(merged)).on("").destinations
    destinations = tuple(sorted({*configured, *recorded(merged.outputs)}))
    counts: Counter[tuple[str, ClusterName, bool]] = Counter()
    for change in outcome.delivered:
        if change in unchanged or change.path.endswith(f"/{KUSTOMIZATION}"):
            continue
        destination = next((place for place in destinations if place.holds(change.path)), None)
        if destination is not None:
            counts[
                destination.transport,
                destination.cluster_of(change.path),
                isinstance(change, DeleteFile),
            ] += 1
    return tuple(
        DeliveryChange(
            transport,
            cluster,
            written=counts[transport, cluster, False],
            removed=counts[transport, cluster, True],
        )
        for transport, cluster in sorted({(transport, cluster) for transport, cluster, _ in counts})
    )


class Kind(StrEnum):
    """What becomes of one object."""

    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"
    STUCK = "unschedulable"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewEntry:
    """What becomes of one object.

    Attributes:
        key: The output that holds the decision.
        subject: What is placed, as people call it.
        kind: What becomes of it.
        cause: Why, in a few words; of an object that stays, why it would move without the merge.
        moves: Every cluster that it is on before or after, ascending by name.
        problem: Why it has fewer clusters than it asks for, `""` if it has all.
        rejected: Cluster to the sentence that says why it was turned away.
        otherwise: Where it would be without the merge, `None` if where it is.
    """

    key: ObjectKey
    subject: str
    kind: Kind
    cause: str
    moves: tuple[PlacementMove, ...]
    problem: str = ""
    rejected: Mapping[ClusterName, str]
    otherwise: Placed | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Objects by what becomes of them, and replicas; `moving` ones leave a cluster for another.

    `noun` is what the APIs of the changed objects call them: a binding, else a decision.
    """

    changed: int = 0
    new: int = 0
    removed: int = 0
    stuck: int = 0
    moving: int = 0
    starting: int = 0
    stopping: int = 0
    noun: str = "binding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a change would move, and what a pass would do anyway.

    Attributes:
        now: Moment of both passes.
        entries: What the change of the inputs brings about, sorted by key.
        anyway: What a pass does at this moment without it, sorted by key.
        counts: Of the entries.
        warnings: What a person should look at before.
        faults: Faults that the change brings, sorted.
        mended: Faults that it takes away, sorted.
        removes: People's files that the pass would remove and would not without the change.
        recheck_at: When time alone could change the answer, `None` if never.
        later: What comes later and would not without the change.
        averted: What would come later and does not with the change.
        later_anyway: What comes later with and without it.
        delivered: What the change does to the files of clusters on the branch that is served.
        progress: What becomes of runs, or waits for one, and would not without the change.
        roots: Folders that are roots of their own and that the change touches, too, sorted.
        shown: Which objects are shown, in words; `""` for all.
        hidden: How many objects change beside those.
    """

    now: datetime
    entries: tuple[PreviewEntry, ...]
    anyway: tuple[PreviewEntry, ...]
    counts: Counts
    warnings: tuple[Warned, ...]
    faults: tuple[Fault, ...]
    mended: tuple[Fault, ...]
    removes: tuple[str, ...]
    recheck_at: datetime | None
    later: tuple[Coming, ...] = ()
    averted: tuple[Coming, ...] = ()
    later_anyway: tuple[Coming, ...] = ()
    delivered: tuple[DeliveryChange, ...] = ()
    progress: tuple[RunProgress, ...] = ()
    roots: tuple[str, ...] = ()
    shown: str = ""
    hidden: int = 0

    @property
    def changes(self) -> bool:
        """Whether the change has an effect worth telling."""
        now = self.entries or self.faults or self.mended or self.removes
        return bool(now or self.later or self.averted or self.delivered or self.progress)


def preview(
    base: World,
    merged: World,
    now: datetime,
    *,
    baseline: Outcome | None = None,
    memo: Memo | None = None,
    warns: bool = True,
) -> Preview:
    """Return what a change of the inputs would move.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment at which a pass would run; any moment is computed.
        baseline: What the pass makes of `base` at that moment, if that is known already.
        memo: What that pass remembered, if it is known.
        warns: Whether warnings are looked for, which takes both whole fleets.
    """
    memo = memo or Memo()
    baseline = baseline or reconcile(base, now, memo=memo)
    outcome = reconcile(merged, now, memo=memo)
    return compared(base, merged, now, baseline, outcome, warns=warns)


def compared(
    base: World,
    merged: World,
    now: datetime,
    baseline: Outcome,
    outcome: Outcome,
    *,
    warns: bool = True,
) -> Preview:
    """Return what a change of the inputs would move, as `preview` does, of two passes.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment of the passes.
        baseline: What comes of the first one.
        outcome: What the pass makes of the second one.
        warns: As for `preview`.
    """
    anyway = frozenset(progress_in(base, baseline))
    without = {decision.key: decision for decision in baseline.decisions if _shows(decision)}
    planned = {one.key: one for one in _from_base(base, merged, outcome) if _shows(one)}
    ill = _down_in(merged, planned.values())
    entries = []
    for key in sorted(planned.keys() | without.keys()):
        decision, other = planned.get(key), without.get(key)
        if decision is None and other is not None:
            entries.append(_kept(other))
        elif decision is not None and not _same(decision, other):
            entries.append(_entry(decision, other, ill))
    ill = _down_in(base, without.values())
    return Preview(
        now=now,
        entries=tuple(entries),
        anyway=tuple(_entry(decision, None, ill) for decision in without.values()),
        counts=_count(entries),
        warnings=warnings_of(Question(base, merged, baseline, outcome)) if warns else (),
        faults=_less(outcome.faults, baseline.faults),
        mended=_less(baseline.faults, outcome.faults),
        removes=tuple(sorted(_removed(outcome, merged) - _removed(baseline, base))),
        recheck_at=outcome.recheck_at,
        delivered=delivery_changes(merged, outcome, baseline),
        progress=(
            *(one for one in progress_in(merged, outcome) if one not in anyway),
            *(_held(base, merged, baseline, outcome) if warns else ()),
        ),
    )


def _held(base: World, merged: World, baseline: Outcome, outcome: Outcome) -> Iterator[RunProgress]:
    """Yield what waits for a run that nobody has written, of what the change is about.

    What a run itself waits for is told as its progress, and a lack of room as a problem.
    """
    before, after = next_world(base, baseline), next_world(merged, outcome)
    known, changed = set(_waiting(before)), changed_keys(before.outputs, after.outputs)
    touched = {*changed, *owners_of(after, changed)}
    told = {one.key for one in outcome.decisions if one.problem}
    for key, clause in _waiting(after):
        is_news = key in touched or (key, clause) not in known
        if is_news and key[:2] not in RUNS and key not in told:
            yield RunProgress(key, clause)


def _waiting(world: World) -> list[tuple[ObjectKey, str]]:
    """Return what waits for a person, sorted, each with a clause that says for what."""
    return sorted(one for api in DIALECTS for one in api.view().world.waiting(world))


BY_MERGE = Cause(CauseKind.EDITED)
BROUGHT = "the merge changes the outputs themselves"


def _from_base(base: World, merged: World, outcome: Outcome) -> tuple[Decision, ...]:
    """Return the decisions of a pass over the merge, as they move what the base has decided.

    A merge may edit outputs or take them along, and the pass takes what it finds for the decision
    before. For whoever merges, an object is where it was decided to be.
    """
    edited = changed_keys(base.outputs, merged.outputs)
    if not edited:
        return outcome.decisions
    decisions = {decision.key: decision for decision in outcome.decisions}
    after = next_world(merged, outcome)
    for key in {*owners_of(base, edited), *owners_of(merged, edited)}:
        placed = placed_on(base, key)
        base_decision = decisions.get(key)
        if (
            base_decision is not None
            and base_decision.before != base_decision.after == placed
            and not base_decision.problem
        ):
            del decisions[key]  # the pass takes back what the merge edits
        elif base_decision is not None:
            decisions[key] = replace(base_decision, before=placed)
        elif placed != placed_on(after, key):
            decisions[key] = _edited(key, base, after, placed)
    return tuple(decisions[key] for key in sorted(decisions))


def _edited(key: ObjectKey, base: World, after: World, placed: Placed) -> Decision:
    """Return what becomes of an object whose outputs a merge edits, where a pass leaves it."""
    subject = named(base if key in base.outputs else after, key)
    return Decision(
        key=key,
        subject=f"{subject.namespace}/{subject.name}".removeprefix("/"),
        cause=BY_MERGE,
        before=placed,
        after=placed_on(after, key),
        removed=key not in after.outputs,
    )


def narrowed(whole: Preview, keeps: Callable[[ObjectKey], bool], shown: str) -> Preview:
    """Return what a preview says of some objects; faults, warnings and files stay, as they are.

    Args:
        whole: The whole.
        keeps: Whether an object is asked for, given what decisions about it bear.
        shown: What is asked for, in words.
    """
    entries = tuple(one for one in whole.entries if keeps(one.key))
    return replace(
        whole,
        entries=entries,
        anyway=tuple(one for one in whole.anyway if keeps(one.key)),
        counts=_count(entries),
        later=tuple(one for one in whole.later if keeps(one.key)),
        averted=tuple(one for one in whole.averted if keeps(one.key)),
        later_anyway=tuple(one for one in whole.later_anyway if keeps(one.key)),
        progress=tuple(one for one in whole.progress if keeps(one.key)),
        shown=shown,
        hidden=len(whole.entries) - len(entries),
    )


def moves_in(entries: Iterable[PreviewEntry]) -> int:
    """Return how many parts of objects leave one cluster for another.

    A part is a replica, or an object without any. What only starts, grows, shrinks or ends stays.
    """
    return sum(parts_moved(entry.moves) for entry in entries)


def _shows(decision: Decision) -> bool:
    """Return whether a decision moves something, or says why it does not."""
    return not decision.stays or bool(decision.problem)


def _same(decision: Decision, other: Decision | None) -> bool:
    """Return whether a pass does the same to an object with and without the change."""
    return other is not None and (
        (decision.before, decision.after, decision.problem, decision.removed)
        == (other.before, other.after, other.problem, other.removed)
    )


def _down_in(world: World, decisions: Iterable[Decision]) -> Mapping[str, Down]:
    """Return the clusters that are down, by group, where decisions turned any away."""
    return clusters_down(world, (one.key.group for one in decisions if one.rejected))


def _entry(decision: Decision, other: Decision | None, ill: Mapping[str, Down]) -> PreviewEntry:
    """Return the account of one decision; that a cluster is down comes before what follows."""
    down = ill.get(decision.key.group, {})
    if decision.problem and (decision.before == decision.after or not decision.after):
        kind = Kind.STUCK
    elif decision.removed or not decision.after:
        kind = Kind.REMOVED
    else:
        kind = Kind.CHANGED if decision.before else Kind.NEW
    return PreviewEntry(
        key=decision.key,
        subject=decision.subject,
        kind=kind,
        cause=BROUGHT if decision.cause is BY_MERGE else str(decision.cause),
        moves=moves_of(decision.before, decision.after),
        problem=decision.problem,
        rejected={
            name: f"it {down[name]}; {why}" if name in down else why
            for name, why in decision.rejected.items()
        },
        otherwise=None if other is None or other.after == decision.after else other.after,
    )


def _kept(other: Decision) -> PreviewEntry:
    """Return the account of an object that would move, and with the change does not."""
    return PreviewEntry(
        key=other.key,
        subject=other.subject,
        kind=Kind.KEPT,
        cause=str(other.cause),
        moves=moves_of(other.before, other.before),
        rejected={},
        otherwise=other.after,
    )


def _count(entries: Iterable[PreviewEntry]) -> Counts:
    """Add up what moves."""
    kinds = dict.fromkeys(Kind, 0)
    nouns: set[str] = set()
    moving = starting = stopping = 0
    for entry in entries:
        kinds[entry.kind] += 1
        dialect = dialect_of(entry.key.group)
        if entry.kind == Kind.CHANGED and dialect is not None:
            nouns.add(dialect.noun)
        gains = sum(move.delta for move in entry.moves if move.delta > 0)
        losses = -sum(move.delta for move in entry.moves if move.delta < 0)
        moving += min(gains, losses)
        starting += max(gains - losses, 0)
        stopping += max(losses - gains, 0)
    return Counts(
        changed=kinds[Kind.CHANGED],
        new=kinds[Kind.NEW],
        removed=kinds[Kind.REMOVED],
        stuck=kinds[Kind.STUCK],
        moving=moving,
        starting=starting,
        stopping=stopping,
        noun="binding" if nouns <= {"binding"} else "decision",
    )


def _less(faults: tuple[Fault, ...], earlier: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Return the faults that are not known; where in its file one stands does not matter."""
    seen = {(fault.path, fault.field, fault.rule, fault.message) for fault in earlier}
    return tuple(f for f in faults if (f.path, f.field, f.rule, f.message) not in seen)


def _removed(outcome: Outcome, world: World) -> set[str]:
    """Return people's files that a pass removes."""
    return {
        change.path
        for change in outcome.changes
        if isinstance(change, DeleteFile) and not change.path.startswith(f"{world.output_root}/")
    }


def look_ahead(
    base: World,
    merged: World,
    now: datetime,
    *,
    baseline: Outcome | None = None,
    settled: SettledWorld | None = None,
    roots: tuple[str, ...] = (),
    passes: Sequence[Passes] | None = None,
) -> Preview:
    """Return what a change of the inputs moves, now and later.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment at which a pass would run.
        baseline: What happens without the change, if not what a pass makes of `base` now.
        settled: A world in which nothing moves, if one is known; it only saves work.
        roots: Folders below that are roots of their own, and that the change touches, too.
        passes: What `passes_ahead` returns of the same, if it was asked before.
    """
    both = passes_ahead(base, merged, now, settled) if passes is None else passes
    without, outcome = (one[0][1] for one in both)
    theirs, ours = (tuple(one for one in told_by(each) if one.at > now) for each in both)
    preview_of_merge = compared(base, merged, now, baseline or without, outcome)
    return replace(
        preview_of_merge,
        roots=roots,
        warnings=(*preview_of_merge.warnings, *map(_of_root, roots)),
        later=tuple(one for one in ours if one not in theirs),
        averted=_averted(ours, theirs),
        later_anyway=tuple(one for one in ours if one in theirs),
    )


def _of_root(folder: str) -> Warned:
    message = "it is a root of its own and changes, too; plan it with -C, or all with --roots"
    return Warned("root-below", folder, message)


def passes_ahead(
    base: World, merged: World, now: datetime, settled: SettledWorld | None = None
) -> list[Passes]:
    """Return the passes of the next moments without a change of the inputs, and with it.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment at which a pass would run.
        settled: A world in which nothing moves, if one is known; it only saves work.
    """
    plain = not (_delivers(base) or _delivers(merged))
    if settled is not None and plain:
        ahead = passes_since(settled, now, base, merged)
        if ahead is not None:
            return ahead
    memo = Memo()
    begun = [(world, reconcile(world, now, memo=memo)) for world in (base, merged)]
    return passes_of_each(begun, now, memo=memo)


def _delivers(world: World) -> bool:
    """Return whether a pass may write files of clusters."""
    configured = decode_delivery(settings_in(world)).destinations
    return bool(configured or recorded(world.outputs))


def _averted(ours: tuple[Coming, ...], theirs: tuple[Coming, ...]) -> tuple[Coming, ...]:
    """Return what does not come any more, not at another moment either."""
    still = {(one.key, one.why) for one in ours}
    return tuple(one for one in theirs if (one.key, one.why) not in still)


Texts = Mapping[tuple[ClusterName, ObjectKey], str]


@dataclass(frozen=True, slots=True, order=True)
class ManifestChange:
    """One object on one cluster: the lines of a unified diff, without their ends."""

    cluster: ClusterName
    key: ObjectKey
    lines: tuple[str, ...]


def manifest_changes(base: World, merged: World, now: datetime) -> list[ManifestChange]:
    """Return what passes at a moment make otherwise on clusters with a change, sorted.

    Values of Secrets are hidden, so a change of nothing else is not told.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment of both passes.
    """
    memo = Memo()
    before, after = (
        next_world(world, reconcile(world, now, memo=memo)) for world in (base, merged)
    )
    changes: list[ManifestChange] = []
    for dialect in DIALECTS:
        renderers = dialect.renderers()
        sides = [renderers.of(world, settings_in(world)) for world in (before, after)]
        affected = renderers.affected(before, after)
        stays = settings_in(before) == settings_in(after)
        if affected is not None and not affected.questions and stays:
            owners = set(affected.own)
        else:
            owners = {key for side in sides for key in side.owners()}
        for owner in sorted(owners):
            changes += _changes(owner, *sides)
    return sorted(changes)


def _changes(owner: ObjectKey, before: Renderer, after: Renderer) -> Iterator[ManifestChange]:
    """Yield how the manifests of one decision differ."""
    then, now = before.render(owner), after.render(owner)
    old, new = _texts(then), _texts(now)
    stays = frozenset[ClusterName]()
    if now is not None:
        stays = now.kept.union(one.cluster for one in now.failed)
    for place in sorted(old.keys() | new.keys()):
        cluster, key = place
        if old.get(place) != new.get(place) and not (place not in new and cluster in stays):
            yield ManifestChange(cluster, key, tuple(_diff(place, old, new)))


def _texts(rendered: Rendered | None) -> Texts:
    """Return the manifests of a decision as text."""
    if rendered is None:
        return {}
    return {
        (work.cluster, key): encode(without_secrets(manifest))
        for work in rendered.works
        for key, manifest in work.manifests.items()
    }


def _diff(place: tuple[ClusterName, ObjectKey], old: Texts, new: Texts) -> Iterator[str]:
    """Yield the lines of a unified diff."""
    cluster, key = place
    then, now = (texts.get(place, "").splitlines() for texts in (old, new))
    before, after = (f"{cluster}: {key}" if place in texts else "/dev/null" for texts in (old, new))
    return unified_diff(then, now, before, after, lineterm="")
