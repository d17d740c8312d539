"""What Karmada answers about the files of a world, in one place.

The answers of the dialect are listed in one table. Answers that are short have their code here:
where workloads are, by the bindings that passes wrote; what a Cluster reports, and what it looks
like cordoned and unreachable; the columns of clusters, policies and bindings; kubectl's category
`karmada-io`; events of evictions, scheduling, dependencies, copies and aggregation. A Cluster is
emptied by a taint with NoExecute, and by graceful eviction.
"""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.dialects.karmada.api import cluster_taints
from reconciler.dialects.karmada.api.binding import (
    BINDING,
    BINDINGS,
    CLUSTER_BINDING,
    decode_metadata,
    decode_status,
)
from reconciler.dialects.karmada.api.binding_spec import (
    BindingSpec,
    Targets,
    copies_in,
    decode_policy_fields,
    decode_requests,
    decode_required_clusters,
    decode_requiring,
    decode_resource,
    decode_spec,
    decode_targets,
    decode_tasks,
    may_propagate,
    placed_on,
)
from reconciler.dialects.karmada.api.cluster import TargetCluster
from reconciler.dialects.karmada.api.cluster_taints import READY, TAINT_POLICY
from reconciler.dialects.karmada.api.names import (
    CLUSTER_GROUP,
    CONFIG_GROUP,
    POLICY_GROUP,
    WORK_GROUP,
    decode_failover,
    unschedulable_after,
)
from reconciler.dialects.karmada.api.placement import (
    APPLIED_PLACEMENT,
    affinity_names,
    read_applied,
    replica_scheduling,
)
from reconciler.dialects.karmada.api.policy import CLUSTER_WIDE, DEFAULT_SCHEDULER, NAMESPACED
from reconciler.dialects.karmada.api.quota import QUOTA
from reconciler.dialects.karmada.detector.binding_draft import (
    CLUSTER_POLICY_NAME,
    POLICY_NAME,
    binding_key,
    claimant,
)
from reconciler.dialects.view import (
    CHOSEN,
    DRAINED,
    LEAVING,
    STARTING,
    ChangeAnswers,
    ClusterAnswers,
    ClusterPlace,
    ClusterReport,
    Draining,
    OutputAnswers,
    View,
    WorldAnswers,
    WrittenAnswers,
    labelled_place,
    reported_status,
    reported_trouble,
    tolerated_for_ever,
    unknown_since,
)
from reconciler.errors import UserError
from reconciler.manifests.columns import (
    FILE,
    NONE,
    Columns,
    ColumnTable,
    Row,
    age,
    condition,
    if_reported,
    or_assumed,
    printed,
    spec_of,
    taints,
)
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.decision import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    condition_of,
)
from reconciler.model.fields import bodies, mapping, number, strings, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.late import late
from reconciler.model.quantity import Resources, less, readable_resources
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World
from reconciler.multicluster.placement_decision import ChosenCluster
from reconciler.rebalance.surge import displace
from reconciler.rebalance.target import NOT_KEPT, TRIGGER, AffinityPlace, Reference


def is_placed(output: Manifest) -> bool:
    """Return whether a binding names a cluster."""
    return bool(held_in(output.body))


def owner_of(key: ObjectKey, body: Body) -> None:
    """Return `None`: a binding is not a part of anything."""
    del key, body


def clusters_in(binding: Body) -> Targets:
    """Return the clusters that a binding is scheduled to, with their replicas."""
    return decode_targets(fields.mapping(binding, "spec"))


def held_in(binding: Body) -> Targets:
    """Return the clusters that have the workload of a binding: its own, and those of who needs it.

    Who needs it has replicas there, the object itself has none to count.
    """
    own = clusters_in(binding)
    there = {target.name for target in own}
    needing = decode_required_clusters(binding) - there
    return (*own, *(TargetCluster(ClusterName(name), 0) for name in sorted(needing)))


