"""What hangs on a policy or a placement, down to the clusters, as the files of a world say it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.audit.placed import OCM_GROUP, WORK_GROUP, parts_of
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    NAMESPACED,
    Implicit,
    Policy,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.dialects.karmada.detector.binding_draft import claimant
from reconciler.dialects.kubefleet.api.names import GROUP as FLEET_GROUP
from reconciler.dialects.kubefleet.api.names import (
    IS_LATEST,
    PARENT,
    POLICY_SNAPSHOT,
    RESOURCE_SNAPSHOT,
)
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.world import Body, Manifest, World

POLICY_GROUP = "policy.karmada.io"


@dataclass(frozen=True, slots=True)
class TreeNode:
    """An object or a cluster, what is known of it, what is below it.

    Attributes:
        key: Of the object, `None` for a cluster.
        name: Of either.
        replicas: How many a cluster has, 0 where there are none to count.
        facts: What is known of it, by name.
        children: What hangs on it.
    """

    key: ObjectKey | None
    name: str
    replicas: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)
    children: tuple["TreeNode", ...] = ()


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return what hangs on an object, each level sorted.

    Of a policy of Karmada: workloads, their bindings, clusters; workloads that it selects and
    another policy holds, with the name of that one. Of a placement of OCM: decisions,
    clusters. Of one of KubeFleet: snapshots, bindings, clusters. Of a binding: clusters.
    """
    if key.group == POLICY_GROUP:
        return _node(key, children=tuple(_workloads(world, key)))
    if key.group == WORK_GROUP:
        manifest = world.outputs.get(key)
        return _node(key) if manifest is None else _binding(manifest)
    if key.group == OCM_GROUP:
        children = tuple(_decision(part) for part in parts_of(world, key))
        return _node(key, _conditions(_status(world, key)), children)
    return _node(key, _conditions(_status(world, key)), tuple(_snapshots(world, key)))


def _node(
    key: ObjectKey, facts: Mapping[str, str] | None = None, children: tuple[TreeNode, ...] = ()
) -> TreeNode:
    return TreeNode(key, key.name, facts=facts or {}, children=children)


def _status(world: World, key: ObjectKey) -> Body:
    manifest = world.outputs.get(key)
    return {} if manifest is None else mapping(manifest.body, "status")


def _conditions(status: Body) -> dict[str, str]:
    """Return each condition, with its reason where it is not true."""
    found = {}
    for condition in bodies(status, "conditions"):
        kind, value = text(condition, "type"), text(condition, "status")
        good = "False" if kind.endswith("Misconfigured") else "True"
        kind = kind.removeprefix("ClusterResourcePlacement")
        found[kind] = value if value == good else f"{value} ({text(condition, 'reason')})"
    return found


def _workloads(world: World, policy: ObjectKey) -> Iterator[TreeNode]:
    """Yield the workloads that a policy holds, with their bindings, and those that it lost."""
    written = world.inputs.get(policy) if policy.kind in (NAMESPACED, CLUSTER_WIDE) else None
    decoded = None if written is None else decode_policy(written, world.inputs)
    for found, binding in sorted(world.outputs.items()):
        holder = claimant(binding.body) if found.group == WORK_GROUP else None
        if holder is None:
            continue
        key = _workload_of(binding)
        workload = world.inputs.get(key)
        if holder == policy:
            facts = {"file": "gone"} if workload is None else {}
            yield _node(key, facts, (_binding(binding),))
        elif decoded is not None and workload is not None and _selects(decoded, workload):
            scope = f"{holder.namespace}/" if holder.namespace else ""
            yield _node(key, {"held by": f"{holder.kind} {scope}{holder.name}"})


def _selects(policy: Policy, workload: Manifest) -> bool:
    return implicit_priority(policy, template_of(workload)) is not Implicit.NO_MATCH


def _workload_of(binding: Manifest) -> ObjectKey:
    """Return the workload that a binding is about."""
    resource = mapping(mapping(binding.body, "spec"), "resource")
    group = group_of(text(resource, "apiVersion"))
    kind, name = text(resource, "kind"), text(resource, "name")
    return ObjectKey(group, kind, text(resource, "namespace"), name)


def _binding(manifest: Manifest) -> TreeNode:
    """Return a binding with its clusters, those that it is leaving last."""
    spec, status = mapping(manifest.body, "spec"), mapping(manifest.body, "status")
    reports = {text(item, "clusterName"): item for item in bodies(status, "aggregatedStatus")}
    clusters = []
    for item in sorted(bodies(spec, "clusters"), key=lambda item: text(item, "name")):
        name = text(item, "name")
        replicas = number(item, "replicas")
        clusters.append(TreeNode(None, name, replicas, _report(reports.get(name))))
    for task in bodies(spec, "gracefulEvictionTasks"):
        why = text(task, "reason")
        facts = {"leaving": f"since {text(task, 'creationTimestamp')} ({why})"}
        clusters.append(TreeNode(None, text(task, "fromCluster"), facts=facts))
    return _node(manifest.key, _conditions(status), tuple(clusters))


def _report(report: Body | None) -> dict[str, str]:
    """Return what a cluster reports of its copy."""
    if report is None:
        return {}
    applied = "True" if report.get("applied") is True else "False"
    health = text(report, "health")
    return {"applied": applied, **({"health": health} if health else {})}


def _decision(manifest: Manifest) -> TreeNode:
    """Return a PlacementDecision with its clusters."""
    labels = mapping(mapping(manifest.body, "metadata"), "labels")
    group = text(labels, f"{OCM_GROUP}/decision-group-name")
    facts = {"group": group} if group else {}
    decisions = bodies(mapping(manifest.body, "status"), "decisions")
    clusters = tuple(TreeNode(None, text(item, "clusterName")) for item in decisions)
    return _node(manifest.key, facts, clusters)


def _snapshots(world: World, key: ObjectKey) -> Iterator[TreeNode]:
    """Yield the latest policy, then each snapshot of resources with the bindings that use it."""
    bindings = parts_of(world, key)
    for found, manifest in sorted(world.outputs.items()):
        labels = mapping(mapping(manifest.body, "metadata"), "labels")
        if found.group != FLEET_GROUP or text(labels, PARENT) != key.name:
            continue
        latest = text(labels, IS_LATEST) == "true"
        if found.kind == POLICY_SNAPSHOT and latest:
            yield _node(found, {"latest": "true"})
        if found.kind == RESOURCE_SNAPSHOT:
            users = tuple(_fleet_binding(b) for b in bindings if _snapshot_of(b) == found.name)
            if users or latest:
                yield _node(found, {"latest": str(latest).lower()}, users)
    for binding in bindings:
        snapshot = ObjectKey(FLEET_GROUP, RESOURCE_SNAPSHOT, "", _snapshot_of(binding))
        if snapshot not in world.outputs:
            yield _fleet_binding(binding)


def _snapshot_of(binding: Manifest) -> str:
    return text(mapping(binding.body, "spec"), "resourceSnapshotName")


def _fleet_binding(manifest: Manifest) -> TreeNode:
    """Return a binding of KubeFleet with its cluster."""
    spec, status = mapping(manifest.body, "spec"), mapping(manifest.body, "status")
    facts = {"state": text(spec, "state"), **_conditions(status)}
    return _node(manifest.key, facts, (TreeNode(None, text(spec, "targetCluster")),))
