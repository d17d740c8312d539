"""The spec of a binding: its workload, what policies want of it, and what was decided.

Beside the clusters it contains the graceful evictions, a task for each cluster that the workload is
leaving, and the failover behavior that the policy copied into it: that of the application and that
of clusters. Decoders that read one field alone exist because a spec may list a thousand clusters.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from reconciler.dialects.karmada.api.cluster import TargetCluster
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.fields import at, bodies, mapping, mapping_or_none, number_or_none, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.records import dataclass, replace
from reconciler.rebalance.surge import Surge, surge_in, with_surge

DIRECTLY = "Directly"
KEPT_MESSAGE = "kept until another cluster has taken its place"
"""Message of a task whose `suppressDeletion` is ours, not a person's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionTask:
    """A cluster that a workload is leaving.

    `None` stands for an absent field. `body` is the task as written; what only its readers ask for
    is decoded when they ask.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `GracefulEvictionTask`.
    """

    from_cluster: ClusterName
    grace_period_seconds: int | None = None
    suppress_deletion: bool | None = None
    creation_timestamp: datetime | None = None
    body: Body

    @property
    def directly(self) -> bool:
        """Whether the cluster loses its copy at once."""
        return fields.text(self.body, "purgeMode") == DIRECTLY

    @property
    def replicas(self) -> int | None:
        """How many it had there, `None` if it says nothing of that."""
        return fields.number_or_none(self.body, "replicas")

    @property
    def kept(self) -> bool:
        """Whether the copy stays since nothing has taken its place yet."""
        return bool(self.suppress_deletion) and fields.text(self.body, "message") == KEPT_MESSAGE

    @property
    def reason(self) -> str:
        """Why it is left, in one word."""
        return fields.text(self.body, "reason")

    @property
    def since(self) -> str:
        """When it began, as written."""
        return fields.text(self.body, "creationTimestamp")

    @property
    def clusters_before_failover(self) -> tuple[str, ...]:
        """Where the application was before it failed over."""
        return fields.strings(self.body, "clustersBeforeFailover")

    @property
    def preserved_label_state(self) -> Mapping[str, str]:
        """The labels that stand for the state of the application there."""
        labels = fields.mapping(self.body, "preservedLabelState")
        return {name: str(value) for name, value in labels.items()}

    @property
    def carried_labels(self) -> Mapping[str, str]:
        """Those of them that its new copy gets: none while the old one may run beside it."""
        return self.preserved_label_state if self.directly else {}


def decode_task(body: Body) -> EvictionTask:
    """Return one graceful eviction task.

    Raises:
        UserError: A field has the wrong type.
    """
    return EvictionTask(
        from_cluster=ClusterName(fields.text(body, "fromCluster")),
        grace_period_seconds=fields.number_or_none(body, "gracePeriodSeconds"),
        suppress_deletion=fields.flag_or_none(body, "suppressDeletion"),
        creation_timestamp=moment_or_none(
            fields.text(body, "creationTimestamp"), "creationTimestamp"
        ),
        body=body,
    )


def new_task(
    cluster: ClusterName,
    *,
    purge_mode: str,
    replicas: int,
    reason: str,
    producer: str,
    grace_period_seconds: int | None = None,
    suppress_deletion: bool = False,
    preserved_label_state: Mapping[str, str] | None = None,
    clusters_before_failover: Iterable[str] = (),
) -> EvictionTask:
    """Return a task that begins now; its moment is set by graceful eviction.

    Args:
        cluster: The one that is left.
        purge_mode: How its copy goes.
        replicas: How many it had.
        reason: Why it is left.
        producer: Which controller has it left.
        grace_period_seconds: How long the copy may stay, `None` for the default.
        suppress_deletion: Whether it stays until a person says otherwise.
        preserved_label_state: The labels that the workload takes along, if any.
        clusters_before_failover: Where it was before, if that counts.
    """
    body: dict[str, object] = {"fromCluster": cluster, "purgeMode": purge_mode}
    if replicas > 0:
        body["replicas"] = replicas
    body |= {"reason": reason, "producer": producer}
    if grace_period_seconds is not None:
        body["gracePeriodSeconds"] = grace_period_seconds
    if suppress_deletion:
        body["suppressDeletion"] = True
    if preserved_label_state:
        body["preservedLabelState"] = dict(preserved_label_state)
    if before := list(clusters_before_failover):
        body["clustersBeforeFailover"] = before
    return EvictionTask(
        from_cluster=cluster,
        grace_period_seconds=grace_period_seconds or None,
        suppress_deletion=suppress_deletion or None,
        body=body,
    )


