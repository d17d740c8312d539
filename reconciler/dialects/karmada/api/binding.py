"""ResourceBinding: a workload, where it is placed, and where it wants to be."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from reconciler.dialects.karmada.api.applied_placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.api.clusters import Requirements, TargetCluster
from reconciler.dialects.karmada.api.placement import Placement, decode_placement
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.moments import parse_moment
from reconciler.model.resources import decode_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionTask:
    """A cluster that a workload is leaving.

    `None` stands for an absent field. `body` is the task as written, with what is not read here.
    """

    from_cluster: ClusterName
    grace_period_seconds: int | None = None
    suppress_deletion: bool | None = None
    creation_timestamp: datetime | None = None
    body: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A ResourceBinding as its controllers read it.

    Attributes:
        replicas: How many the workload wants; 0 for what has no replicas.
        requirements: Requests of one replica; `None` where the binding has no replicaRequirements.
        components: How many components the workload lists.
        clusters: The present result, in its order.
        placement: `None` where the binding has none; upstream never gets there.
        applied: Text of the applied-placement annotation, `""` if absent.
        purge_mode: failover.cluster.purgeMode, `""` if not named; `None` without failover.cluster.
        health: Cluster to health as aggregated in the status.
    """

    namespace: str
    name: str
    generation: int
    deleting: bool
    api_version: str
    kind: str
    uid: str
    replicas: int
    requirements: Requirements | None
    components: int
    clusters: tuple[TargetCluster, ...]
    placement: Placement | None
    tasks: tuple[EvictionTask, ...]
    reschedule_triggered_at: datetime | None
    purge_mode: str | None
    applied: str
    observed_generation: int
    observed_affinity: str
    last_scheduled_time: datetime | None
    health: Mapping[str, str]

    @property
    def is_workload(self) -> bool:
        """Whether it has replicas to place, or is of a kind that could have some.

        Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types_helper.go `IsWorkload`.
        """
        return self.replicas > 0 or self.requirements is not None or self.components > 0

    @property
    def reschedule_required(self) -> bool:
        """Whether a reschedule was asked for after the last scheduling.

        Source: karmada@f8fdd02 pkg/util/binding.go `RescheduleRequired`.
        """
        triggered, scheduled = self.reschedule_triggered_at, self.last_scheduled_time
        return triggered is not None and scheduled is not None and triggered > scheduled


def workload_key(binding: Body) -> ObjectKey:
    """Return the workload that the manifest of a binding is about."""
    resource = fields.mapping(fields.mapping(binding, "spec"), "resource")
    return ObjectKey(
        group_of(fields.text(resource, "apiVersion")),
        fields.text(resource, "kind"),
        fields.text(resource, "namespace"),
        fields.text(resource, "name"),
    )


def decode_binding(body: Body) -> Binding:
    """Return the binding that a manifest holds.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `ResourceBinding`; the JSON name
    of SchedulerObservedAffinityName is schedulerObservingAffinityName.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    status, resource = fields.mapping(body, "status"), fields.mapping(spec, "resource")
    requirements = fields.mapping_or_none(spec, "replicaRequirements")
    placement = fields.mapping_or_none(spec, "placement")
    failover = fields.mapping_or_none(fields.mapping(spec, "failover"), "cluster")
    return Binding(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        generation=fields.number(metadata, "generation"),
        deleting=bool(metadata.get("deletionTimestamp")),
        api_version=fields.text(resource, "apiVersion"),
        kind=fields.text(resource, "kind"),
        uid=fields.text(resource, "uid"),
        replicas=fields.number(spec, "replicas"),
        requirements=None if requirements is None else _requirements(requirements),
        components=len(fields.bodies(spec, "components")),
        clusters=decode_targets(spec),
        placement=None if placement is None else decode_placement(placement),
        tasks=tuple(map(decode_task, fields.bodies(spec, "gracefulEvictionTasks"))),
        reschedule_triggered_at=_moment(spec, "rescheduleTriggeredAt"),
        purge_mode=None if failover is None else fields.text(failover, "purgeMode"),
        applied=fields.text(fields.mapping(metadata, "annotations"), APPLIED_PLACEMENT),
        observed_generation=fields.number(status, "schedulerObservedGeneration"),
        observed_affinity=fields.text(status, "schedulerObservingAffinityName"),
        last_scheduled_time=_moment(status, "lastScheduledTime"),
        health={
            fields.text(item, "clusterName"): fields.text(item, "health")
            for item in fields.bodies(status, "aggregatedStatus")
        },
    )


def decode_targets(spec: Body) -> tuple[TargetCluster, ...]:
    """Return the clusters of a binding's spec, in their order."""
    text, number = fields.text, fields.number
    return tuple(
        [
            TargetCluster(ClusterName(text(item, "name")), number(item, "replicas"))
            for item in fields.bodies(spec, "clusters")
        ]
    )


@lru_cache(maxsize=1 << 15)
def target_body(name: str, replicas: int) -> Body:
    """Return a cluster of a binding's spec as it is written; no replicas are left out.

    The same object for equal ones: thousands of bindings name the same clusters.
    """
    return {"name": name, "replicas": replicas} if replicas else {"name": name}


def decode_task(body: Body) -> EvictionTask:
    """Return one graceful eviction task."""
    return EvictionTask(
        from_cluster=ClusterName(fields.text(body, "fromCluster")),
        grace_period_seconds=fields.number_or_none(body, "gracePeriodSeconds"),
        suppress_deletion=fields.flag_or_none(body, "suppressDeletion"),
        creation_timestamp=_moment(body, "creationTimestamp"),
        body=body,
    )


def _requirements(body: Body) -> Requirements:
    return tuple(sorted(decode_resources(fields.mapping(body, "resourceRequest")).items()))


def _moment(body: Body, field: str) -> datetime | None:
    text = fields.text(body, field)
    if not text:
        return None
    try:
        return parse_moment(text)
    except ValueError as error:
        raise UserError(f"must be a moment: {error}", field=field) from None
