"""Events of bindings: evictions, scheduling, dependencies, copies, aggregation."""

from collections.abc import Iterator, Sequence

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.upstream_event import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    condition_of,
)


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield the events of evictions, of scheduling, then of what follows from it.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `recordScheduleResultEventForResourceBinding`
    and `targetClustersToString`, pkg/util/helper/binding.go
    `EmitClusterEvictionEventForResourceBinding`.
    """
    key, before, after = change.key, change.before, change.after
    known = {*_leaving(before), *_leaving(after)}
    began = (name for name in _leaving(after) if name not in _leaving(before))
    for cluster in (*(name for name in change.evicted if name not in known), *began):
        message = f"Evict from cluster {cluster} succeed."
        yield key, UpstreamEvent(NORMAL, "EvictWorkloadFromClusterSucceed", message)
    condition = condition_of(after, "Scheduled")
    if condition and _scheduled(after) != _scheduled(before):
        if condition.get("status") != "True":
            yield key, UpstreamEvent(WARNING, "ScheduleBindingFailed", text(condition, "message"))
        else:
            result = ", ".join(
                f"{text(c, 'name')}:{number(c, 'replicas')}" for c in _clusters(after)
            )
            message = f"{text(condition, 'message')} Result: {{{result}}}"
            yield key, UpstreamEvent(NORMAL, "ScheduleBindingSucceed", message)
    yield from _dependencies(key, before, after, change.beside)
    yield from _synced(key, before, after)
    yield from _aggregated(key, before, after)


def may_hide_eviction(before: Body, after: Body) -> bool:
    """Return whether an eviction may have begun and ended between two states of a binding.

    Then neither state has it; a cluster is gone, and nothing else says why.
    """
    kept = {*_names(after), *_leaving(after), *_leaving(before)}
    return any(name not in kept for name in _names(before))


def _leaving(binding: Body) -> tuple[str, ...]:
    """Return the clusters that a binding is being evicted from."""
    tasks = bodies(mapping(binding, "spec"), "gracefulEvictionTasks")
    return tuple(text(task, "fromCluster") for task in tasks)


def _dependencies(
    key: ObjectKey, before: Body, after: Body, beside: Sequence[Body]
) -> Iterator[ObjectEvent]:
    """Return what a workload takes along once it is placed, or placed elsewhere.

    Those that stand in the repository are known by their bindings, which name who requires them.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `syncScheduleResultToAttachedBindings`; the text is Go's of the list.
    """
    spec, known = mapping(after, "spec"), mapping(before, "spec")
    wanted = spec.get("propagateDeps") is True and _clusters(after)
    same = known.get("propagateDeps") is True and _clusters(before) == _clusters(after)
    if not wanted or same:
        return
    listed = sorted(
        f"{{APIVersion:{text(found, 'apiVersion')} Kind:{text(found, 'kind')} "
        f"Namespace:{text(found, 'namespace')} Name:{text(found, 'name')} LabelSelector:<nil>}}"
        for body in beside
        if _requires(key, body) and (found := mapping(mapping(body, "spec"), "resource"))
    )
    message = f"Get dependencies([{' '.join(listed)}]) succeed."
    yield key, UpstreamEvent(NORMAL, "GetDependenciesSucceed", message)


def _requires(key: ObjectKey, other: Body) -> bool:
    """Return whether a binding is required by the one of a key."""
    return any(
        (text(item, "namespace"), text(item, "name")) == (key.namespace, key.name)
        for item in bodies(mapping(other, "spec"), "requiredBy")
    )


def _synced(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return which clusters hold their copy now, as they report or as it is assumed of them.

    Source: karmada@f8fdd02 pkg/controllers/execution/execution_controller.go `syncToClusters`.
    """
    resource = mapping(mapping(after, "spec"), "resource")
    name = f"{text(resource, 'namespace')}/{text(resource, 'name')}"
    applied = _applied(before)
    for cluster in _applied(after):
        if cluster not in applied:
            message = f"Successfully applied resource({name}) to cluster {cluster}"
            yield key, UpstreamEvent(NORMAL, "SyncSucceed", message)


def _aggregated(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return the event of reports that were gathered anew.

    Not where an entry only went with its cluster: scheduling tells of that.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `AggregateResourceBindingWorkStatus`, in
    the words of Karmada's proposal of rebalancing.
    """
    known = _items(before)
    if all(item in known for item in _items(after)):
        return
    kind = f"{key.kind[0].lower()}{key.kind[1:]}"
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    message = f"Update {kind}({name}) with AggregatedStatus successfully."
    yield key, UpstreamEvent(NORMAL, "AggregateStatusSucceed", message)


def _items(binding: Body) -> list[Body]:
    return [dict(item) for item in bodies(mapping(binding, "status"), "aggregatedStatus")]


def _applied(binding: Body) -> tuple[str, ...]:
    items = bodies(mapping(binding, "status"), "aggregatedStatus")
    return tuple(text(item, "clusterName") for item in items if item.get("applied") is True)


def _clusters(binding: Body) -> list[Body]:
    return [dict(cluster) for cluster in bodies(mapping(binding, "spec"), "clusters")]


def _names(binding: Body) -> tuple[str, ...]:
    return tuple(text(cluster, "name") for cluster in _clusters(binding))


def _scheduled(binding: Body) -> tuple[object, ...]:
    """Return what changes with a scheduling that is news; its moment alone is none."""
    condition = condition_of(binding, "Scheduled")
    return (
        _clusters(binding),
        text(mapping(binding, "spec"), "rescheduleTriggeredAt"),
        [text(condition, field) for field in ("status", "reason", "message")],
    )
