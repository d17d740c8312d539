"""Events of bindings: evictions, scheduling, dependencies, copies, aggregation."""

from collections.abc import Iterable, Iterator

from reconciler.dialects.karmada.api.defaults import DEFAULT_SCHEDULER
from reconciler.dialects.karmada.api.work.binding_spec import (
    BindingSpec,
    decode_spec,
    may_propagate,
)
from reconciler.dialects.karmada.api.work.binding_status import decode_status
from reconciler.model.body import Body
from reconciler.model.fields import text
from reconciler.model.identity import ObjectKey
from reconciler.model.upstream_event import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    condition_of,
)

DISTRIBUTOR, EXECUTION = "dependencies-distributor", "execution-controller"
"""Components that record events, as karmada@f8fdd02 cmd/controller-manager/app names them."""


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield the events of evictions, of scheduling, then of what follows from it.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `recordScheduleResultEventForResourceBinding`
    and `targetClustersToString`, pkg/util/helper/binding.go
    `EmitClusterEvictionEventForResourceBinding`.
    """
    key, before, after = change.key, decode_spec(change.before), decode_spec(change.after)
    known = {*_leaving(before), *_leaving(after)}
    began = (name for name in _leaving(after) if name not in _leaving(before))
    for cluster in (*(name for name in change.evicted if name not in known), *began):
        message = f"Evict from cluster {cluster} succeed."
        reason = "EvictWorkloadFromClusterSucceed"
        yield key, UpstreamEvent(NORMAL, reason, message, _controller(key, "graceful-eviction"))
    condition = condition_of(change.after, "Scheduled")
    if condition and _scheduled(change.after, after) != _scheduled(change.before, before):
        if condition.get("status") != "True":
            message = text(condition, "message")
            yield key, UpstreamEvent(WARNING, "ScheduleBindingFailed", message, DEFAULT_SCHEDULER)
        else:
            result = ", ".join(f"{name}:{replicas}" for name, replicas in after.clusters)
            message = f"{text(condition, 'message')} Result: {{{result}}}"
            yield key, UpstreamEvent(NORMAL, "ScheduleBindingSucceed", message, DEFAULT_SCHEDULER)
    yield from _dependencies(key, before, after, map(decode_spec, change.beside))
    yield from _synced(key, after, change)
    yield from _aggregated(key, change)


def may_hide_eviction(before: Body, after: Body) -> bool:
    """Return whether an eviction may have begun and ended between two states of a binding.

    Then neither state has it; a cluster is gone, and nothing else says why.
    """
    known, now = decode_spec(before), decode_spec(after)
    kept = {*now.named, *_leaving(now), *_leaving(known)}
    return not known.named <= kept


def asks_beside(before: Body, after: Body) -> bool:
    """Return whether what a workload takes along may be told of a change: others name it."""
    return may_propagate(before) or may_propagate(after)


def _leaving(binding: BindingSpec) -> tuple[str, ...]:
    """Return the clusters that a binding is being evicted from."""
    return tuple(task.from_cluster for task in binding.tasks)


def _dependencies(
    key: ObjectKey, before: BindingSpec, after: BindingSpec, beside: Iterable[BindingSpec]
) -> Iterator[ObjectEvent]:
    """Return what a workload takes along once it is placed, or placed elsewhere.

    Those that stand in the repository are known by their bindings, which name who requires them.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `syncScheduleResultToAttachedBindings`; the text is Go's of the list.
    """
    wanted = after.propagate_deps and after.clusters
    same = before.propagate_deps and before.clusters == after.clusters
    if not wanted or same:
        return
    listed = sorted(
        f"{{APIVersion:{found.api_version} Kind:{found.kind} "
        f"Namespace:{found.namespace} Name:{found.name} LabelSelector:<nil>}}"
        for other in beside
        if _requires(key, other)
        for found in (other.resource,)
    )
    message = f"Get dependencies([{' '.join(listed)}]) succeed."
    yield key, UpstreamEvent(NORMAL, "GetDependenciesSucceed", message, DISTRIBUTOR)


def _requires(key: ObjectKey, other: BindingSpec) -> bool:
    """Return whether a binding is required by the one of a key."""
    return any((one.namespace, one.name) == (key.namespace, key.name) for one in other.required_by)


def _synced(key: ObjectKey, after: BindingSpec, change: OutputChange) -> Iterator[ObjectEvent]:
    """Return which clusters hold their copy now, as their reports say.

    Of what is assumed nothing is told, but where an older version of ours wrote it to the file.

    Source: karmada@f8fdd02 pkg/controllers/execution/execution_controller.go `syncToClusters`.
    """
    name = f"{after.resource.namespace}/{after.resource.name}"
    applied = _applied(change.before)
    for cluster in _applied(change.after):
        if cluster not in applied:
            message = f"Successfully applied resource({name}) to cluster {cluster}"
            yield key, UpstreamEvent(NORMAL, "SyncSucceed", message, EXECUTION)


def _aggregated(key: ObjectKey, change: OutputChange) -> Iterator[ObjectEvent]:
    """Return the event of reports that were gathered anew.

    Not where an entry only went with its cluster: scheduling tells of that.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `AggregateResourceBindingWorkStatus`, in
    the words of Karmada's proposal of rebalancing.
    """
    known = decode_status(change.before).reports
    if all(item in known for item in decode_status(change.after).reports):
        return
    kind = f"{key.kind[0].lower()}{key.kind[1:]}"
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    message = f"Update {kind}({name}) with AggregatedStatus successfully."
    source = _controller(key, "status")
    yield key, UpstreamEvent(NORMAL, "AggregateStatusSucceed", message, source)


def _controller(key: ObjectKey, what: str) -> str:
    """Return the name of upstream's controller of something of a kind of bindings.

    Source: karmada@f8fdd02 pkg/controllers/status/rb_status_controller.go `RBStatusControllerName`,
    pkg/controllers/gracefuleviction/rb_graceful_eviction_controller.go
    `RBGracefulEvictionControllerName`, and those of cluster-wide bindings beside them.
    """
    scope = "cluster-" if key.kind == "ClusterResourceBinding" else ""
    return f"{scope}resource-binding-{what}-controller"


def _applied(binding: Body) -> tuple[str, ...]:
    return tuple(item.cluster for item in decode_status(binding).aggregated if item.applied)


def _scheduled(binding: Body, spec: BindingSpec) -> tuple[object, ...]:
    """Return what changes with a scheduling that is news; its moment alone is none."""
    condition = condition_of(binding, "Scheduled")
    return (
        spec.clusters,
        spec.reschedule_triggered_at or "",
        [text(condition, field) for field in ("status", "reason", "message")],
    )
