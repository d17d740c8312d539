"""What hangs on a policy or a binding, down to the clusters."""

from collections.abc import Iterator
from operator import attrgetter

from reconciler.dialects.karmada.api.binding import workload_key
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    NAMESPACED,
    Implicit,
    Policy,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec, decode_spec
from reconciler.dialects.karmada.api.work.binding_status import AggregatedStatusItem, decode_status
from reconciler.dialects.karmada.detector.binding_draft import GROUP
from reconciler.dialects.karmada.detector.claim_marks import claimant
from reconciler.dialects.karmada.taints.by_policy import TAINT_POLICY
from reconciler.dialects.karmada.view.failover_words import fate_of
from reconciler.dialects.karmada.view.taint_policy_tree import taint_policy_tree
from reconciler.dialects.tree_node import TreeNode, condition_facts, node_of
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Manifest, World


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return what hangs on an object.

    Of a policy: workloads, their bindings, clusters; workloads that it selects and another policy
    holds, with the name of that one. Of a binding: clusters. Of a ClusterTaintPolicy: those that
    it is for.
    """
    if key[:2] == TAINT_POLICY:
        return taint_policy_tree(world, key)
    if key.group == GROUP:
        manifest = world.outputs.get(key)
        return node_of(key) if manifest is None else _binding(manifest)
    return node_of(key, children=tuple(_workloads(world, key)))


def _workloads(world: World, policy: ObjectKey) -> Iterator[TreeNode]:
    """Yield the workloads that a policy holds, with their bindings, and those that it lost."""
    written = world.inputs.get(policy) if policy.kind in (NAMESPACED, CLUSTER_WIDE) else None
    decoded = None if written is None else decode_policy(written, world.inputs)
    for found, binding in sorted(world.outputs.items()):
        holder = claimant(binding.body) if found.group == GROUP else None
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
    for name, replicas in sorted(spec.clusters, key=attrgetter("name")):
        clusters.append(TreeNode(None, name, replicas, _report(reports.get(name))))
    for name, needing in _needing(spec):
        facts = {"needed by": ", ".join(needing), **_report(reports.get(name))}
        clusters.append(TreeNode(None, name, facts=facts))
    for task in spec.tasks:
        facts = {"leaving": f"since {task.since} ({task.reason})", **fate_of(task)}
        clusters.append(TreeNode(None, task.from_cluster, facts=facts))
    return node_of(manifest.key, condition_facts(status, good={}), tuple(clusters))


def _needing(spec: BindingSpec) -> Iterator[tuple[ClusterName, list[str]]]:
    """Yield the clusters that have a workload for others only, with the bindings of these."""
    found: dict[ClusterName, list[str]] = {}
    for one in spec.required_by:
        for name, _ in one.clusters:
            if name not in spec.named:
                found.setdefault(name, []).append(one.name)
    yield from sorted(found.items())


def _report(report: AggregatedStatusItem | None) -> dict[str, str]:
    """Return what a cluster reports of its copy."""
    if report is None:
        return {}
    applied = "True" if report.applied else "False"
    return {"applied": applied, **({"health": report.health} if report.health else {})}