def begun(task: EvictionTask, now: datetime) -> EvictionTask:
    """Return a task with the moment at which it began, if it has none yet."""
    if task.creation_timestamp is not None:
        return task
    body = {**task.body, "creationTimestamp": format_moment(now)}
    return replace(task, creation_timestamp=now, body=body)


def keeping_reschedule(at: datetime) -> Body:
    """Return what a binding says of a reschedule that keeps what runs.

    Source: karmada pull request 7662, proposal of `preserveAvailableReplicas`.
    """
    return {
        "triggeredAt": format_moment(at),
        "behavior": {"preserveAvailableReplicas": True},
    }


def kept_task(task: EvictionTask, replicas: int) -> EvictionTask:
    """Return a task whose copy stays with so many replicas until another cluster has taken them."""
    body = {**task.body, "suppressDeletion": True, "message": KEPT_MESSAGE}
    if replicas:
        body["replicas"] = replicas
    return replace(task, suppress_deletion=True, body=body)


def plain_task(task: EvictionTask) -> EvictionTask:
    """Return a task as it was before its copy was kept."""
    if not task.kept:
        return task
    ours = ("suppressDeletion", "message")
    body = {name: value for name, value in task.body.items() if name not in ours}
    return replace(task, suppress_deletion=None, body=body)


def moment_or_none(text: str | None, field: str) -> datetime | None:
    """Return the moment that the text of a field means, `None` if it has none.

    Raises:
        UserError: The text is none of a moment.
    """
    try:
        return parse_moment(text) if text else None
    except ValueError as error:
        raise UserError(f"must be a moment: {error}", field=field) from None


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
        reschedule: What a rebalancer asked for that keeps what runs, as written.
        propagate_deps: Whether what the workload needs follows it.
        scheduler_name: Whose scheduler it is for.
        conflict_resolution: What happens where a cluster has such an object already.
        failover: Of its policy.
        priority: Its schedulePriority.
        suspension: What is suspended of it.
        preserve_resources_on_deletion: Whether the copies outlive it.
        components: Those that the workload lists; they are read, and never written.
        surge: What runs beside the clusters while it moves; an annotation, never a part of the
            spec that is written.
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
    surge: Surge | None = None
    reschedule: Body | None = None

    @property
    def copies(self) -> Targets:
        """What each cluster is to have: its own order, then those with a surge alone, by name."""
        return copies_of(self.clusters, self.surge)

    @property
    def named(self) -> frozenset[str]:
        """The clusters that it is on."""
        return frozenset(map(itemgetter(0), self.clusters))

    @property
    def held_on(self) -> frozenset[str]:
        """The clusters that hold its workload: it is on them, or others that need it are."""
        own = self.named if self.surge is None else frozenset(name for name, _ in self.copies)
        if not self.required_by:
            return own
        return own.union(name for one in self.required_by for name, _ in one.clusters)

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


def reschedule_asked_at(spec: BindingSpec) -> datetime | None:
    """Return when a reschedule that keeps what runs was asked for, `None` if none was.

    Raises:
        UserError: The moment is none.
    """
    written = fields.text(spec.reschedule or {}, "triggeredAt")
    return moment_or_none(written, "reschedule/triggeredAt")


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
        surge=surge_in(manifest),
        reschedule=fields.mapping_or_none(spec, "reschedule"),
    )


