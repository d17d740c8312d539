"""The spec of a binding: a workload, what is wanted of it, and what was decided of it."""

from collections.abc import Iterable
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask, decode_task
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey, group_of

Targets = tuple[TargetCluster, ...]


class ObjectReference(NamedTuple):
    """The workload that a binding is about; an empty field is an absent one.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `ObjectReference`.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> ObjectKey:
        """The workload's key."""
        return ObjectKey(group_of(self.api_version), self.kind, self.namespace, self.name)


class BindingSnapshot(NamedTuple):
    """A binding that requires another one, and where it was by then.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `BindingSnapshot`.
    """

    namespace: str
    name: str
    clusters: Targets = ()


class BindingSpec(NamedTuple):
    """The spec of a ResourceBinding or ClusterResourceBinding; `None` stands for an absent field.

    What it carries of its workload's and its policy's content is a mapping, as they have it; what
    is decided is decoded. A tuple, since each round makes several of each binding: a frozen class
    takes four times as long.

    Attributes:
        resource: Its workload.
        replicas: How many the workload wants.
        requirements: What one of them asks for.
        clusters: The present result, in its order.
        placement: Of its policy.
        tasks: The clusters that it is leaving.
        required_by: The bindings of the workloads that need this one.
        reschedule_triggered_at: When a rebalancer asked for a schedule, as written.
        propagate_deps: Whether what the workload needs follows it.
        scheduler_name: Whose scheduler it is for.
        conflict_resolution: What happens where a cluster has such an object already.
        failover: Of its policy.
        priority: Its schedulePriority.
        suspension: What is suspended of it.
        preserve_resources_on_deletion: Whether the copies outlive it.
        components: Those that the workload lists; they are read, and never written.
    """

    resource: ObjectReference
    replicas: int | None = None
    requirements: Body | None = None
    clusters: Targets = ()
    placement: Body | None = None
    tasks: tuple[EvictionTask, ...] = ()
    required_by: tuple[BindingSnapshot, ...] = ()
    reschedule_triggered_at: str | None = None
    propagate_deps: bool | None = None
    scheduler_name: str | None = None
    conflict_resolution: str | None = None
    failover: Body | None = None
    priority: Body | None = None
    suspension: Body | None = None
    preserve_resources_on_deletion: bool | None = None
    components: tuple[Body, ...] = ()

    @property
    def named(self) -> frozenset[str]:
        """The clusters that it is on."""
        return frozenset(map(itemgetter(0), self.clusters))

    @property
    def held_on(self) -> frozenset[str]:
        """The clusters that hold its workload: it is on them, or others that need it are."""
        if not self.required_by:
            return self.named
        return self.named.union(name for one in self.required_by for name, _ in one.clusters)

    @property
    def placed(self) -> Placed:
        """The clusters that it is on with their replicas, by name."""
        return placed_on(self.clusters)

    @property
    def is_workload(self) -> bool:
        """Whether it has replicas to place, or is of a kind that could have some.

        Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types_helper.go `IsWorkload`.
        """
        return (self.replicas or 0) > 0 or self.requirements is not None or bool(self.components)

    @property
    def scheduling_suspended(self) -> bool:
        """Whether the scheduler is to leave it alone."""
        return (self.suspension or {}).get("scheduling") is True


def requests_of(spec: BindingSpec) -> Body:
    """Return the resources that one replica asks for, as they are written."""
    return fields.mapping(spec.requirements or {}, "resourceRequest")


def decode_reference(body: Body) -> ObjectReference:
    """Return a reference to a workload."""
    text = fields.text
    return ObjectReference(
        text(body, "apiVersion"),
        text(body, "kind"),
        text(body, "namespace"),
        text(body, "name"),
        text(body, "uid"),
        text(body, "resourceVersion"),
    )


