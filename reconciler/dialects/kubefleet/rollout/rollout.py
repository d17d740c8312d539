"""The rollout: bindings reach the latest resources no faster than the strategy allows.

That depends on whether the resources of a binding run in its cluster: ready, failed, or not known
yet.

A placement passes stages in each cluster, and upstream has words for each. A stage is listed only
if all before it are True; the first that is Unknown or False ends the list.

Source: kubefleet@e160c1c pkg/utils/condition/condition.go and reason.go.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import (
    AVAILABLE,
    BOUND,
    DIFF_REPORTED,
    PREVIOUS_STATE,
    SCHEDULED,
    UNSCHEDULED,
    UnexpectedBehavior,
)
from reconciler.dialects.kubefleet.api.placement import ROLLING_UPDATE, RolloutStrategy, share_of
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.moments import add, earliest, parse_moment, second_after, span, stamp
from reconciler.model.records import dataclass, replace
from reconciler.model.text import enumerated

ROLLOUT_STARTED = "RolloutStarted"
_STARTED = ("True", "RolloutStarted")
_STARTED_TEXT = "Detected the new changes on the resources and started the rollout process"
_HELD = ("False", "RolloutNotStartedYet")
_HELD_TEXT = "The resources cannot be updated to the latest because of the rollout strategy"

HELD_FOR_ROOM = "The resources cannot be updated to the latest: the cluster "
NONE_FULL: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What one round of the rollout does.

    Attributes:
        bindings: Every binding afterwards, by name; those to be deleted included.
        deleted: Names of bindings whose deletion starts.
        until: When time alone makes a binding ready that the round waits for, `None` if never.
        waits: Whether more would move as soon as more clusters are ready.
        error: Why it stopped, `None` if it did not.
    """

    bindings: Mapping[str, Binding]
    deleted: tuple[str, ...] = ()
    until: datetime | None = None
    waits: bool = False
    error: UnexpectedBehavior | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """Where the bindings stand; lists by name of binding."""

    targeted: int
    ready: int
    can_be_ready: int
    can_be_unavailable: int
    remove: tuple[Binding, ...]
    bind: tuple[Binding, ...]
    update: tuple[Binding, ...]
    failed: tuple[Binding, ...]
    refresh: tuple[Binding, ...]
    full: tuple[Binding, ...]
    until: datetime | None


def roll_out(
    strategy: RolloutStrategy,
    wanted: int | None,
    bindings: Iterable[Binding],
    latest: str | None,
    now: datetime,
    full: Mapping[str, str] = NONE_FULL,
    kept: Container[str] = (),
) -> Rollout:
    """Run one round: bind, update and remove as many bindings as the strategy allows.

    Args:
        strategy: Of the placement.
        wanted: How many clusters the placement wants, `None` for as many as are picked (PickAll).
        bindings: All of the placement, in whatever order.
        latest: Name of the latest master resource snapshot, `None` if there is none.
        now: Aware UTC.
        full: Cluster to why it cannot hold more than it has; its binding stays as it is.
        kept: Clusters whose bindings are not removed yet, since what replaces them is not there.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `Reconcile`.
    """
    ordered = sorted(bindings, key=lambda binding: binding.name)
    present = Rollout(bindings={binding.name: binding for binding in ordered})
    if strategy.type != ROLLING_UPDATE:
        return present
    outdated = [b for b in ordered if not b.deleting and b.apply_strategy != strategy.apply]
    if outdated:
        pushed = [_respec(binding, apply_strategy=strategy.apply) for binding in outdated]
        return _written(present, pushed)
    try:
        if _must_wait(ordered):
            return present
    except UnexpectedBehavior as error:
        return replace(present, error=error)
    if latest is None:
        return present
    survey = _survey(ordered, latest, now, span(seconds=strategy.period_seconds), full, kept)
    if survey.full:
        present = _refused(present, survey.full, full, now)
    if not (survey.remove or survey.bind or survey.update or survey.failed):
        staying = (b for b in ordered if b.state in (SCHEDULED, BOUND) and b not in survey.full)
        late = [binding for binding in staying if not has_started(binding)]
        return _announced(present, late, now)
    return _roll(present, survey, strategy, wanted, latest, now)


