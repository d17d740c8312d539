"""What hangs on a policy or a binding, down to the copies on clusters.

A copy is reported or assumed, or an eviction waits for it. Below a ClusterTaintPolicy are the
clusters that it is for, each with those of the policy's taints that it has.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from operator import attrgetter

from reconciler.dialects.inventory import CopyReports, CopyTable
from reconciler.dialects.karmada.api.binding import (
    BINDING,
    CLUSTER_BINDING,
    AggregatedStatusItem,
    Binding,
    decode_binding,
    decode_status,
    workload_key,
)
from reconciler.dialects.karmada.api.binding_spec import BindingSpec, EvictionTask, decode_spec
from reconciler.dialects.karmada.api.cluster import decode_cluster, members_of
from reconciler.dialects.karmada.api.cluster_taints import (
    TAINT_POLICY,
    TaintPolicy,
    decode_taint_policy,
    taints_of,
)
from reconciler.dialects.karmada.api.names import CLUSTER, WORK_GROUP
from reconciler.dialects.karmada.api.policy import (
    CLUSTER_WIDE,
    NAMESPACED,
    Implicit,
    Policy,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.dialects.karmada.api.work import BindingReports as Reports
from reconciler.dialects.karmada.binding.renderer import newcomers, old_copies
from reconciler.dialects.karmada.binding.works import merged_targets
from reconciler.dialects.karmada.detector.binding_draft import claimant
from reconciler.dialects.karmada.eviction import is_settled
from reconciler.dialects.karmada.view.binding_file import fate_of
from reconciler.dialects.view import (
    Copies,
    CopyStatus,
    Report,
    TreeNode,
    condition_facts,
    node_of,
    ready,
    waits_for_health,
)
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.health import Health
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.settings import Settings, settings_in
from reconciler.model.world import Manifest, World
from reconciler.rebalance.surge import STEP


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return what hangs on an object.

    Of a policy: workloads, their bindings, clusters; workloads that it selects and another policy
    holds, with the name of that one. Of a binding: clusters. Of a ClusterTaintPolicy: those that
    it is for.
    """
    if key[:2] == TAINT_POLICY:
        return taint_policy_tree(world, key)
    if key.group == WORK_GROUP:
        manifest = world.outputs.get(key)
        return node_of(key) if manifest is None else _binding(manifest)
    return node_of(key, children=tuple(_workloads(world, key)))


def _workloads(world: World, policy: ObjectKey) -> Iterator[TreeNode]:
    """Yield the workloads that a policy holds, with their bindings, and those that it lost."""
    written = world.inputs.get(policy) if policy.kind in (NAMESPACED, CLUSTER_WIDE) else None
    decoded = None if written is None else decode_policy(written, world.inputs)
    for found, binding in sorted(world.outputs.items()):
        holder = claimant(binding.body) if found.group == WORK_GROUP else None
        if holder is None:
            continue
        key = workload_key(binding.body)
        workload = world.inputs.get(key)
        if holder == policy:
            facts = {"file": "gone"} if workload is None else {}
            yield node_of(key, facts, (_binding(binding),))
        elif decoded is not None and workload is not None and _selects(decoded, workload):
            scope = f"{holder.namespace}/" if holder.namespace else ""
            yield node_of(key, {"held by": f"{holder.kind} {scope}{holder.name}"})


def _selects(policy: Policy, workload: Manifest) -> bool:
    return implicit_priority(policy, template_of(workload)) is not Implicit.NO_MATCH


def _binding(manifest: Manifest) -> TreeNode:
    """Return a binding with its clusters, those that it is leaving last."""
    spec, status = decode_spec(manifest.body), mapping(manifest.body, "status")
    reports = {item.cluster: item for item in decode_status(manifest.body).aggregated}
    clusters = []
    for name, replicas in sorted(spec.copies, key=attrgetter("name")):
        beside = "" if spec.surge is None else spec.surge.beside(name)
        facts = {**({"beside": beside} if beside else {}), **_report_facts(reports.get(name))}
        clusters.append(TreeNode(None, name, replicas, facts))
    for name, needing in _needing(spec):
        facts = {"needed by": ", ".join(needing), **_report_facts(reports.get(name))}
        clusters.append(TreeNode(None, name, facts=facts))
    for task in spec.tasks:
        facts = {"leaving": f"since {task.since} ({task.reason})", **fate_of(task)}
        clusters.append(TreeNode(None, task.from_cluster, facts=facts))
    return node_of(manifest.key, condition_facts(status, good={}), tuple(clusters))


