"""How a workload leaves a cluster: NoExecute taints, application failover, graceful eviction.

The taint manager finds the clusters that a binding must leave now or at a later moment. Application
failover finds those that report the workload unhealthy for too long. Each becomes an eviction task,
and graceful eviction limits how long the cluster keeps what it runs. State preservation takes along
what the workload's status says where it fails, as labels.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.binding_spec import (
    Behavior,
    EvictionTask,
    StateRule,
    begun,
    kept_task,
    new_task,
)
from reconciler.dialects.karmada.api.cluster import MemberCluster, TargetCluster
from reconciler.dialects.karmada.api.cluster_taints import NOT_READY, UNREACHABLE
from reconciler.dialects.karmada.api.placement import read_applied
from reconciler.dialects.karmada.api.work import BindingReports as Reports
from reconciler.errors import UserError
from reconciler.manifests.admission import read_moments, write_note
from reconciler.manifests.json_path import fill_template, parse_template
from reconciler.model.body import Body
from reconciler.model.cluster import Taint, TaintEffect, Toleration, tolerates
from reconciler.model.health import Health
from reconciler.model.identity import ClusterName
from reconciler.model.labels import is_label_value
from reconciler.model.moments import add, earliest, parse_moment, span, stamp
from reconciler.model.records import dataclass, field, replace
from reconciler.model.text import shown

DEFAULT_TIMEOUT = timedelta(minutes=10)  # karmada@f8fdd02 --graceful-eviction-timeout


class GracefulEviction(NamedTuple):
    """The tasks that stay, in their order.

    `expires_at` is the earliest end of a task's time: upstream looks again then, and keeps the task
    a last time. `ends` are the tasks whose time ends, each with the moment at which that alone
    drops it; `until` is the first of these. Both are `None` if no task waits for its end. `kept`
    are the tasks whose copy stays from now on, since nothing takes its place.
    """

    tasks: tuple[EvictionTask, ...]
    expires_at: datetime | None = None
    ends: tuple[tuple[EvictionTask, datetime], ...] = ()
    kept: tuple[EvictionTask, ...] = ()

    @property
    def until(self) -> datetime | None:
        """The first moment at which time alone drops a task, `None` if none does."""
        return earliest(*(moment for _, moment in self.ends))

    @property
    def awaits_health(self) -> bool:
        """Whether a task ends as soon as the workload counts as healthy elsewhere."""
        return any(
            task.kept or (task.suppress_deletion is None and not task.carried_labels)
            for task in self.tasks
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
    tasks_left = tuple(
        begun(task, now)
        for task in binding.tasks
        if task.creation_timestamp is None
        or _stays(task, now, timeout, healthy=seen if task.carried_labels else healthy)
    )
    ends = tuple(_ends(tasks_left, timeout))
    return GracefulEviction(
        tasks=tasks_left,
        expires_at=earliest(*(end for _, end in ends)),
        ends=tuple((task, add(max(end, now))) for task, end in ends),
    )


def keep_unreplaced(
    tasks: tuple[EvictionTask, ...], found: GracefulEviction, missing: int | None, *, arrived: bool
) -> GracefulEviction:
    """Return evictions that take no copy away for which there is no other.

    A copy stays with as many replicas as find no place, once its eviction would end. What is kept
    stays as it is until everything that is placed is healthy, so nothing goes for what only starts.

    Args:
        tasks: As they stood, those that are kept included.
        found: Those that stay by their own time.
        missing: How many replicas have no place, `None` if the workload is on no cluster at all.
        arrived: Whether every cluster that has it is healthy.

    Source: ours; upstream removes the copy when its time is over (karmada#5803).
    """
    staying = {task.from_cluster: task for task in found.tasks}
    uncovered = (missing or 0) - sum(
        task.replicas or 0 for task in found.tasks if not task.directly
    )
    result, news = [], []
    for task in tasks:
        if task.from_cluster in staying:
            result.append(staying[task.from_cluster])
            continue
        if task.directly or task.suppress_deletion is False:
            continue
        had = task.replicas or 0
        whole = missing is None or (task.kept and not arrived)
        count = had if whole else max(0, min(had, uncovered))
        uncovered -= count
        if whole or count:
            result.append(kept_task(task, count))
            news += [] if task.kept else [result[-1]]
    return found._replace(tasks=tuple(result), kept=tuple(news))


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


StatusOf = Callable[[ClusterName], Body | None]
"""Returns the status of the workload in a cluster, `None` if none was ever reported."""


@dataclass(frozen=True, slots=True)
class StatePreservation:
    """What is preserved of a workload that leaves a cluster: by rules, of what it says there."""

    rules: tuple[StateRule, ...]
    status_of: StatusOf

    def labels(self, cluster: ClusterName) -> Mapping[str, str]:
        """Return the labels that the workload takes along; none without rules.

        Raises:
            UserError: Its status there is not known, or a rule finds nothing in it that a label
                can hold. The workload has to stay, as its state would be lost.

        Source: karmada@f8fdd02 pkg/util/helper/failover.go `BuildPreservedLabelState`, and
        pkg/controllers/applicationfailover/common.go `buildTaskOptions`.
        """
        if not self.rules:
            return {}
        status = self.status_of(cluster)
        if not status:
            raise UserError(f"{cluster} has not reported its status yet")
        return {rule.alias_label_name: _value(rule, status, cluster) for rule in self.rules}


def unreadable_path(path: str) -> str:
    """Return why nothing can be read by the `jsonPath` of a rule, `""` if something can."""
    try:
        _text(path, None)
    except ValueError as error:
        return str(error)
    except LookupError:
        pass
    return ""


def _value(rule: StateRule, status: Body, cluster: ClusterName) -> str:
    """Return the value of the label of a rule."""
    where = f"`jsonPath` {shown(rule.json_path)}, in the status that {cluster} reports"
    try:
        value = _text(rule.json_path, status)
    except (ValueError, LookupError) as error:
        raise UserError(f"{where}: {error}") from None
    # Unlike upstream: there a member cluster refuses the whole manifest, and nothing runs.
    if not is_label_value(value):
        raise UserError(f"{where}: no label can have the value {shown(value)}")
    return value


def _text(path: str, status: Body | None) -> str:
    """Return the text of a template; one without braces stands for itself, as upstream.

    Unlike upstream: an integer is written out in full, whatever its size. `..`, slices and filters
    other than by `==` and `!=` are not read.
    """
    if "{" not in path:
        return path
    return fill_template(parse_template(path), status, required=True)


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
    recorded = read_moments(annotation)
    evicting = {task.from_cluster for task in binding.tasks}
    since: dict[str, str] = {}
    overdue: dict[ClusterName, str] = {}
    pending: list[tuple[ClusterName, datetime]] = []
    for name in sorted(name for name, _ in binding.clusters if name not in evicting):
        health = reports.health(name)
        if health is not Health.UNHEALTHY:
            if name in recorded and health is not Health.HEALTHY:
                since[name] = recorded[name]
            continue
        moment = recorded.get(name) or str(stamp(now))
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


GRACEFULLY = "Gracefully"
NOTHING_PRESERVED = StatePreservation((), lambda _: None)
EMPTY_PLACEMENT = "the applied placement for ResourceBining can not be empty"  # upstream's spelling


class Action(StrEnum):
    """What happens to a binding's share on one cluster.

    `process` is upstream's word for a binding that is queued for eviction and then passed over,
    since it is being deleted.
    """

    NONE = "none"
    EVICT = "evict"
    AFTER = "after"
    ERROR = "error"
    PROCESS = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """The decision on one cluster.

    `until` is the moment at which it must be left, for `after` only, and `tolerated` are its taints
    until then, or until now. `untolerated` is the taint that forces it out at once, `None` when
    none does. `error` says why nothing could be decided, and `unpreserved` why the cluster is not
    left though it must be: what the workload should take along is not there. `labels` are what it
    takes.
    """

    cluster: ClusterName
    action: Action
    until: datetime | None = None
    tolerated: tuple[Taint, ...] = ()
    untolerated: Taint | None = None
    error: str = ""
    unpreserved: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """A binding after its clusters' NoExecute taints: what it keeps, what it leaves, and when next.

    `decisions` has one entry a cluster asked about, in their order. `until` is the earliest moment
    at which time alone makes a cluster leave, `None` if there is none.
    """

    clusters: tuple[TargetCluster, ...]
    tasks: tuple[EvictionTask, ...]
    decisions: tuple[Leaving, ...]
    until: datetime | None


def evict(
    binding: Binding,
    clusters: Sequence[MemberCluster],
    now: datetime,
    *,
    purge_mode: str = GRACEFULLY,
    default_toleration_seconds: int | None = None,
    preservation: StatePreservation = NOTHING_PRESERVED,
) -> Eviction:
    """Take a binding off the clusters whose NoExecute taints it does not tolerate, or no longer.

    Tolerations are those of the applied placement, not of the placement as edited since.

    Args:
        binding: As it stands.
        clusters: In the order in which they are handled; tasks come in this order.
        now: Aware UTC.
        purge_mode: For bindings that name none in failover.cluster.
        default_toleration_seconds: How long not-ready and unreachable clusters are tolerated by
            placements that do not mention these taints; `None` tolerates them not at all.
        preservation: What the workload takes along.

    Source: karmada@f8fdd02 pkg/controllers/cluster/taint_manager.go `syncBindingEviction`,
    `extractStateForEviction`; the default toleration is ours, after Kubernetes' admission plugin
    DefaultTolerationSeconds.
    """
    decided = (_decide(binding, view, now, default_toleration_seconds) for view in clusters)
    decisions = tuple(_preserved(decision, preservation) for decision in decided)
    targets, tasks = binding.clusters, binding.tasks
    for decision in decisions:
        if decision.action is not Action.EVICT:
            continue
        leaving = [target for target in targets if target.name == decision.cluster]
        targets = tuple(target for target in targets if target.name != decision.cluster)
        if all(task.from_cluster != decision.cluster for task in tasks):
            tasks = (*tasks, _task(binding, leaving[0], purge_mode, decision.labels))
    return Eviction(
        clusters=targets,
        tasks=tasks,
        decisions=decisions,
        until=earliest(*(decision.until for decision in decisions)),
    )


def _decide(
    binding: Binding, view: MemberCluster, now: datetime, default_seconds: int | None
) -> Leaving:
    name = view.cluster.name
    taints = [taint for taint in view.cluster.taints if taint.effect is TaintEffect.NO_EXECUTE]
    if not taints or all(target.name != name for target in binding.clusters):
        return Leaving(cluster=name, action=Action.NONE)
    if binding.deleting:
        return Leaving(cluster=name, action=Action.PROCESS)
    if not binding.applied:
        return Leaving(cluster=name, action=Action.ERROR, error=EMPTY_PLACEMENT)
    try:
        tolerations = read_applied(binding.applied).cluster_tolerations or ()
    except UserError as error:
        return Leaving(cluster=name, action=Action.ERROR, error=error.message)
    tolerations = with_defaults(tolerations, default_seconds)
    untolerated = next(
        (taint for taint in taints if not any(tolerates(item, taint) for item in tolerations)), None
    )
    if untolerated is not None:
        return Leaving(cluster=name, action=Action.EVICT, untolerated=untolerated)
    until = tolerated_until(taints, tolerations)
    if until is None:
        return Leaving(cluster=name, action=Action.NONE)
    if now >= until:
        return Leaving(cluster=name, action=Action.EVICT, tolerated=tuple(taints))
    return Leaving(cluster=name, action=Action.AFTER, until=until, tolerated=tuple(taints))


def _preserved(decision: Leaving, preservation: StatePreservation) -> Leaving:
    """Return a decision with the labels that are taken along; without them nothing is left."""
    if decision.action is not Action.EVICT:
        return decision
    try:
        return replace(decision, labels=preservation.labels(decision.cluster))
    except UserError as error:
        return replace(decision, action=Action.ERROR, unpreserved=error.message)


def tolerated_until(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> datetime | None:
    """Return the moment at which toleration of all these taints ends, `None` if it never does.

    Of each taint the first toleration that fits is used; then every used toleration limits every
    taint it fits, also those for which another one was used.

    Source: karmada@f8fdd02 pkg/util/helper/taint.go `GetMatchingTolerations` and
    `GetMinTolerationTime`.
    """
    used = [
        next((item for item in tolerations if tolerates(item, taint)), None) for taint in taints
    ]
    return earliest(
        *(
            add(taint.time_added, span(seconds=item.toleration_seconds))
            for item in used
            if item is not None and item.toleration_seconds is not None
            for taint in taints
            if taint.time_added is not None and tolerates(item, taint)
        )
    )


def with_defaults(
    tolerations: tuple[Toleration, ...], seconds: int | None
) -> tuple[Toleration, ...]:
    """Return the tolerations, completed for unreachable and not-ready clusters.

    Source: ours, after plugin/pkg/admission/defaulttolerationseconds of Kubernetes.
    """
    if seconds is None:
        return tolerations
    for key in (NOT_READY, UNREACHABLE):
        if not any(
            item.key in ("", key) and item.effect in ("", TaintEffect.NO_EXECUTE)
            for item in tolerations
        ):
            default = Toleration(key, "Exists", "", TaintEffect.NO_EXECUTE, seconds)
            tolerations = (*tolerations, default)
    return tolerations


def _task(
    binding: Binding, target: TargetCluster, purge_mode: str, labels: Mapping[str, str]
) -> EvictionTask:
    """Return the task for a cluster that is left; its moment is set by graceful eviction."""
    if binding.purge_mode is not None:
        purge_mode = binding.purge_mode or GRACEFULLY
    return new_task(
        target.name,
        purge_mode=purge_mode,
        replicas=target.replicas,
        reason="TaintUntolerated",
        producer="TaintManager",
        preserved_label_state=labels,
    )
