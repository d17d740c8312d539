"""Which clusters a binding leaves in a round: for taints first, then for reports of ill health."""

from functools import partial
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.cluster_reports import Reports
from reconciler.dialects.karmada.api.clusters import MemberCluster, Members
from reconciler.dialects.karmada.api.work.binding_metadata import BindingMetadata
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.failover_behavior import (
    StateRules,
    cluster_state_rules,
    decode_behavior,
)
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction.application_failover import (
    UNHEALTHY_SINCE,
    Failing,
    detect_failing,
    eviction_task,
)
from reconciler.dialects.karmada.eviction.state_preservation import StatePreservation, StatusOf
from reconciler.dialects.karmada.eviction.taint_manager import Eviction, evict
from reconciler.dialects.karmada.surroundings import Surroundings
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.schedule.framework import Mask, positions_of


class LeftClusters(NamedTuple):
    """A binding after that, what its taints did, `None` if there are none, and its reports."""

    binding: Binding
    eviction: Eviction | None
    failing: Failing


def leave_clusters(
    draft: Draft, spec: BindingSpec, binding: Binding, reports: Reports, around: Surroundings
) -> LeftClusters:
    """Turn clusters that a binding must leave into eviction tasks.

    Args:
        draft: Of the binding, with what stood there.
        spec: What it asks for now.
        binding: As its controllers read it.
        reports: What its clusters say.
        around: What all bindings of the round share.
    """
    status_of = partial(_status_in, reports, draft)
    binding, eviction = _evict(binding, spec, status_of, around)
    binding, failing = _fail_over(binding, spec, draft.metadata, reports, status_of, around)
    return LeftClusters(binding, eviction, failing)


def _evict(
    binding: Binding, spec: BindingSpec, status_of: StatusOf, around: Surroundings
) -> tuple[Binding, Eviction | None]:
    """Leave clusters whose NoExecute taints are not tolerated; clusters in order of name."""
    views = _tainted(binding, around.members) if around.failover.enabled else []
    if not views:
        return binding, None
    eviction = evict(
        binding,
        views,
        around.now,
        purge_mode=around.failover.purge_mode,
        default_toleration_seconds=around.failover.default_toleration_seconds,
        preservation=_preservation(around, cluster_state_rules(spec.failover), status_of),
    )
    return binding._replace(clusters=eviction.clusters, tasks=eviction.tasks), eviction


def _fail_over(
    binding: Binding,
    spec: BindingSpec,
    metadata: BindingMetadata,
    reports: Reports,
    status_of: StatusOf,
    around: Surroundings,
) -> tuple[Binding, Failing]:
    """Leave clusters that report the workload unhealthy, if its policy wants that."""
    behavior = decode_behavior(spec.failover)
    if behavior is None or not around.failover.enabled:
        return binding, Failing()
    unhealthy_since = metadata.note(UNHEALTHY_SINCE)
    preservation = _preservation(around, behavior.state_rules, status_of)
    failing = detect_failing(binding, behavior, reports, unhealthy_since, preservation, around.now)
    tasks = tuple(eviction_task(binding, behavior, *left) for left in failing.leaving.items())
    clusters = tuple(item for item in binding.clusters if item.name not in failing.leaving)
    return binding._replace(clusters=clusters, tasks=(*binding.tasks, *tasks)), failing


def _tainted(binding: Binding, members: Members) -> list[MemberCluster]:
    """Return the clusters that a binding is on and that have a NoExecute taint."""
    if not members.no_execute:
        return []
    mask = members.no_execute & members.fleet.named(name for name, _ in binding.clusters)
    return [members.views[position] for position in positions_of(Mask(mask))]


def _status_in(reports: Reports, draft: Draft, cluster: ClusterName) -> Body | None:
    """Return the status of a workload in a cluster, as the last pass knew it if that is silent."""
    found = reports.item(cluster)
    known = (found,) if found is not None else draft.status().aggregated
    return next((item.status for item in known if item.cluster == cluster), None)


def _preservation(
    around: Surroundings, rules: StateRules, status_of: StatusOf
) -> StatePreservation:
    """Return what a workload takes along by rules, nothing where that is switched off."""
    return StatePreservation(rules if around.failover.state_preservation else (), status_of)
