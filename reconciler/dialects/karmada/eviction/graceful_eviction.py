"""Graceful eviction: how long a cluster that is left keeps what it runs."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask, begun
from reconciler.model.moments import add, earliest, span

DEFAULT_TIMEOUT = timedelta(minutes=10)  # karmada@f8fdd02 --graceful-eviction-timeout


class GracefulEviction(NamedTuple):
    """The tasks that stay, in their order.

    `expires_at` is the earliest end of a task's time: upstream looks again then, and keeps the task
    a last time. `ends` are the tasks whose time ends, each with the moment at which that alone
    drops it; `until` is the first of these. Both are `None` if no task waits for its end.
    """

    tasks: tuple[EvictionTask, ...]
    expires_at: datetime | None = None
    ends: tuple[tuple[EvictionTask, datetime], ...] = ()

    @property
    def until(self) -> datetime | None:
        """The first moment at which time alone drops a task, `None` if none does."""
        return earliest(*(moment for _, moment in self.ends))

    @property
    def awaits_health(self) -> bool:
        """Whether a task ends as soon as the workload counts as healthy elsewhere."""
        return any(
            task.suppress_deletion is None and not task.carried_labels for task in self.tasks
        )


def assess_tasks(
    binding: Binding,
    now: datetime,
    *,
    timeout: timedelta = DEFAULT_TIMEOUT,
    reported: Mapping[str, str] | None = None,
) -> GracefulEviction:
    """Drop the tasks that are done: their time is over, or the workload is healthy elsewhere.

    Where labels are carried to the new copy, they stay until it was seen to be healthy.

    Args:
        binding: As it stands; one that is being deleted is left alone.
        now: Aware UTC. A task without a moment gets this one, and stays this time.
        timeout: For tasks that name no gracePeriodSeconds.
        reported: Cluster to health as they report it, `None` if nothing in `binding` is assumed.

    Source: karmada@f8fdd02 pkg/controllers/gracefuleviction/evictiontask.go `assessEvictionTasks`.
    """
    if binding.deleting:
        return GracefulEviction(tasks=binding.tasks)
    healthy = is_settled(binding)
    seen = healthy and (reported is None or is_settled(binding._replace(health=reported)))
    kept = tuple(
        begun(task, now)
        for task in binding.tasks
        if task.creation_timestamp is None
        or _stays(task, now, timeout, healthy=seen if task.carried_labels else healthy)
    )
    ends = tuple(_ends(kept, timeout))
    return GracefulEviction(
        tasks=kept,
        expires_at=earliest(*(end for _, end in ends)),
        ends=tuple((task, add(max(end, now))) for task, end in ends),
    )


def is_settled(binding: Binding) -> bool:
    """Return whether the scheduler has seen the present spec and every cluster reports Healthy.

    Source: karmada@f8fdd02 pkg/controllers/gracefuleviction/evictiontask.go
    `allScheduledResourceInHealthyState`; with no cluster at all it is true.
    """
    return binding.observed_generation == binding.generation and all(
        binding.health.get(name) == "Healthy" for name, _ in binding.clusters
    )


def _stays(task: EvictionTask, now: datetime, timeout: timedelta, *, healthy: bool) -> bool:
    if task.suppress_deletion is not None:
        return task.suppress_deletion
    end = _end(task, timeout)
    return not healthy and (end is None or now <= end)


def _end(task: EvictionTask, timeout: timedelta) -> datetime | None:
    if task.creation_timestamp is None:
        return None
    seconds = task.grace_period_seconds
    return add(task.creation_timestamp, timeout if seconds is None else span(seconds=seconds))


def _ends(
    tasks: tuple[EvictionTask, ...], timeout: timedelta
) -> Iterator[tuple[EvictionTask, datetime]]:
    for task in tasks:
        end = _end(task, timeout) if task.suppress_deletion is None else None
        if end is not None:
            yield task, end
