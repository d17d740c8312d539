"""What is known of the copies of a binding: reported, assumed, and for what evictions wait."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.dialects.copy_reports import CopyReports, CopyTable
from reconciler.dialects.copy_status import (
    Copies,
    CopyStatus,
    Report,
    ready,
    waits_for_health,
)
from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.api.cluster_reports import Reports
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING, CLUSTER_BINDING
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec
from reconciler.dialects.karmada.api.work.binding_status import AggregatedStatusItem, decode_status
from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask
from reconciler.dialects.karmada.binding.direct_purge import newcomers, old_copies
from reconciler.dialects.karmada.binding.merged_targets import merged_targets
from reconciler.dialects.karmada.detector.binding_draft import GROUP
from reconciler.dialects.karmada.eviction.graceful_eviction import is_settled
from reconciler.model.body import Body
from reconciler.model.health import Health
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World

UNTIL_LIFTED = "a person to lift `suppressDeletion`"
REPORTS: Mapping[str, Report] = {
    Health.HEALTHY: Report.HEALTHY,
    Health.UNHEALTHY: Report.UNHEALTHY,
}


def copies_in(world: World, _now: datetime, /) -> Copies:
    """Return what knows of the copies of bindings."""
    copies = CopyTable().follow(world)

    def of(key: ObjectKey) -> tuple[CopyStatus, ...]:
        output = world.outputs.get(key)
        is_binding = key.group == GROUP and key.kind in (BINDING, CLUSTER_BINDING)
        return tuple(_copies(output.body, copies)) if output is not None and is_binding else ()

    return of


def _copies(body: Body, copies: CopyReports) -> Iterator[CopyStatus]:
    """Yield the clusters of a binding by name, then those that it is leaving."""
    spec = decode_spec(body)
    reports = Reports(spec.resource.key, copies)
    items = {item.cluster: item for item in decode_status(body).aggregated}
    targets = sorted(merged_targets(spec), key=lambda one: one.name)
    old = old_copies(spec, copies)
    waiting = newcomers(spec, targets, copies)
    for target in targets:
        report, note = _report(items.get(target.name), reports, target.name, target.replicas)
        yield CopyStatus(
            cluster=target.name,
            replicas=target.replicas,
            report=report,
            note=note,
            waits_for=f"its copy on {', '.join(old)} to be gone" if target.name in waiting else "",
        )
    if not spec.tasks:
        return
    binding = decode_binding(body)
    for task in binding.tasks:
        name = ClusterName(task.from_cluster)
        if all(target.name != name for target in targets):
            report, note = _report(reports.item(name), reports, name, 0)
            waits = _waits(binding, task)
            yield CopyStatus(cluster=name, leaving=True, report=report, note=note, waits_for=waits)


def _report(
    item: AggregatedStatusItem | None, reports: Reports, cluster: str, replicas: int
) -> tuple[Report, str]:
    """Return what an entry of aggregatedStatus says; one without a report is assumed."""
    if item is None:
        return Report.NONE, ""
    if not item.status and reports.item(cluster) is None:
        return Report.ASSUMED, ""
    if not item.applied:
        return Report.UNHEALTHY, item.message or "not applied"
    return REPORTS.get(item.health, Report.REPORTED), ready(item.status, replicas)


def _waits(binding: Binding, task: EvictionTask) -> str:
    """Return what ends an eviction, beside its time."""
    if task.suppress_deletion:
        return UNTIL_LIFTED
    if is_settled(binding):
        return waits_for_health(())
    return waits_for_health(
        name for name, _ in binding.clusters if binding.health.get(name) != Health.HEALTHY
    )