def encode_reference(reference: ObjectReference) -> Body:
    """Return a reference as it is written."""
    version, kind, namespace, name, uid, resource_version = reference
    body = {"apiVersion": version, "kind": kind}
    if namespace:
        body["namespace"] = namespace
    body["name"] = name
    if uid:
        body["uid"] = uid
    if resource_version:
        body["resourceVersion"] = resource_version
    return body


def decode_spec(manifest: Body) -> BindingSpec:
    """Return the spec of a binding's manifest.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `ResourceBindingSpec`.
    """
    spec = fields.mapping(manifest, "spec")
    return decode_policy_fields(spec)._replace(
        resource=decode_resource(manifest),
        replicas=fields.number_or_none(spec, "replicas"),
        requirements=fields.mapping_or_none(spec, "replicaRequirements"),
        clusters=decode_targets(spec),
        tasks=decode_tasks(spec),
        required_by=tuple(map(_decode_snapshot, fields.bodies(spec, "requiredBy"))),
        reschedule_triggered_at=text_or_none(spec, "rescheduleTriggeredAt"),
        priority=fields.mapping_or_none(spec, "schedulePriority"),
        components=fields.bodies(spec, "components"),
    )


def decode_resource(manifest: Body) -> ObjectReference:
    """Return the workload of a binding's manifest alone: there may be a thousand clusters beside.

    Raises:
        UserError: A field of it has the wrong type.
    """
    return decode_reference(fields.mapping(fields.mapping(manifest, "spec"), "resource"))


def decode_requests(manifest: Body) -> Body:
    """Return what one replica of a binding's manifest asks for alone, as it is written.

    Raises:
        UserError: A field of it has the wrong type.
    """
    requirements = fields.mapping(fields.mapping(manifest, "spec"), "replicaRequirements")
    return fields.mapping(requirements, "resourceRequest")


def placement_in(manifest: Body) -> Body | None:
    """Return the placement of a binding's manifest alone, as it is written.

    Raises:
        UserError: It is no mapping.
    """
    return fields.mapping_or_none(fields.mapping(manifest, "spec"), "placement")


def takes_the_same(one: Body, other: Body) -> bool:
    """Return whether two manifests of a binding have the same clusters, replicas and requests."""
    first, second = fields.mapping(one, "spec"), fields.mapping(other, "spec")
    return all(first.get(field) == second.get(field) for field in TAKING)


def may_propagate(manifest: Body) -> bool:
    """Return whether a binding may have what its workload needs follow it; it may be unreadable."""
    return bool(at(manifest, "spec").get("propagateDeps"))


TAKING = ("clusters", "replicaRequirements")
"""The fields of a spec that say what it takes of clusters."""

NO_REFERENCE = ObjectReference("", "", "", "")


def decode_policy_fields(spec: Body) -> BindingSpec:
    """Return what a binding takes from the spec of its policy as it is, of no workload yet.

    Source: karmada@f8fdd02 pkg/detector/detector.go `BuildResourceBinding`.
    """
    return BindingSpec(
        resource=NO_REFERENCE,
        placement=fields.mapping_or_none(spec, "placement"),
        propagate_deps=fields.flag_or_none(spec, "propagateDeps"),
        scheduler_name=text_or_none(spec, "schedulerName"),
        conflict_resolution=text_or_none(spec, "conflictResolution"),
        failover=fields.mapping_or_none(spec, "failover"),
        suspension=fields.mapping_or_none(spec, "suspension"),
        preserve_resources_on_deletion=fields.flag_or_none(spec, "preserveResourcesOnDeletion"),
    )


