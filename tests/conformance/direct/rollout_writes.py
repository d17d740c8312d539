"""What upstream tells of a round of the rollout, and a pass has no use for: writes, and waits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import BOUND, SCHEDULED, UNSCHEDULED
from reconciler.dialects.kubefleet.api.placement import ROLLING_UPDATE, RolloutStrategy
from reconciler.dialects.kubefleet.rollout.rollout import Rollout, readiness_of

CLEANUP_WAIT = timedelta(seconds=5)  # rollout/controller.go: a binding of the cluster is leaving
A_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Told:
    """Whether to run again and how long before, and (verb, name) of each write."""

    requeue: bool = False
    wait: timedelta = timedelta()
    writes: tuple[tuple[str, str], ...] = ()


def told_of(
    strategy: RolloutStrategy,
    before: Mapping[str, Binding],
    found: Rollout,
    latest: str | None,
    now: datetime,
) -> Told:
    """Return what upstream tells of a round.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `Reconcile`.
    """
    if strategy.type != ROLLING_UPDATE or found.error is not None:
        return Told()
    after = found.bindings
    pushed = [n for n, one in before.items() if one.apply_strategy != after[n].apply_strategy]
    if pushed:
        return Told(requeue=True, writes=tuple(("patch", name) for name in pushed))
    leaving = {one.target for one in before.values() if one.deleting}
    if leaving & {one.target for one in before.values() if not one.deleting}:
        return Told(wait=CLEANUP_WAIT)
    if latest is None:
        return Told()
    rolls = any(_is_rolled(one, latest) for one in before.values())
    wait = _wait(before, found, timedelta(seconds=strategy.period_seconds), now)
    return Told(rolls, wait if rolls else timedelta(), tuple(_writes(before, found, rolls=rolls)))


def _is_rolled(binding: Binding, latest: str) -> bool:
    """Return whether there is something to do with a binding."""
    stale = binding.state == BOUND and binding.resource_snapshot != latest
    return binding.state == SCHEDULED or (
        not binding.deleting and (stale or binding.state == UNSCHEDULED)
    )


def _wait(
    before: Mapping[str, Binding], found: Rollout, period: timedelta, now: datetime
) -> timedelta:
    """Return how long upstream waits: the period, or less where time makes one ready sooner."""
    running = [one for one in before.values() if one.state in (BOUND, UNSCHEDULED)]
    if all(readiness_of(one, now, period).ready for one in running):
        return timedelta()
    return period if found.until is None else min(period, found.until - A_SECOND - now)


def _writes(
    before: Mapping[str, Binding], found: Rollout, *, rolls: bool
) -> Iterator[tuple[str, str]]:
    """Yield what is written: a round that rolls announces even what was announced before."""
    for name, binding in before.items():
        after = found.bindings[name]
        if binding.generation != after.generation:
            yield "update", name
        staying = binding.state == SCHEDULED or (binding.state == BOUND and not binding.deleting)
        if staying if rolls else binding.conditions != after.conditions:
            yield "update-status", name
    yield from (("delete", name) for name in found.deleted)
