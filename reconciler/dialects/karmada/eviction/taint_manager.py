"""NoExecute taints: which clusters a binding must leave, which at a later moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from reconciler.dialects.karmada.api.applied_placement import read_applied
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.clusters import MemberCluster, TargetCluster
from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask, new_task
from reconciler.dialects.karmada.eviction.state_preservation import StatePreservation
from reconciler.dialects.karmada.taints.by_condition import NOT_READY, UNREACHABLE
from reconciler.errors import UserError
from reconciler.model.identity import ClusterName
from reconciler.model.moments import add, earliest, span
from reconciler.model.taints import Taint, TaintEffect, Toleration, tolerates

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

    `until` is the moment at which it must be left, and `tolerated` its taints until then, for
    `after` only. `untolerated` is the taint that forces it out at once, `None` when none does.
    `error` says why nothing could be decided, and `unpreserved` why the cluster is not left though
    it must be: what the workload should take along is not there. `labels` are what it takes.
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
        return Leaving(cluster=name, action=Action.EVICT)
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
