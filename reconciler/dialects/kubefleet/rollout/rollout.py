"""The rollout: bindings reach the latest resources no faster than the strategy allows."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.defaults import ROLLING_UPDATE
from reconciler.dialects.kubefleet.api.names import BOUND, PREVIOUS_STATE, SCHEDULED, UNSCHEDULED
from reconciler.dialects.kubefleet.api.strategy import RolloutStrategy, share_of
from reconciler.dialects.kubefleet.rollout.readiness import (
    can_be_ready,
    has_failed,
    has_started,
    readiness_of,
)
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.moments import earliest, span, stamp

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
) -> Rollout:
    """Run one round: bind, update and remove as many bindings as the strategy allows.

    Args:
        strategy: Of the placement.
        wanted: How many clusters the placement wants, `None` for as many as are picked (PickAll).
        bindings: All of the placement, in whatever order.
        latest: Name of the latest master resource snapshot, `None` if there is none.
        now: Aware UTC.
        full: Cluster to why it cannot hold more than it has; its binding stays as it is.

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
    survey = _survey(ordered, latest, now, span(seconds=strategy.period_seconds), full)
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
) -> _Survey:
    """Sort the bindings by what may be done with them.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `pickBindingsToRoll`.
    """
    running = [binding for binding in ordered if binding.state in (BOUND, UNSCHEDULED)]
    found = {binding.name: readiness_of(binding, now, period) for binding in running}
    ready = [binding for binding in running if found[binding.name].ready]
    bound = [b for b in running if b.state == BOUND and not b.deleting]
    outdated = [binding for binding in bound if binding.resource_snapshot != latest]
    stale = [binding for binding in outdated if binding.target not in full]
    bind = tuple(binding for binding in ordered if binding.state == SCHEDULED)
    return _Survey(
        targeted=len(bind) + sum(binding.state == BOUND for binding in running),
        ready=len(ready),
        can_be_ready=sum(map(can_be_ready, running)),
        can_be_unavailable=sum(binding.deleting for binding in ready),
        remove=tuple(b for b in running if b.state == UNSCHEDULED and not b.deleting),
        bind=bind,
        update=tuple(binding for binding in stale if not has_failed(binding)),
        failed=tuple(binding for binding in stale if has_failed(binding)),
        refresh=tuple(binding for binding in bound if binding.resource_snapshot == latest),
        full=tuple(binding for binding in outdated if binding.target in full),
        until=earliest(*(item.until for item in found.values())),
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
    found: dict[str, str] = {}
    for binding in sorted(bindings, key=attrgetter("target")):
        for condition in binding.conditions:
            message = str(condition.get("message"))
            if condition.get("type") == ROLLOUT_STARTED and message.startswith(HELD_FOR_ROOM):
                found[binding.target] = message.removeprefix(HELD_FOR_ROOM)
    return found


def announcement(*, started: bool, generation: int) -> Condition:
    """Return the condition that says whether a binding's rollout has begun."""
    status, reason = _STARTED if started else _HELD
    text = _STARTED_TEXT if started else _HELD_TEXT
    return Condition(ROLLOUT_STARTED, status, reason, text, generation)


def _written(present: Rollout, bindings: Iterable[Binding]) -> Rollout:
    changed = {binding.name: binding for binding in bindings}
    return replace(present, bindings={**present.bindings, **changed})
