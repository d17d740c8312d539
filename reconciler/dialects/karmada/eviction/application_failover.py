"""Application failover: a workload leaves the clusters that report it unhealthy for too long."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.cluster_reports import Reports
from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask, new_task
from reconciler.dialects.karmada.api.work.failover_behavior import Behavior
from reconciler.dialects.karmada.eviction.state_preservation import StatePreservation
from reconciler.errors import UserError
from reconciler.manifests.annotation_json import read_moments, write_note
from reconciler.model.health import Health
from reconciler.model.identity import ClusterName
from reconciler.model.moments import add, earliest, parse_moment, span, stamp

UNHEALTHY_SINCE = "reconciler.dev/unhealthy-since"
"""Annotation: cluster to the moment of the pass that first saw the workload unhealthy there."""

GRACEFUL = ("Gracefully", "Graciously")  # the second is the deprecated spelling
PRODUCERS = {
    True: "resource-binding-application-failover-controller",
    False: "cluster-resource-binding-application-failover-controller",
}


class Failing(NamedTuple):
    """The clusters that report a workload unhealthy.

    Attributes:
        since: The annotation: cluster to moment, as JSON; `""` if there are none.
        leaving: The clusters to leave now, by name, each with the labels to take along.
        pending: The clusters to leave later, by name, each with the moment.
        unpreserved: Why none is left though it is time, `""` if nothing keeps the workload there.
    """

    since: str = ""
    leaving: Mapping[ClusterName, Mapping[str, str]] = MappingProxyType({})
    pending: tuple[tuple[ClusterName, datetime], ...] = ()
    unpreserved: str = ""

    @property
    def until(self) -> datetime | None:
        """When a cluster will have to be left, `None` if none."""
        return earliest(*(moment for _, moment in self.pending))


def detect_failing(
    binding: Binding,
    behavior: Behavior,
    reports: Reports,
    annotation: str,
    preservation: StatePreservation,
    now: datetime,
) -> Failing:
    """Return which clusters a workload must leave since it has been unhealthy there for too long.

    A cluster that stops reporting keeps its moment; one that reports health loses it. It is left
    once `now > since + tolerationSeconds`. Where the state in one of them cannot be preserved, none
    is left.

    Args:
        binding: With the clusters that it is on.
        behavior: Of its policy.
        reports: What its clusters say.
        annotation: `since` as the last pass wrote it.
        preservation: What the workload takes along.
        now: Aware UTC.

    Source: karmada@f8fdd02 pkg/controllers/applicationfailover/common.go
    `distinguishUnhealthyClustersWithOthers`, and rb_application_failover_controller.go
    `detectFailure`, `evictBinding`. Upstream keeps the moments in memory, here they outlive a
    restart.
    """
    known = read_moments(annotation)
    evicting = {task.from_cluster for task in binding.tasks}
    since: dict[str, str] = {}
    overdue: dict[ClusterName, str] = {}
    pending: list[tuple[ClusterName, datetime]] = []
    for name in sorted(name for name, _ in binding.clusters if name not in evicting):
        health = reports.health(name)
        if health is not Health.UNHEALTHY:
            if name in known and health is not Health.HEALTHY:
                since[name] = known[name]
            continue
        moment = known.get(name) or str(stamp(now))
        ends = add(parse_moment(moment), span(seconds=behavior.toleration_seconds))
        if now > ends:
            overdue[name] = moment
        else:
            since[name] = moment
            pending.append((name, add(ends)))
    leaving, unpreserved = _leaving(overdue, preservation)
    if not leaving:
        since.update(overdue.items())
    return Failing(
        since=write_note(since) if since else "",
        leaving=leaving,
        pending=tuple(pending),
        unpreserved=unpreserved,
    )


def _leaving(
    overdue: Iterable[ClusterName], preservation: StatePreservation
) -> tuple[Mapping[ClusterName, Mapping[str, str]], str]:
    """Return the clusters to leave with the labels to take along, or why none can be left."""
    try:
        return {name: preservation.labels(name) for name in overdue}, ""
    except UserError as error:
        return {}, error.message


def eviction_task(
    binding: Binding, behavior: Behavior, cluster: ClusterName, labels: Mapping[str, str]
) -> EvictionTask:
    """Return the task for a cluster that is left, whose workload takes these labels along.

    Source: karmada@f8fdd02 pkg/controllers/applicationfailover/common.go `buildTaskOptions`.
    """
    replicas = next(count for name, count in binding.clusters if name == cluster)
    graceful = behavior.purge_mode in GRACEFUL
    return new_task(
        cluster,
        purge_mode=behavior.purge_mode,
        replicas=replicas,
        reason="ApplicationFailure",
        producer=PRODUCERS[bool(binding.namespace)],
        grace_period_seconds=behavior.grace_period_seconds if graceful else None,
        suppress_deletion=behavior.purge_mode == "Never",
        preserved_label_state=labels,
        clusters_before_failover=[name for name, _ in binding.clusters] if labels else (),
    )