def chosen(world: World, key: ObjectKey) -> tuple[ChosenCluster, ...] | None:
    """Return the clusters of a binding, with those it is left from and those of who needs it.

    That is where delivery keeps it, a copy that is made before another one goes included. A binding
    that no policy claims only follows who needs it.
    """
    output = world.outputs.get(key)
    if output is None:
        return None
    spec, policy = fields.mapping(output.body, "spec"), claimant(output.body)
    if policy is None and decode_requiring(output.body):
        return None
    why = CHOSEN if policy is None else f"{CHOSEN} (policy {policy.name})"
    placed = {target.name for target in decode_targets(spec)}
    clusters = {
        copy.name: ChosenCluster(copy.name, copy.replicas, why if copy.name in placed else STARTING)
        for copy in copies_in(output.body)
    }
    for name in sorted(decode_required_clusters(output.body) - clusters.keys()):
        clusters[ClusterName(name)] = ChosenCluster(
            name, None, f"{CHOSEN} (what needs it is there)"
        )
    for task in decode_tasks(spec):
        if task.from_cluster not in clusters and not task.directly:
            reason = f"{LEAVING} ({task.reason})" if task.reason else LEAVING
            clusters[task.from_cluster] = ChosenCluster(task.from_cluster, task.replicas, reason)
    return tuple(clusters.values())


def follows(binding: Body) -> tuple[ObjectKey, ...]:
    """Return the bindings that require one: its workload is where theirs are."""
    return tuple(
        ObjectKey(WORK_GROUP, BINDING, one.namespace, one.name) for one in decode_requiring(binding)
    )


def requested_by(binding: Body) -> Resources:
    """Return what one replica asks for."""
    return readable_resources(decode_requests(binding)) or {}


def affinity_place(placement: Body | None, observed: str | None) -> AffinityPlace | None:
    """Return the affinity group that a binding was placed by, `None` where there are no groups.

    Args:
        placement: Of the binding, as written.
        observed: The group that its scheduler took last.
    """
    names = affinity_names(placement)
    if not names or not observed:
        return None
    return AffinityPlace(names.index(observed) if observed in names else len(names), observed)


def workload_of(binding: Body) -> Reference:
    """Return the workload of a binding, as a rebalancer names it."""
    reference = decode_resource(binding)
    return Reference(reference.api_version, reference.kind, reference.namespace, reference.name)


CORDON: Body = {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}
"""Source: karmada@f8fdd02 pkg/apis/cluster/v1alpha1/well_known_constants.go
TaintClusterUnscheduler.
"""

TAINT_EFFECTS = ("PreferNoSchedule", "NoSchedule", "NoExecute")
"""Source: karmada@f8fdd02 pkg/karmadactl/taint/taint.go `taintLong`."""


def place_of(cluster: Body) -> ClusterPlace:
    """Return where a cluster stands by its spec, or else by its labels."""
    spec, labelled = mapping(cluster, "spec"), labelled_place(cluster)
    zones = ", ".join(strings(spec, "zones")) or text(spec, "zone")
    return ClusterPlace(text(spec, "region") or labelled.region, zones or labelled.zone)


def report_of(status: Body) -> ClusterReport:
    """Return what a cluster reports.

    Source: karmada@f8fdd02 pkg/estimator/client/general.go takes allocated and allocating off
    allocatable.
    """
    summary = mapping(status, "resourceSummary")
    capacity = readable_resources(mapping(summary, "allocatable"))
    used = [readable_resources(mapping(summary, name)) for name in ("allocated", "allocating")]
    free = None
    if capacity is not None and used != [None, None]:
        free = less(less(capacity, used[0] or {}), used[1] or {})
    conditions = bodies(status, "conditions")
    return ClusterReport(
        ready=reported_status(conditions, READY),
        capacity=capacity,
        free=free,
        down=reported_trouble(conditions, READY),
    )


def unreachable(cluster: Body, moment: str) -> Body:
    """Return a cluster whose Ready is Unknown since a moment."""
    status = mapping(cluster, "status")
    conditions = bodies(status, "conditions")
    return {**cluster, "status": unknown_since(status, conditions, READY, moment)}