def copies_of(clusters: Targets, surge: Surge | None) -> Targets:
    """Return what each cluster of a binding is to have.

    Args:
        clusters: Those that it is scheduled to.
        surge: What runs beside, `None` for nothing.
    """
    if surge is None:
        return clusters
    return tuple(_target(name, count) for name, count in with_surge(clusters, surge).items())


def copies_in(manifest: Body) -> Targets:
    """Return what each cluster of a binding's manifest is to have."""
    return copies_of(decode_targets(fields.mapping(manifest, "spec")), surge_in(manifest))


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
    same = all(first.get(field) == second.get(field) for field in TAKING)
    return same and surge_in(one) == surge_in(other)


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
        "reschedule": spec.reschedule,
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
    suspension = {
        name: value for name, value in (spec.suspension or {}).items() if name != "scheduling"
    }
    wanted: Body = {**suspension, "scheduling": True} if suspended else suspension
    return spec._replace(suspension=wanted or None)


def decode_targets(spec: Body) -> Targets:
    """Return the clusters of a binding's spec, or of a snapshot, in their order."""
    targets = []
    for target in fields.bodies(spec, "clusters"):
        name, replicas = target.get("name"), target.get("replicas")
        if type(name) is str and type(replicas) is int:  # the usual case, and faster
            targets.append(_target(name, replicas))
        else:
            targets.append(_target(fields.text(target, "name"), fields.number(target, "replicas")))
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


TOLERATION_SECONDS = 300  # karmada@f8fdd02 CRD default of decisionConditions.tolerationSeconds


@dataclass(frozen=True, slots=True)
class StateRule:
    """What of a workload's status is preserved, and as which label.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/propagation_types.go `StatePreservationRule`.
    """

    alias_label_name: str
    json_path: str


StateRules = tuple[StateRule, ...]


@dataclass(frozen=True, slots=True)
class Behavior:
    """`failover.application` of a policy.

    Attributes:
        toleration_seconds: How long unhealthy copies are borne.
        purge_mode: How the copy on the old cluster goes.
        grace_period_seconds: How long that stays at most, `None` for the default.
        state_rules: What the workload takes along.
    """

    toleration_seconds: int
    purge_mode: str
    grace_period_seconds: int | None
    state_rules: StateRules = ()


def decode_behavior(failover: Body | None) -> Behavior | None:
    """Return the application failover of a binding's failover, `None` if it has none."""
    application = mapping_or_none(failover or {}, "application")
    if application is None:
        return None
    seconds = number_or_none(mapping(application, "decisionConditions"), "tolerationSeconds")
    return Behavior(
        toleration_seconds=TOLERATION_SECONDS if seconds is None else seconds,
        purge_mode=text(application, "purgeMode") or "Gracefully",
        grace_period_seconds=number_or_none(application, "gracePeriodSeconds"),
        state_rules=_state_rules(application),
    )


def cluster_purge_mode(failover: Body | None) -> str | None:
    """Return failover.cluster.purgeMode, `""` if not named; `None` without failover.cluster."""
    cluster = mapping_or_none(failover or {}, "cluster")
    return None if cluster is None else text(cluster, "purgeMode")


def cluster_state_rules(failover: Body | None) -> StateRules:
    """Return what a workload takes along that leaves a failing cluster, by failover.cluster."""
    return _state_rules(mapping(failover or {}, "cluster"))


def preserving(failover: Body | None) -> Iterator[tuple[str, str, StateRules]]:
    """Yield each failover that preserves state: its name, how the old copy goes, its rules."""
    application, cluster = decode_behavior(failover), cluster_state_rules(failover)
    if application is not None and application.state_rules:
        yield "application", application.purge_mode, application.state_rules
    if cluster:
        yield "cluster", cluster_purge_mode(failover) or "", cluster


def _state_rules(behavior: Body) -> StateRules:
    rules = bodies(mapping(behavior, "statePreservation"), "rules")
    return tuple(StateRule(text(one, "aliasLabelName"), text(one, "jsonPath")) for one in rules)
