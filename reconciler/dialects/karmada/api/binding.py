"""ResourceBinding: a workload, where it is placed, and where it wants to be."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.karmada.api.applied_placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.api.clusters import Requirements, TargetCluster
from reconciler.dialects.karmada.api.placement import Placement, decode_placement
from reconciler.dialects.karmada.api.work.binding_metadata import BindingMetadata, decode_metadata
from reconciler.dialects.karmada.api.work.binding_spec import (
    BindingSpec,
    decode_resource,
    decode_spec,
    requests_of,
)
from reconciler.dialects.karmada.api.work.binding_status import BindingStatus, decode_status
from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask, moment_or_none
from reconciler.dialects.karmada.api.work.failover_behavior import cluster_purge_mode
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.resources import decode_resources


class Binding(NamedTuple):
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
        between: Clusters outside of its affinity group that count as of it.
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
    between: tuple[ClusterName, ...] = ()

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
    """Return the workload that the manifest of a binding is about; nothing else is decoded."""
    return decode_resource(binding).key


def decode_binding(body: Body) -> Binding:
    """Return the binding that a manifest holds.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `ResourceBinding`.
    """
    spec = decode_spec(body)
    placement = None if spec.placement is None else decode_placement(spec.placement)
    return binding_of(decode_metadata(body), spec, decode_status(body), placement)


def binding_of(
    metadata: BindingMetadata,
    spec: BindingSpec,
    status: BindingStatus,
    placement: Placement | None,
) -> Binding:
    """Return a binding as its controllers read it.

    Args:
        metadata: Of the binding.
        spec: Of the binding.
        status: Of the binding.
        placement: That of the spec, decoded.

    Raises:
        UserError: Its requirements, or one of its moments cannot be read.
    """
    resource = spec.resource
    return Binding(
        namespace=metadata.namespace,
        name=metadata.name,
        generation=metadata.generation,
        deleting=metadata.deleting,
        api_version=resource.api_version,
        kind=resource.kind,
        uid=resource.uid,
        replicas=spec.replicas or 0,
        requirements=None if spec.requirements is None else _requirements(requests_of(spec)),
        components=len(spec.components),
        clusters=spec.clusters,
        placement=placement,
        tasks=spec.tasks,
        reschedule_triggered_at=moment_or_none(
            spec.reschedule_triggered_at, "rescheduleTriggeredAt"
        ),
        purge_mode=cluster_purge_mode(spec.failover),
        applied=metadata.note(APPLIED_PLACEMENT),
        observed_generation=status.observed_generation or 0,
        observed_affinity=status.observed_affinity or "",
        last_scheduled_time=moment_or_none(status.last_scheduled_time, "lastScheduledTime"),
        health=status.health,
    )


def _requirements(body: Body) -> Requirements:
    return tuple(sorted(decode_resources(body).items()))