def encode_spec(spec: BindingSpec) -> Body:
    """Return the spec as it is written, in the order of the file; what is empty is absent."""
    written = {
        "resource": encode_reference(spec.resource),
        "replicas": spec.replicas,
        "replicaRequirements": spec.requirements,
        "clusters": encode_targets(spec.clusters) or None,
        "placement": spec.placement,
        "gracefulEvictionTasks": [task.body for task in spec.tasks] or None,
        "requiredBy": [_encode_snapshot(one) for one in spec.required_by] or None,
        "rescheduleTriggeredAt": spec.reschedule_triggered_at,
        "propagateDeps": spec.propagate_deps,
        "schedulerName": spec.scheduler_name,
        "conflictResolution": spec.conflict_resolution,
        "failover": spec.failover,
        "schedulePriority": spec.priority,
        "suspension": spec.suspension,
        "preserveResourcesOnDeletion": spec.preserve_resources_on_deletion,
    }
    return {name: value for name, value in written.items() if value is not None}


def with_scheduling(spec: BindingSpec, *, suspended: bool) -> BindingSpec:
    """Return a spec whose scheduling is suspended, or is not."""
    if spec.suspension is None and not suspended:
        return spec
    kept = {name: value for name, value in (spec.suspension or {}).items() if name != "scheduling"}
    wanted: Body = {**kept, "scheduling": True} if suspended else kept
    return spec._replace(suspension=wanted or None)


def decode_targets(spec: Body) -> Targets:
    """Return the clusters of a binding's spec, or of a snapshot, in their order."""
    targets = []
    for item in fields.bodies(spec, "clusters"):
        name, replicas = item.get("name"), item.get("replicas")
        if type(name) is str and type(replicas) is int:  # the usual case, and faster
            targets.append(_target(name, replicas))
        else:
            targets.append(_target(fields.text(item, "name"), fields.number(item, "replicas")))
    return tuple(targets)


def decode_required_clusters(binding: Body) -> frozenset[str]:
    """Return the clusters of the bindings that require one."""
    required = fields.bodies(fields.mapping(binding, "spec"), "requiredBy")
    return frozenset(name for one in required for name, _ in decode_targets(one))


def decode_requiring(binding: Body) -> tuple[BindingSnapshot, ...]:
    """Return the bindings that require one, in their order."""
    required = fields.bodies(fields.mapping(binding, "spec"), "requiredBy")
    return tuple(map(_decode_snapshot, required))


def decode_tasks(spec: Body) -> tuple[EvictionTask, ...]:
    """Return the evictions of a binding's spec, in their order."""
    return tuple(map(decode_task, fields.bodies(spec, "gracefulEvictionTasks")))


def encode_targets(clusters: Iterable[TargetCluster]) -> list[Body]:
    """Return clusters as they are written, in their order."""
    return [_target_body(name, replicas) for name, replicas in clusters]


def placed_on(clusters: Iterable[TargetCluster]) -> Placed:
    """Return clusters by name."""
    return tuple(sorted(clusters))


@lru_cache(maxsize=1 << 15)
def _target(name: str, replicas: int) -> TargetCluster:
    """Return a cluster with its replicas; the same object for equal ones, as thousands are."""
    return TargetCluster(ClusterName(name), replicas)


@lru_cache(maxsize=1 << 15)
def _target_body(name: str, replicas: int) -> Body:
    """Return a cluster of a binding's spec as it is written; no replicas are left out.

    The same object for equal ones: thousands of bindings name the same clusters.
    """
    return {"name": name, "replicas": replicas} if replicas else {"name": name}


def _decode_snapshot(body: Body) -> BindingSnapshot:
    names = fields.text(body, "namespace"), fields.text(body, "name")
    return BindingSnapshot(*names, decode_targets(body))


def _encode_snapshot(snapshot: BindingSnapshot) -> Body:
    scope = {"namespace": snapshot.namespace} if snapshot.namespace else {}
    placed = {"clusters": encode_targets(snapshot.clusters)} if snapshot.clusters else {}
    return {**scope, "name": snapshot.name, **placed}


def encode_priority(value: int) -> Body:
    """Return the priority of a binding as it is written."""
    return {"priority": value}


def text_or_none(body: Body, field: str) -> str | None:
    """Return the text below a field, `None` if there is none."""
    return None if body.get(field) is None else fields.text(body, field)
