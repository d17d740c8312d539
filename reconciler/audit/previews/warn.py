"""What a person should look at before a merge: one function a warning, all of them in one list."""

from collections import defaultdict
from collections.abc import Callable, Iterator

from reconciler.audit.fleet.usage import by_name, clusters_down, usage_of
from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.dialects import CLUSTERS, DIALECTS
from reconciler.core.inputs.index import inputs_in
from reconciler.core.rounds import next_world
from reconciler.dialects.view import MergeEffects, Warned
from reconciler.model.decision import Decision
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION
from reconciler.model.world import World

NAMED = 3


@dataclass(frozen=True, slots=True)
class Question:
    """Both worlds and what a pass makes of each."""

    base: World
    merged: World
    baseline: Outcome
    outcome: Outcome


Warn = Callable[[Question], Iterator[Warned]]


def warnings_of(question: Question) -> tuple[Warned, ...]:
    """Return all warnings, in the order of the list."""
    return tuple(found for warn in WARNINGS for found in warn(question))


def warn_suspended(question: Question) -> Iterator[Warned]:
    """Warn that passes are suspended, so that nothing would happen at all."""
    for key, manifest in question.merged.inputs.items():
        if (key.group, key.kind) != CONFIGURATION:
            continue  # a workload's `spec` may be anything
        if mapping(manifest.body, "spec").get("suspend") is True:
            yield Warned("suspended", "", "passes are suspended, nothing moves until they resume")


def warn_unschedulable(question: Question) -> Iterator[Warned]:
    """Name the objects that get fewer clusters than they ask for, and which clusters are down."""
    problems = {d.key: d.problem for d in question.baseline.decisions}
    decisions = [
        d for d in question.outcome.decisions if d.problem and d.problem != problems.get(d.key)
    ]
    down = clusters_down(question.merged, (decision.key.group for decision in decisions))
    for decision in decisions:
        here = down[decision.key.group]
        ill = [f"{name} {here[name]}" for name in decision.rejected if name in here]
        yield Warned("unschedulable", decision.subject, "; ".join((*ill, decision.problem)))


def warn_delivered(question: Question) -> Iterator[Warned]:
    """Yield what delivery warns of, and did not before."""
    warned = set(question.baseline.warnings)
    for warning in question.outcome.warnings:
        if warning not in warned:
            yield Warned("delivered", "", warning)


def warn_overridden(question: Question) -> Iterator[Warned]:
    """Name the limits of rebalancers that do not hold, since somebody else demands more."""
    subjects = {decision.key: decision.subject for decision in question.outcome.decisions}
    for override in question.outcome.overrides:
        if override not in question.baseline.overrides:
            limit = override.limit
            subject = subjects.get(override.target, str(override.target))
            allowed = f"{limit.allowed} replica{'' if limit.allowed == 1 else 's'} of it now"
            message = f"the limit of {limit.limited} ({allowed}) does not hold beside "
            yield Warned("limit-overridden", subject, message + ", ".join(limit.by))


def warn_nowhere(question: Question) -> Iterator[Warned]:
    """Name the objects that lose all their clusters though they are still there."""
    for decision in _caused(question):
        lost = decision.before and not decision.after
        if lost and not decision.removed and not decision.problem:
            yield Warned("nowhere", decision.subject, "it would be on no cluster any more")


def warn_over_committed(question: Question) -> Iterator[Warned]:
    """Name the clusters on which more would be placed than they have, and more than before."""
    if question.outcome.changes == question.baseline.changes or not _tells_room(question):
        return
    before, after = (
        {usage.key: usage for usage in by_name(usage_of(next_world(world, outcome)))}
        for world, outcome in (
            (question.base, question.baseline),
            (question.merged, question.outcome),
        )
    )
    for key, usage in after.items():
        known = before.get(key)
        if usage.over and (known is None or known.over != usage.over):
            yield Warned(
                "over-committed", key.name, f"it would be over-committed: {usage.over_text}"
            )