CATEGORIES: Mapping[str, frozenset[Kind]] = {
    "karmada-io": frozenset(
        (group, kind)
        for group, kinds in {
            "autoscaling.karmada.io": ("CronFederatedHPA", "FederatedHPA"),
            CONFIG_GROUP: (
                "ResourceInterpreterCustomization",
                "ResourceInterpreterWebhookConfiguration",
            ),
            "networking.karmada.io": ("MultiClusterIngress", "MultiClusterService"),
            POLICY_GROUP: (
                "ClusterOverridePolicy",
                "ClusterPropagationPolicy",
                "FederatedResourceQuota",
                "OverridePolicy",
                "PropagationPolicy",
                TRIGGER[1],
            ),
            "remedy.karmada.io": ("Remedy",),
            WORK_GROUP: ("ClusterResourceBinding", "ResourceBinding", "Work"),
        }.items()
        for kind in kinds
    )
}
"""Source: karmada@f8fdd02 charts/karmada/_crds/bases `spec.names.categories`; the kinds Cluster,
ClusterTaintPolicy and WorkloadRebalancer are in none; ScheduleTrigger is, in its proposal.
"""


def _placed(row: Row) -> str:
    """Return the clusters with their replicas, those that run beside after a plus sign."""
    placed = dict(held_in(row.body))
    more = {name: count - placed.get(name, 0) for name, count in copies_in(row.body)}
    shown = []
    for name in sorted(placed.keys() | more.keys()):
        count = str(placed[name]) if placed.get(name) else ""
        count += f"+{more[name]}" if more.get(name) else ""
        shown.append(f"{name}({count})" if count else name)
    return ", ".join(shown) or NONE


def _leaving_cell(row: Row) -> str:
    return ", ".join(sorted(task.from_cluster for task in decode_tasks(spec_of(row)))) or NONE


def _policy(row: Row) -> str:
    metadata = decode_metadata(row.body)
    return metadata.note(POLICY_NAME) or metadata.note(CLUSTER_POLICY_NAME) or NONE


def _selects(row: Row) -> str:
    shown = []
    for selector in bodies(spec_of(row), "resourceSelectors"):
        name = text(selector, "name")
        shown.append(f"{text(selector, 'kind')}/{name}" if name else text(selector, "kind"))
    return ", ".join(shown)


def _strategy(row: Row) -> str:
    scheduling = replica_scheduling(decode_policy_fields(spec_of(row)).placement)
    if not scheduling:
        return "Duplicated"
    kind = text(scheduling, "replicaSchedulingType") or "Divided"
    preference = text(scheduling, "replicaDivisionPreference") or "Weighted"
    return f"{kind}/{preference}" if kind == "Divided" else kind


def _conflict(row: Row) -> str:
    return decode_policy_fields(spec_of(row)).conflict_resolution or "Abort"


_BINDING: Columns = (
    (
        ("CLUSTERS", _placed),
        ("LEAVING", _leaving_cell),
        ("SCHEDULED", condition("Scheduled")),
        ("FULLYAPPLIED", or_assumed("FullyApplied")),
        ("AGE", age),
    ),
    (
        ("GROUP", lambda row: decode_status(row.body).observed_affinity or NONE),
        ("POLICY", _policy),
        ("REASON", condition("Scheduled", "message")),
    ),
)
_POLICY: Columns = (
    (
        ("SELECTS", _selects),
        ("DIVISION", _strategy),
        ("CONFLICT-RESOLUTION", _conflict),
        ("PRIORITY", lambda row: str(number(spec_of(row), "priority"))),
        ("AGE", age),
    ),
    (FILE,),
)
COLUMNS: ColumnTable = {
    (CLUSTER_GROUP, cluster_taints.KIND): (
        (
            ("VERSION", printed(".status.kubernetesVersion")),
            ("MODE", printed(".spec.syncMode")),
            ("READY", if_reported(condition("Ready"))),
            ("TAINTS", taints),
            ("AGE", age),
        ),
        (
            ("APIENDPOINT", printed(".spec.apiEndpoint")),
            ("REGION", printed(".spec.region")),
            ("PROVIDER", printed(".spec.provider")),
            ("ZONES", printed(".spec.zones[*]")),
            FILE,
        ),
    ),
    (POLICY_GROUP, CLUSTER_WIDE): _POLICY,
    (POLICY_GROUP, NAMESPACED): _POLICY,
    QUOTA: (
        (
            ("OVERALL", printed(".status.overall")),
            ("OVERALL_USED", printed(".status.overallUsed")),
        ),
        (FILE,),
    ),
    TAINT_POLICY: ((("TAINTS", taints),), (FILE,)),
    (WORK_GROUP, BINDING): _BINDING,
    (WORK_GROUP, CLUSTER_BINDING): _BINDING,
    (WORK_GROUP, "Work"): (
        (
            ("WORKLOAD-KIND", printed(".spec.workload.manifests[*].kind")),
            ("APPLIED", condition("Applied")),
            ("AGE", age),
        ),
        (FILE,),
    ),
}
"""By kind; those of a cluster are not of a CRD but of karmada pkg/printers/internalversion."""


