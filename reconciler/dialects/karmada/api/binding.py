"""ResourceBinding: the workload, where it is placed, and what its clusters report.

A manifest is decoded in three parts: metadata here, the spec in `binding_spec.py`, and the status,
which has the scheduler's conditions and what each cluster reports. `Binding` puts the three
together as controllers read them; the encoders write a whole manifest back.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding_spec import (
    BindingSpec,
    EvictionTask,
    ObjectReference,
    cluster_purge_mode,
    decode_resource,
    decode_spec,
    encode_reference,
    moment_or_none,
    requests_of,
    text_or_none,
)
from reconciler.dialects.karmada.api.cluster import Requirements, TargetCluster
from reconciler.dialects.karmada.api.names import WORK_GROUP
from reconciler.dialects.karmada.api.placement import APPLIED_PLACEMENT, Placement, decode_placement
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.kinds import Kind
from reconciler.model.quantity import decode_resources


class AggregatedStatusItem(NamedTuple):
    """What one cluster reports of a binding's workload; `body` is that as it is written.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `AggregatedStatusItem`.
    """

    cluster: str
    applied: bool
    health: str
    body: Body

    @property
    def refused(self) -> bool:
        """Whether the cluster says that it could not apply it."""
        return self.body.get("applied") is False

    @property
    def message(self) -> str:
        """Why it is not applied."""
        return fields.text(self.body, "appliedMessage")

    @property
    def status(self) -> Body:
        """The status of the workload there."""
        return fields.mapping(self.body, "status")


class BindingStatus(NamedTuple):
    """The status of a ResourceBinding or ClusterResourceBinding; `None` is an absent field.

    Attributes:
        observed_generation: The generation that the scheduler saw last.
        observed_affinity: The affinity group that it took.
        last_scheduled_time: When it scheduled last, as written.
        conditions: As written.
        reports: aggregatedStatus, as written.
    """

    observed_generation: int | None = None
    observed_affinity: str | None = None
    last_scheduled_time: str | None = None
    conditions: Sequence[Body] | None = None
    reports: Sequence[Body] = ()

    @property
    def aggregated(self) -> tuple[AggregatedStatusItem, ...]:
        """What the clusters report, decoded when it is asked for."""
        return tuple(map(decode_item, self.reports))

    @property
    def health(self) -> dict[str, str]:
        """Cluster to health."""
        text = fields.text
        return {text(item, "clusterName"): text(item, "health") for item in self.reports}


def decode_status(manifest: Body) -> BindingStatus:
    """Return the status of a binding's manifest.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `ResourceBindingStatus`; the
    JSON name of SchedulerObservedAffinityName is schedulerObservingAffinityName.
    """
    status = fields.mapping(manifest, "status")
    return BindingStatus(
        observed_generation=fields.number_or_none(status, "schedulerObservedGeneration"),
        observed_affinity=text_or_none(status, "schedulerObservingAffinityName"),
        last_scheduled_time=text_or_none(status, "lastScheduledTime"),
        conditions=fields.bodies_or_none(status, "conditions"),
        reports=fields.bodies(status, "aggregatedStatus"),
    )


def encode_status(status: BindingStatus) -> Body:
    """Return the status as it is written, in the order of the file."""
    written = {
        "schedulerObservedGeneration": status.observed_generation,
        "schedulerObservingAffinityName": status.observed_affinity,
        "lastScheduledTime": status.last_scheduled_time,
        "conditions": None if status.conditions is None else list(status.conditions),
        "aggregatedStatus": list(status.reports) or None,
    }
    return {name: value for name, value in written.items() if value is not None}


def decode_item(body: Body) -> AggregatedStatusItem:
    """Return what one cluster reports."""
    applied = body.get("applied") is True
    return AggregatedStatusItem(
        fields.text(body, "clusterName"), applied, fields.text(body, "health"), body
    )


def reported_item(
    cluster: str, status: Body, *, message: str, applied: bool, health: str
) -> AggregatedStatusItem:
    """Return the entry of a cluster that reports.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `assembleWorkStatus`.
    """
    entry: dict[str, object] = {"clusterName": cluster}
    if status:
        entry["status"] = status
    if message:
        entry["appliedMessage"] = message
    body = {**entry, "applied": applied, "health": health}
    return AggregatedStatusItem(cluster, applied, health, body)


@lru_cache(maxsize=1 << 13)
def assumed_item(name: str) -> AggregatedStatusItem:
    """Return the entry of a cluster of which health is assumed; the same object for equal ones."""
    return reported_item(name, {}, message="", applied=True, health="Healthy")


API_VERSION = "work.karmada.io/v1alpha2"
BINDING = "ResourceBinding"
CLUSTER_BINDING = "ClusterResourceBinding"
BINDINGS: tuple[Kind, ...] = ((WORK_GROUP, CLUSTER_BINDING), (WORK_GROUP, BINDING))

NOTHING: Body = {}


class BindingMetadata(NamedTuple):
    """The metadata of a binding; an empty field is an absent one.

    Attributes:
        namespace: `""` for a ClusterResourceBinding.
        creation_timestamp: As written.
        deleting: Whether it is being deleted.
        annotations: As written, texts by name.
        labels: As written, texts by name.
    """

    namespace: str = ""
    name: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deleting: bool = False
    annotations: Mapping[str, object] = NOTHING
    labels: Mapping[str, object] = NOTHING

    def note(self, name: str) -> str:
        """Return an annotation, `""` without it."""
        return fields.text(self.annotations, name)

    def label(self, name: str) -> str:
        """Return a label, `""` without it."""
        return fields.text(self.labels, name)


def decode_metadata(manifest: Body) -> BindingMetadata:
    """Return the metadata of a binding's manifest.

    Raises:
        UserError: A field has the wrong type.
    """
    metadata = fields.mapping(manifest, "metadata")
    return BindingMetadata(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        uid=fields.text(metadata, "uid"),
        generation=fields.number(metadata, "generation"),
        creation_timestamp=fields.text(metadata, "creationTimestamp"),
        deleting=bool(metadata.get("deletionTimestamp")),
        annotations=fields.mapping(metadata, "annotations"),
        labels=fields.mapping(metadata, "labels"),
    )


def decode_marks(manifest: Body) -> BindingMetadata:
    """Return the labels and annotations of a binding's manifest alone.

    Raises:
        UserError: One of both has the wrong type.
    """
    metadata = fields.mapping(manifest, "metadata")
    return BindingMetadata(
        annotations=fields.mapping(metadata, "annotations"),
        labels=fields.mapping(metadata, "labels"),
    )


def encode_metadata(metadata: BindingMetadata, owners: Sequence[Body] = ()) -> Body:
    """Return the metadata of a binding as it is written, annotations by name."""
    annotations = metadata.annotations
    body: dict[str, object] = {"name": metadata.name}
    if metadata.namespace:
        body["namespace"] = metadata.namespace
    body |= {
        "uid": metadata.uid,
        "creationTimestamp": metadata.creation_timestamp,
        "generation": metadata.generation,
        "annotations": {name: annotations[name] for name in sorted(annotations)},
    }
    if metadata.labels:
        body["labels"] = dict(metadata.labels)
    if owners:
        body["ownerReferences"] = owners
    return body


def encode_manifest(
    metadata: BindingMetadata, spec: Body, status: BindingStatus, owners: Sequence[Body] = ()
) -> Body:
    """Return the manifest of a binding as it is written, given its encoded spec."""
    return {
        "apiVersion": API_VERSION,
        "kind": BINDING if metadata.namespace else CLUSTER_BINDING,
        "metadata": encode_metadata(metadata, owners),
        "spec": spec,
        "status": encode_status(status),
    }


def named_otherwise(
    manifest: Body, key: ObjectKey, resource: ObjectReference, owners: Sequence[Body]
) -> Body:
    """Return the manifest of a new binding that says of another workload what this one says.

    All but what names the two is shared with it.

    Args:
        manifest: That of a binding in the same namespace.
        key: Of the other binding.
        resource: Its workload.
        owners: Its ownerReferences.
    """
    metadata = {**fields.mapping(manifest, "metadata"), "name": key.name, "uid": uid_of(key)}
    if owners:
        metadata["ownerReferences"] = owners
    spec = {**fields.mapping(manifest, "spec"), "resource": encode_reference(resource)}
    return {**manifest, "metadata": metadata, "spec": spec}


def says_the_same(manifest: Body | None, spec: Body) -> bool:
    """Return whether a manifest, `None` for none, has this spec to the letter."""
    return manifest is not None and fields.mapping(manifest, "spec") == spec


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