def _tells_room(question: Question) -> bool:
    """Return whether any cluster says how much it has; only then can more be placed than that."""
    return any(
        mapping(cluster.body, "status")
        for kind in CLUSTERS
        for cluster in question.merged.of_kind(*kind)
    )


def warn_by_dialect(question: Question) -> Iterator[Warned]:
    """Yield what each API warns of."""
    views = [dialect.view() for dialect in DIALECTS]
    effects = MergeEffects(
        base=question.base,
        merged=question.merged,
        known=_written(question.baseline),
        written=_written(question.outcome),
        caused=_caused(question),
        is_carried=lambda namespace: any(
            view.world.may_carry(question.merged, namespace) for view in views
        ),
    )
    for view in views:
        yield from view.written.warnings(effects)


def _written(outcome: Outcome) -> dict[str, str]:
    return {c.path: c.content for c in outcome.changes if isinstance(c, WriteFile)}


def warn_clusters_gone(question: Question) -> Iterator[Warned]:
    """Name the clusters whose files go, and say how many objects leave each."""
    for key in sorted(question.base.inputs.keys() - question.merged.inputs.keys()):
        if (key.group, key.kind) not in CLUSTERS:
            continue
        leaving = sum(
            key.name in dict(d.before) and key.name not in dict(d.after) for d in _caused(question)
        )
        objects = f"{leaving} object{'s' if leaving != 1 else ''} would leave it"
        yield Warned("cluster-removed", key.name, f"the cluster's manifest goes, {objects}")


def warn_emptied(question: Question) -> Iterator[Warned]:
    """Name the files that held objects and hold none any more, or are read no more."""
    held: dict[str, list[ObjectKey]] = defaultdict(list)
    for key in sorted(question.base.inputs.keys() - question.merged.inputs.keys()):
        held[question.base.inputs[key].origin.path].append(key)
    covers = inputs_in(question.merged)
    full = {manifest.origin.path for manifest in question.merged.inputs.values()}
    for path, keys in held.items():
        if not covers(path):
            named = "include and exclude no longer cover the file, so what it held is removed"
        elif path in question.merged.blobs and path not in full:
            named = "the file holds nothing but blanks and comments, so what it held is removed"
        else:
            continue
        objects = ", ".join(f"{key.kind} {key.name}" for key in keys[:NAMED])
        more = ", ..." if len(keys) > NAMED else ""
        yield Warned("file-emptied", path, f"{named}: {objects}{more}")


def warn_edited_outputs(question: Question) -> Iterator[Warned]:
    """Warn that the change edits what only passes write."""
    before, after = question.base.present, question.merged.present
    edited = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    if edited:
        files = f"{len(edited)} file{'s' if len(edited) != 1 else ''}"
        named = ", ".join(edited[:NAMED]) + (", ..." if len(edited) > NAMED else "")
        message = f"{files} that only a pass writes would be edited: {named}"
        yield Warned("outputs-edited", "", message)


def warn_repeated(question: Question) -> Iterator[Warned]:
    """Name the rebalancers and triggers that would run again since their record goes."""
    lost = question.base.outputs.keys() - question.merged.outputs.keys()
    for key in sorted(lost & question.merged.inputs.keys()):
        if (key.group, key.kind) in question.merged.known.removable:
            message = "its record goes and it stays, so it would run again"
            yield Warned("rebalancer-repeated", key.name, message)


def _caused(question: Question) -> list[Decision]:
    """Return the decisions that a pass takes with the change and not without it."""
    decisions: dict[ObjectKey, Decision] = {d.key: d for d in question.baseline.decisions}
    return [d for d in question.outcome.decisions if decisions.get(d.key) != d]


WARNINGS: tuple[Warn, ...] = (
    warn_suspended,
    warn_unschedulable,
    warn_delivered,
    warn_overridden,
    warn_nowhere,
    warn_over_committed,
    warn_by_dialect,
    warn_clusters_gone,
    warn_emptied,
    warn_edited_outputs,
    warn_repeated,
)
"""Every warning; a new one is a function and a line here."""