DISTRIBUTOR, EXECUTION = "dependencies-distributor", "execution-controller"
"""Components that record events, as karmada@f8fdd02 cmd/controller-manager/app names them."""


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield the events of evictions, of scheduling, then of what follows from it.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `recordScheduleResultEventForResourceBinding`
    and `targetClustersToString`, pkg/util/helper/binding.go
    `EmitClusterEvictionEventForResourceBinding`.
    """
    key, before, after = change.key, decode_spec(change.before), decode_spec(change.after)
    leaving = {*_leaving_clusters(before), *_leaving_clusters(after)}
    began = (name for name in _leaving_clusters(after) if name not in _leaving_clusters(before))
    for cluster in (*(name for name in change.evicted if name not in leaving), *began):
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
    yield from _stepped(key, before, after)
    yield from _dependencies(key, before, after, map(decode_spec, change.beside))
    yield from _synced(key, after, change)
    yield from _aggregated(key, change)


def _stepped(key: ObjectKey, before: BindingSpec, after: BindingSpec) -> Iterator[ObjectEvent]:
    """Yield what became of a step of a move, and that one began; these events are ours."""
    was, now = before.surge, after.surge
    if was is not None:
        gone = displace(was, dict(before.clusters), dict(after.copies)).news
        if gone:
            yield key, UpstreamEvent(WARNING, "MoveGivenBack", gone)
    if now is not None and (was is None or was.began_at != now.began_at):
        yield key, UpstreamEvent(NORMAL, "MoveStepBegan", now.waits_for)


def may_hide_eviction(before: Body, after: Body) -> bool:
    """Return whether an eviction may have begun and ended between two states of a binding.

    Then neither state has it; a cluster is gone, and nothing else says why.
    """
    if not decode_targets(mapping(before, "spec")):  # the usual case of a first pass, and faster
        return False
    then, now = decode_spec(before), decode_spec(after)
    clusters = {*now.named, *_leaving_clusters(now), *_leaving_clusters(then)}
    return not then.named <= clusters


def asks_beside(before: Body, after: Body) -> bool:
    """Return whether what a workload takes along may be told of a change: others name it."""
    return may_propagate(before) or may_propagate(after)


def _leaving_clusters(binding: BindingSpec) -> tuple[str, ...]:
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
        f"{{APIVersion:{reference.api_version} Kind:{reference.kind} "
        f"Namespace:{reference.namespace} Name:{reference.name} LabelSelector:<nil>}}"
        for other in beside
        if _requires(key, other)
        for reference in (other.resource,)
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
    reports = decode_status(change.before).reports
    if all(item in reports for item in decode_status(change.after).reports):
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


def _problem_of(body: Body) -> str:
    from reconciler.dialects.karmada.scheduler.reschedule import known_problem

    return known_problem(decode_status(body))


def _affinity_of(body: Body) -> AffinityPlace | None:
    return affinity_place(decode_spec(body).placement, decode_status(body).observed_affinity)


def _may_wait(body: Body) -> bool:
    return bool(decode_tasks(mapping(body, "spec")))


def _is_edited(body: Body) -> bool:
    from reconciler.dialects.karmada.view.binding_file import is_edited

    placed = placed_on(decode_targets(mapping(body, "spec")))
    return is_edited(decode_metadata(body), placed, decode_resource(body))


TAINT: Body = {"key": DRAINED, "effect": "NoExecute"}
"""Source: ours; upstream has no tool that drains, but the effect by which all leaves."""

FAILOVER_OFF = (
    "spec.karmada.failover.enabled is false in reconciler.yaml, so no taint takes anything away"
)


def stays(world: World, key: ObjectKey, _: ClusterName) -> str:
    """Return why a binding does not leave a drained cluster: its applied placement counts.

    Source: as `evict` in eviction/taint_manager.py decides.
    """
    if not decode_failover(settings_in(world)).enabled:
        return FAILOVER_OFF
    written = world.outputs.get(key)
    metadata = {} if written is None else mapping(written.body, "metadata")
    try:
        applied = read_applied(text(mapping(metadata, "annotations"), APPLIED_PLACEMENT))
    except UserError:
        return "the placement that was applied cannot be read"
    return tolerated_for_ever(applied.cluster_tolerations or (), TAINT)


DRAINING = Draining(taint=TAINT, stays=stays)


PRESERVES_OFF = (
    "preserveAvailableReplicas is off; `karmada.preserveAvailableReplicas: true` in "
    "reconciler.yaml turns it on"
)


def unkept(world: World, manifest: Manifest) -> str:
    """Return why a rebalance cannot keep what runs of an object, `""` if it may."""
    if unschedulable_after(settings_in(world)) is None:
        return PRESERVES_OFF
    return NOT_KEPT if manifest.key.group in world.known.groups else ""


VIEW = View(
    outputs=OutputAnswers(
        is_placed=is_placed,
        owner_of=owner_of,
        clusters_in=held_in,
        follows=follows,
        requested_by=requested_by,
        decision_on=binding_key,
        workload_of=workload_of,
        policy_of=claimant,
        problem_of=_problem_of,
        affinity_of=_affinity_of,
        may_wait=_may_wait,
        surely_waits=late("reconciler.dialects.karmada.view.tree", "surely_waits"),
    ),
    changes=ChangeAnswers(
        events=events_of,
        is_edited=_is_edited,
        may_hide_eviction=may_hide_eviction,
        asks_beside=asks_beside,
    ),
    clusters=ClusterAnswers(
        report_of=report_of,
        place_of=place_of,
        taints_of=cluster_taints.taints_of,
        cordon=CORDON,
        draining=DRAINING,
        taint_effects=TAINT_EFFECTS,
        unreachable=unreachable,
    ),
    world=WorldAnswers(
        tree=late("reconciler.dialects.karmada.view.tree", "tree_of"),
        chosen=chosen,
        spread=late("reconciler.dialects.karmada.scheduler.select", "spread_wishes"),
        copies=late("reconciler.dialects.karmada.view.tree", "copies_in"),
        assumed=dict.fromkeys(
            BINDINGS, late("reconciler.dialects.karmada.view.aggregated_status", "assumed_in")
        ),
        quotas=late("reconciler.dialects.karmada.view.references", "quotas_in"),
        categories=CATEGORIES,
        columns=COLUMNS,
    ),
    written=WrittenAnswers(
        references=late("reconciler.dialects.karmada.view.references", "dangling_in_karmada"),
        brought=late("reconciler.dialects.karmada.view.references", "brought_by_policies"),
        instructed=late("reconciler.dialects.karmada.view.references", "instructed_by_karmada"),
        overridden=late("reconciler.dialects.karmada.view.references", "results_of_overrides"),
        unkept=unkept,
        # Late as the others, and it asks the scheduler, too.
        warnings=late("reconciler.dialects.karmada.view.warnings", "warnings_of"),
    ),
)