def _must_wait(ordered: Sequence[Binding]) -> bool:
    """Return whether some cluster has a binding that is leaving beside its present one.

    Raises:
        UnexpectedBehavior: Two present bindings of one cluster, or one that was bound too early.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `waitForResourcesToCleanUp`.
    """
    leaving = {binding.target for binding in ordered if binding.deleting}
    staying = [binding for binding in ordered if not binding.deleting]
    for target, count in Counter(binding.target for binding in staying).items():
        if count > 1:
            raise UnexpectedBehavior(f"the same cluster {target} has {count} bindings")
    twins = [binding for binding in staying if binding.target in leaving]
    for binding in twins:
        was_bound = binding.annotations.get(PREVIOUS_STATE) == BOUND
        if binding.state == BOUND or (binding.state == UNSCHEDULED and was_bound):
            raise UnexpectedBehavior(
                f"the cluster {binding.target} has the bound binding {binding.name} beside one "
                "that is being deleted"
            )
    return bool(twins)


def _survey(
    ordered: Sequence[Binding],
    latest: str,
    now: datetime,
    period: timedelta,
    full: Container[str],
    kept: Container[str],
) -> _Survey:
    """Sort the bindings by what may be done with them.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `pickBindingsToRoll`.
    """
    running = [binding for binding in ordered if binding.state in (BOUND, UNSCHEDULED)]
    leaving = [binding for binding in running if binding.state == UNSCHEDULED]
    readiness = {binding.name: readiness_of(binding, now, period) for binding in running}
    ready = [binding for binding in running if readiness[binding.name].ready]
    bound = [b for b in running if b.state == BOUND and not b.deleting]
    outdated = [binding for binding in bound if binding.resource_snapshot != latest]
    stale = [binding for binding in outdated if binding.target not in full]
    bind = tuple(binding for binding in ordered if binding.state == SCHEDULED)
    return _Survey(
        targeted=len(bind) + sum(binding.state == BOUND for binding in running),
        ready=len(ready),
        can_be_ready=sum(map(can_be_ready, running)),
        can_be_unavailable=sum(binding.deleting for binding in ready),
        remove=tuple(b for b in leaving if not b.deleting and b.target not in kept),
        bind=bind,
        update=tuple(binding for binding in stale if not has_failed(binding)),
        failed=tuple(binding for binding in stale if has_failed(binding)),
        refresh=tuple(binding for binding in bound if binding.resource_snapshot == latest),
        full=tuple(binding for binding in outdated if binding.target in full),
        until=earliest(*(item.until for item in readiness.values())),
    )


def _roll(
    present: Rollout,
    survey: _Survey,
    strategy: RolloutStrategy,
    wanted: int | None,
    latest: str,
    now: datetime,
) -> Rollout:
    """Choose who moves, announce it, and move them.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `determineBindingsToUpdate`.
    """
    target = survey.targeted if wanted is None else wanted
    available = survey.ready - survey.can_be_unavailable
    least = target - share_of(strategy.max_unavailable, target)
    to_remove = max(available - least, 0)
    most = target + share_of(strategy.max_surge, target)
    to_add = max(most - survey.can_be_ready, 0)
    removed = survey.remove[:to_remove]
    to_update = to_remove - len(removed)
    chosen = (*survey.failed, *survey.update[:to_update], *survey.bind[:to_add])
    held = (*survey.update[to_update:], *survey.bind[to_add:])
    moved = [_respec(item, state=BOUND, resource_snapshot=latest) for item in chosen]
    done = _announced(present, held, now, started=False)
    done = _announced(done, survey.refresh, now)
    done = _announced(_written(done, moved), moved, now)
    deleted = tuple(binding.name for binding in removed)
    return replace(done, deleted=deleted, until=survey.until, waits=True)