def _needing(spec: BindingSpec) -> Iterator[tuple[ClusterName, list[str]]]:
    """Yield the clusters that have a workload for others only, with the bindings of these."""
    needing: dict[ClusterName, list[str]] = {}
    for one in spec.required_by:
        for name, _ in one.clusters:
            if name not in spec.named:
                needing.setdefault(name, []).append(one.name)
    yield from sorted(needing.items())


def _report_facts(report: AggregatedStatusItem | None) -> dict[str, str]:
    """Return what a cluster reports of its copy."""
    if report is None:
        return {}
    applied = "True" if report.applied else "False"
    return {"applied": applied, **({"health": report.health} if report.health else {})}


NONE = "none"


def taint_policy_tree(world: World, key: ObjectKey) -> TreeNode:
    """Return the clusters that a policy is for, each with those of its taints that it has now."""
    written = world.inputs.get(key)
    if written is None:
        return node_of(key)
    policy, settings = decode_taint_policy(written.body), settings_in(world)
    clusters = (
        _cluster(one, policy, world, settings)
        for one in sorted(world.of_kind(*CLUSTER), key=lambda one: one.key)
        if _targets(policy, one.body, settings)
    )
    return node_of(key, children=tuple(clusters))


def _targets(policy: TaintPolicy, body: Body, settings: Settings) -> bool:
    """Return whether a policy is for a cluster; for none that cannot be read."""
    if policy.target is None:
        return True
    try:
        alone = members_of((decode_cluster(body, declared=settings.declared_clusters),))
    except UserError:
        return False
    return bool(alone.matching(policy.target))


def _cluster(one: Manifest, policy: TaintPolicy, world: World, settings: Settings) -> TreeNode:
    """Return a cluster with the taints of a policy that it has."""
    record = world.outputs.get(one.key)
    present = taints_of(one.body, settings, None if record is None else record.body)
    taints = ", ".join(_told(policy, present)) or NONE
    return TreeNode(None, one.key.name, facts={"taints": taints})


def _told(policy: TaintPolicy, present: tuple[Body, ...]) -> Iterator[str]:
    """Yield the taints of a policy that are there, by key and effect, with their moments."""
    for taint in policy.taints:
        key, effect = text(taint, "key"), text(taint, "effect")
        for copy in present:
            if (text(copy, "key"), text(copy, "effect")) == (key, effect):
                added = text(copy, "timeAdded")
                yield f"{key}:{effect}{f' since {added}' if added else ''}"


UNTIL_REPLACED = "another cluster to take its place"
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
        is_binding = key.group == WORK_GROUP and key.kind in (BINDING, CLUSTER_BINDING)
        return tuple(_copies(output.body, copies)) if output is not None and is_binding else ()

    return of


def surely_waits(body: Body) -> bool:
    """Return whether a cluster is left whose copy is there for now, whatever clusters report."""
    try:
        return any(one.leaving for one in _copies(body, CopyReports()))
    except UserError:  # whoever asks for the copies says so
        return False


def _copies(body: Body, copies: CopyReports) -> Iterator[CopyStatus]:
    """Yield the clusters of a binding by name, then those that it is leaving."""
    spec = decode_spec(body)
    reports = Reports(spec.resource.key, copies)
    items = {item.cluster: item for item in decode_status(body).aggregated}
    targets = sorted(merged_targets(spec), key=lambda one: one.name)
    old = old_copies(spec, copies)
    waiting = newcomers(spec, targets, copies)
    for target in targets:
        report, note = _report_of(items.get(target.name), reports, target.name, target.replicas)
        waits = f"its copy on {', '.join(old)} to be gone" if target.name in waiting else ""
        started = spec.surge is not None and target.name in spec.surge.clusters
        yield CopyStatus(
            cluster=target.name,
            replicas=target.replicas,
            report=report,
            note=note,
            waits_for=MARKED if started and reports.lacks_step(target.name) else waits,
        )
    if not spec.tasks:
        return
    binding = decode_binding(body)
    for task in binding.tasks:
        name = ClusterName(task.from_cluster)
        if all(target.name != name for target in targets):
            report, note = _report_of(reports.item(name), reports, name, 0)
            waits = _waits(binding, task)
            yield CopyStatus(cluster=name, leaving=True, report=report, note=note, waits_for=waits)


def _report_of(
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


MARKED = f"a report with the annotation {STEP}, which what it reports lacks"
"""What a step waits for in vain."""


def _waits(binding: Binding, task: EvictionTask) -> str:
    """Return what ends an eviction, beside its time."""
    if task.kept:
        return UNTIL_REPLACED
    if task.suppress_deletion:
        return UNTIL_LIFTED
    if is_settled(binding):
        return waits_for_health(())
    return waits_for_health(
        name for name, _ in binding.clusters if binding.health.get(name) != Health.HEALTHY
    )