def _respec(
    binding: Binding,
    *,
    state: str | None = None,
    resource_snapshot: str | None = None,
    apply_strategy: Mapping[str, object] | None = None,
) -> Binding:
    """Return a binding with parts of its spec replaced; a change counts a generation."""
    changed = binding._replace(
        state=binding.state if state is None else state,
        resource_snapshot=binding.resource_snapshot
        if resource_snapshot is None
        else resource_snapshot,
        apply_strategy=binding.apply_strategy if apply_strategy is None else apply_strategy,
    )
    return changed._replace(generation=binding.generation + 1) if changed != binding else binding


def _announced(
    present: Rollout, bindings: Iterable[Binding], now: datetime, *, started: bool = True
) -> Rollout:
    """Set RolloutStarted on bindings."""
    changed = []
    for binding in bindings:
        condition = announcement(started=started, generation=binding.generation)
        conditions = set_condition(binding.conditions, condition, at=stamp(now))
        changed.append(binding._replace(conditions=tuple(conditions)))
    return _written(present, changed)


def _refused(
    present: Rollout, bindings: Iterable[Binding], full: Mapping[str, str], now: datetime
) -> Rollout:
    """Say of bindings that stay as they are why their clusters cannot hold more."""
    changed = []
    for binding in bindings:
        text = f"{HELD_FOR_ROOM}{full[binding.target]}"
        condition = Condition(ROLLOUT_STARTED, *_HELD, text, binding.generation)
        conditions = set_condition(binding.conditions, condition, at=stamp(now))
        changed.append(binding._replace(conditions=tuple(conditions)))
    return _written(present, changed)


def lacks_in(bindings: Iterable[Binding]) -> dict[str, str]:
    """Return the clusters that are not updated for lack of room, by name, with what they lack."""
    lacks: dict[str, str] = {}
    for binding in sorted(bindings, key=attrgetter("target")):
        for condition in binding.conditions:
            message = str(condition.get("message"))
            if condition.get("type") == ROLLOUT_STARTED and message.startswith(HELD_FOR_ROOM):
                lacks[binding.target] = message.removeprefix(HELD_FOR_ROOM)
    return lacks


def announcement(*, started: bool, generation: int) -> Condition:
    """Return the condition that says whether a binding's rollout has begun."""
    status, reason = _STARTED if started else _HELD
    text = _STARTED_TEXT if started else _HELD_TEXT
    return Condition(ROLLOUT_STARTED, status, reason, text, generation)


def _written(present: Rollout, bindings: Iterable[Binding]) -> Rollout:
    changed = {binding.name: binding for binding in bindings}
    return replace(present, bindings={**present.bindings, **changed})


FAILING = ("Overridden", "WorkSynchronized", "Applied", AVAILABLE)
UNTRACKABLE = frozenset({"NotAllWorkAreAvailabilityTrackable", "WorkNotTrackable"})
IN_PROGRESS = frozenset(
    {"OverriddenPending", "WorkNotSynchronizedYet", "ApplyPending", "ResourceNotAvailableYet"}
)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a binding is ready; `until` says when time alone makes it so, if it does."""

    ready: bool
    until: datetime | None = None


def readiness_of(binding: Binding, now: datetime, period: timedelta) -> Readiness:
    """Return whether a binding counts as ready.

    Resources whose availability cannot be tracked count as ready once they were applied for longer
    than the period; exactly the period is not enough.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `isBindingReady`.
    """
    if _current(binding, DIFF_REPORTED, "True") is not None:
        return Readiness(ready=True)
    available = _current(binding, AVAILABLE, "True")
    if available is None:
        return Readiness(ready=False)
    if fields.text(available, "reason") not in UNTRACKABLE:
        return Readiness(ready=True)
    since = parse_moment(fields.text(available, "lastTransitionTime"))
    if since < add(now, -period):
        return Readiness(ready=True)
    return Readiness(ready=False, until=second_after(add(since, period)))


def has_failed(binding: Binding) -> bool:
    """Return whether something went wrong that is not merely in progress.

    Source: kubefleet@e160c1c pkg/utils/binding/binding.go `HasBindingFailed`.
    """
    conditions = (_current(binding, kind, "False") for kind in FAILING)
    return any(
        item is not None and fields.text(item, "reason") not in IN_PROGRESS for item in conditions
    )


def can_be_ready(binding: Binding) -> bool:
    """Return whether a binding may still become ready: it has not failed and reports no diff.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `pickBindingsToRoll`.
    """
    return not has_failed(binding) and _current(binding, DIFF_REPORTED) is None


def is_available(binding: Binding) -> bool:
    """Return whether the resources of a binding are known to be available in its cluster."""
    return _current(binding, AVAILABLE, "True") is not None


def reported_difference(binding: Binding, status: str) -> bool:
    """Return whether it is told, with this status, how the cluster differs from the resources."""
    return _current(binding, DIFF_REPORTED, status) is not None


def _current(binding: Binding, kind: str, status: str | None = None) -> Body | None:
    """Return a condition if it speaks of the binding's present generation, with this status."""
    for condition in binding.conditions:
        if condition.get("type") == kind:
            fits = status is None or condition.get("status") == status
            fresh = fields.number(condition, "observedGeneration") == binding.generation
            return condition if fits and fresh else None
    return None


def has_started(binding: Binding) -> bool:
    """Return whether the rollout of the present generation was announced."""
    return _current(binding, "RolloutStarted", "True") is not None


def is_announced(binding: Binding) -> bool:
    """Return whether the rollout of the present generation has begun, or was told to wait.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `Reconcile`.
    """
    return _current(binding, "RolloutStarted") is not None


OVERRIDDEN = "Overridden"
SYNCHRONIZED = "WorkSynchronized"
APPLIED = "Applied"
REPORT_DIFF = "ReportDiff"

NO_OVERRIDE = ("NoOverrideSpecified", "No override rules are configured for the selected resources")
SYNCED = ("AllWorkSynced", "All of the works are synchronized to the latest")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Reason and text of one stage: for one cluster, and for the placement, by status."""

    cluster: tuple[str, str]
    unknown: tuple[str, str]
    false: tuple[str, str]
    true: tuple[str, str]


_FAILED = "Failed to apply resources to {} cluster(s), please check the `failedPlacements` status"
_FITTING = "The selected resources are successfully overridden in {} cluster(s)"
_STILL = "There are still {} cluster(s) in the process of "
_WORDS = {
    ROLLOUT_STARTED: _Words(
        cluster=(
            "RolloutStartedUnknown",
            "In the process of deciding whether to roll out the latest resources or not",
        ),
        unknown=(
            "RolloutStartedUnknown",
            _STILL + "deciding whether to roll out the latest resources or not",
        ),
        false=(
            "RolloutNotStartedYet",
            "The rollout is being blocked by the rollout strategy in {} cluster(s)",
        ),
        true=("RolloutStarted", "All {} cluster(s) start rolling out the latest resource"),
    ),
    OVERRIDDEN: _Words(
        cluster=(
            "OverriddenPending",
            "In the process of overriding the selected resources if there is any override defined",
        ),
        unknown=(
            "OverriddenPending",
            _STILL + "overriding the selected resources if there is any override defined",
        ),
        false=("OverriddenFailed", "Failed to override resources in {} cluster(s)"),
        true=NO_OVERRIDE,
    ),
    SYNCHRONIZED: _Words(
        cluster=(
            "WorkSynchronizedUnknown",
            "In the process of creating or updating the work object(s) in the hub cluster",
        ),
        unknown=(
            "WorkSynchronizedUnknown",
            _STILL + "creating or updating the work object(s) in the hub cluster",
        ),
        false=(
            "WorkNotSynchronizedYet",
            "There are {} cluster(s) which have not finished creating or updating work(s) yet",
        ),
        true=(
            "WorkSynchronized",
            "Work(s) are successfully created or updated in {} target cluster(s)' namespaces",
        ),
    ),
    APPLIED: _Words(
        cluster=(
            "ApplyPending",
            "In the process of applying the resources on the member cluster",
        ),
        unknown=("ApplyPending", _STILL + "applying the resources on the member cluster"),
        false=(
            "ApplyFailed",
            _FAILED,
        ),
        true=(
            "ApplySucceeded",
            "The selected resources are successfully applied to {} cluster(s)",
        ),
    ),
    AVAILABLE: _Words(
        cluster=(
            "ResourceAvailableUnknown",
            "The availability of the selected resources is unknown yet ",
        ),
        unknown=(
            "ResourceAvailableUnknown",
            _STILL + "checking the availability of the selected resources",
        ),
        false=(
            "ResourceNotAvailableYet",
            "The selected resources in {} cluster(s) are still not available yet",
        ),
        true=(
            "ResourceAvailable",
            "The selected resources in {} cluster(s) are available now",
        ),
    ),
    DIFF_REPORTED: _Words(
        cluster=(
            "DiffReportingPending",
            "Diff reporting has just started; its status is not yet to be known",
        ),
        unknown=(
            "DiffReportingPending",
            _STILL + "checking for configuration differences",
        ),
        false=(
            "DiffReportingIncompleteOrFailed",
            "Diff reporting in {} clusters is still in progress or has failed",
        ),
        true=(
            "DiffReportingCompleted",
            "Diff reporting in {} cluster(s) has been completed",
        ),
    ),
}
STAGES = tuple(_WORDS)
NO_ROOM = "; it waits for room: "
MOST_NAMED = 3


def reported(apply_strategy: Body | None) -> tuple[str, ...]:
    """Return what a cluster reports of resources that are applied in this way.

    >>> reported(None), reported({"type": "ReportDiff"})
    (('Applied', 'Available'), ('DiffReported',))
    """
    differs = apply_strategy is not None and apply_strategy.get("type") == REPORT_DIFF
    return (DIFF_REPORTED,) if differs else (APPLIED, AVAILABLE)


def stages_of(apply_strategy: Body | None) -> tuple[str, ...]:
    """Return the stages in order.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `determineExpectedPlacementAndResourcePlacementStatusCondType`.
    """
    return (ROLLOUT_STARTED, OVERRIDDEN, SYNCHRONIZED, *reported(apply_strategy))


def unknown_in_cluster(stage: str, generation: int) -> Condition:
    """Return the condition of a cluster that did not tell yet."""
    reason, text = _WORDS[stage].cluster
    return Condition(stage, "Unknown", reason, text, generation)


def overall_conditions(
    kind: str,
    stages: Iterable[str],
    generation: int,
    reached: Sequence[Mapping[str, str]],
    *,
    overridden: bool,
    lacking: Mapping[str, str] | None = None,
) -> Iterator[Condition]:
    """Yield one condition a stage of a placement, as far as all clusters got; none without one.

    Args:
        kind: Of the placement.
        stages: In order.
        generation: Of the placement.
        reached: The stages of each cluster with their status.
        overridden: Whether overrides are in force in any of them.
        lacking: The clusters that are not updated for lack of room, with what they lack.

    Source: kubefleet@e160c1c pkg/controllers/placement/placement_status.go
    `setPlacementConditions`.
    """
    for stage in stages if reached else ():
        statuses = [known[stage] for known in reached if stage in known]
        worst = next((s for s in ("Unknown", "False") if s in statuses), "True")
        condition = _of_placement(kind, stage, worst, statuses.count(worst), generation)
        if overridden and (stage, worst) == (OVERRIDDEN, "True"):
            text = _FITTING.format(len(statuses))
            condition = condition._replace(reason="OverriddenSucceeded", message=text)
        if lacking and (stage, worst) == (ROLLOUT_STARTED, "False"):
            # Unlike upstream: room is not protected there, so nothing waits for it.
            condition = condition._replace(message=f"{condition.message}{waits_for_room(lacking)}")
        yield condition
        if worst != "True":
            return


def waits_for_room(lacking: Mapping[str, str]) -> str:
    """Return that clusters are not updated for lack of room, to follow the words of a condition."""
    return NO_ROOM + enumerated((f"{name} {why}" for name, why in lacking.items()), MOST_NAMED)


def _of_placement(kind: str, stage: str, status: str, count: int, generation: int) -> Condition:
    """Return the condition of a placement of whose clusters so many are in this status.

    Its type begins with the kind of the placement.
    """
    words = _WORDS[stage]
    words_of_status = {"Unknown": words.unknown, "False": words.false}.get(status, words.true)
    return Condition(
        f"{kind}{stage}", status, words_of_status[0], words_of_status[1].format(count), generation
    )
