"""What policies, rebalancers and triggers of Karmada refer to."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reconciler.audit.references.known import Dangling, Known, proposal
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    GROUP,
    NAMESPACED,
    Policy,
    ResourceSelector,
    Template,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.manifests.names import shown
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.world import Body, Manifest

CLUSTER_GROUP = "cluster.karmada.io"
CLUSTER = "Cluster"
PLACEMENT_KINDS = frozenset(
    {
        ("cluster.open-cluster-management.io", "Placement"),
        ("placement.kubernetes-fleet.io", "ClusterResourcePlacement"),
    }
)
"""What a rebalancer may name beside workloads."""


def dangling_in_karmada(known: Known) -> Iterator[Dangling]:
    """Yield the references of policies, rebalancers and triggers that lead nowhere."""
    templates = _templates(known)
    clusters = known.names(CLUSTER_GROUP, CLUSTER)
    workloads = known.workloads()
    classes = known.names("scheduling.k8s.io", "PriorityClass")
    for kind in (NAMESPACED, CLUSTER_WIDE):
        for manifest in known.of_kind(GROUP, kind):
            policy = decode_policy(manifest, known.keys)
            yield from _selected(policy, known, templates)
            yield from _clusters(manifest, clusters)
            yield from _overrides(policy)
            yield from _priority_class(manifest, classes)
    for manifest in known.of_kind("apps.karmada.io", "WorkloadRebalancer"):
        yield from _rebalanced(manifest, known, workloads)
    for manifest in known.of_kind(GROUP, "ScheduleTrigger"):
        yield from _triggered(manifest, known, workloads)


@dataclass(frozen=True, slots=True)
class Templates:
    """The workloads by API version and kind, and among those by name."""

    by_kind: Mapping[tuple[str, str], Mapping[str, tuple[Template, ...]]]

    def matching(self, policy: Policy, selector: ResourceSelector) -> bool:
        """Say whether one selector of a policy selects anything."""
        by_name = self.by_kind.get((selector.api_version, selector.kind), {})
        named = [by_name.get(selector.name, ())] if selector.name else by_name.values()
        alone = replace(policy, selectors=(selector,))
        return any(
            implicit_priority(alone, template)
            for templates in named
            for template in templates
            if policy.key.kind == CLUSTER_WIDE or template.key.namespace == policy.key.namespace
        )


def _templates(known: Known) -> Templates:
    """Index the workloads."""
    found: dict[tuple[str, str], dict[str, list[Template]]] = defaultdict(lambda: defaultdict(list))
    for key, manifest in known.world.inputs.items():
        if key.group not in known.world.known.groups:
            template = template_of(manifest)
            found[template.api_version, key.kind][key.name].append(template)
    return Templates(
        {kind: {n: tuple(t) for n, t in by_name.items()} for kind, by_name in found.items()}
    )


def _selected(policy: Policy, known: Known, templates: Templates) -> Iterator[Dangling]:
    """Tell of a policy that selects nothing, and of the names in another one that name nothing."""
    empty = [
        position
        for position, selector in enumerate(policy.selectors)
        if not templates.matching(policy, selector)
        and (group_of(selector.api_version), selector.kind) not in known.unclear
    ]
    rule, expected = "policy-selects-nothing", "workloads that it selects, or no such selector"
    if len(empty) == len(policy.selectors):
        message = "the policy selects no workload of this repository"
        yield Dangling(policy.key, "/spec/resourceSelectors", rule, message, expected)
        return
    for position in empty:
        selector = policy.selectors[position]
        if selector.name:
            at = f"/spec/resourceSelectors/{position}/name"
            message = f"no {selector.kind} {shown(selector.name)} is there to be selected"
            yield Dangling(policy.key, at, rule, message, expected)


def _clusters(manifest: Manifest, names: frozenset[str]) -> Iterator[Dangling]:
    """Tell of names of clusters that no cluster has."""
    for at, affinity in _affinities(mapping(mapping(manifest.body, "spec"), "placement")):
        for field in ("clusterNames", "exclude"):
            for position, name in enumerate(strings(affinity, field)):
                if name not in names:
                    yield Dangling(
                        manifest.key,
                        f"{at}/{field}/{position}",
                        "policy-cluster-unknown",
                        f"no Cluster is named {shown(name)}",
                        proposal(name, names, CLUSTER),
                    )


def _affinities(placement: Body) -> Iterator[tuple[str, Body]]:
    """Yield everything that names clusters, with its JSON pointer."""
    root = "/spec/placement"
    single = mapping_or_none(placement, "clusterAffinity")
    if single is not None:
        yield f"{root}/clusterAffinity", single
    for position, term in enumerate(bodies(placement, "clusterAffinities")):
        at = f"{root}/clusterAffinities/{position}"
        yield at, term
        for number, more in enumerate(bodies(term, "overflowAffinities")):
            yield f"{at}/overflowAffinities/{number}", more
    preference = mapping(mapping(placement, "replicaScheduling"), "weightPreference")
    at = f"{root}/replicaScheduling/weightPreference/staticWeightList"
    for position, weight in enumerate(bodies(preference, "staticWeightList")):
        yield f"{at}/{position}/targetCluster", mapping(weight, "targetCluster")


def _overrides(policy: Policy) -> Iterator[Dangling]:
    """Tell of override policies that a policy waits for."""
    listed = strings(mapping(policy.body, "spec"), "dependentOverrides")
    for position, name in enumerate(listed):
        if name in policy.waits_for:
            yield Dangling(
                policy.key,
                f"/spec/dependentOverrides/{position}",
                "policy-override-missing",
                f"the policy waits for the override policy {shown(name)}, which is not there",
                "the override policy, or no such dependency",
            )


def _priority_class(manifest: Manifest, classes: frozenset[str]) -> Iterator[Dangling]:
    """Tell of a PriorityClass that is not there."""
    wanted = mapping_or_none(mapping(manifest.body, "spec"), "schedulePriority")
    name = "" if wanted is None else text(wanted, "priorityClassName")
    if name and name not in classes:
        yield Dangling(
            manifest.key,
            "/spec/schedulePriority/priorityClassName",
            "policy-priority-class",
            f"no PriorityClass is named {shown(name)}, so the policy cannot be applied",
            proposal(name, classes, "PriorityClass"),
        )


def _rebalanced(
    manifest: Manifest, known: Known, workloads: frozenset[tuple[str, str, str]]
) -> Iterator[Dangling]:
    """Tell of targets that are not there, but not of those that were dealt with already."""
    spec, rule = mapping(manifest.body, "spec"), "rebalancer-target-unknown"
    observed = bodies(_record(manifest, known), "observedWorkloads")
    done = [mapping(item, "workload") for item in observed if item.get("result")]
    for position, target in enumerate(bodies(spec, "workloads")):
        if not _is_there(target, known, workloads) and target not in done:
            at = f"/spec/workloads/{position}/name"
            message = f"the {_described(target)} is not there, so this fails for good"
            expected = "the name and namespace of a workload or placement of this repository"
            yield Dangling(manifest.key, at, rule, message, expected)
    policy = mapping_or_none(mapping(spec, "selector"), "policy")
    if policy is not None:
        yield from _policy(manifest, known, policy, "/spec/selector/policy/name", rule)


def _triggered(
    manifest: Manifest, known: Known, workloads: frozenset[tuple[str, str, str]]
) -> Iterator[Dangling]:
    """Tell of resources and policies that are not there, unless the trigger had success."""
    if text(_record(manifest, known), "phase") == "Success":
        return
    spec, rule = mapping(manifest.body, "spec"), "trigger-target-unknown"
    for position, target in enumerate(bodies(spec, "targetRefResource")):
        if not _is_there(target, known, workloads):
            at = f"/spec/targetRefResource/{position}/name"
            message = f"the {_described(target)} is not there"
            expected = "the name and namespace of a workload of this repository"
            yield Dangling(manifest.key, at, rule, message, expected)
    for position, target in enumerate(bodies(spec, "targetRefPolicy")):
        at = f"/spec/targetRefPolicy/{position}/name"
        yield from _policy(manifest, known, target, at, rule)


def _record(manifest: Manifest, known: Known) -> Body:
    """Return the status of a rebalancer or trigger at the last pass, as far as it is known."""
    record = known.world.outputs.get(manifest.key)
    return mapping(record.body, "status") if record is not None else {}


def _policy(
    manifest: Manifest, known: Known, target: Body, at: str, rule: str
) -> Iterator[Dangling]:
    """Tell of a policy that is not there; without a namespace it is a cluster policy."""
    namespace, name = text(target, "namespace"), text(target, "name")
    kind = NAMESPACED if namespace else CLUSTER_WIDE
    if ObjectKey(GROUP, kind, namespace, name) not in known.keys:
        message = f"the {_described({**target, 'kind': kind})} is not there"
        expected = f"a policy of this repository; one with a namespace is a {NAMESPACED}"
        yield Dangling(manifest.key, at, rule, message, expected)


def _is_there(target: Body, known: Known, workloads: frozenset[tuple[str, str, str]]) -> bool:
    """Say whether a target is there; kind, namespace and name decide, as for the rebalance."""
    kind, namespace, name = (text(target, field) for field in ("kind", "namespace", "name"))
    group = group_of(text(target, "apiVersion"))
    if (group, kind) in PLACEMENT_KINDS:
        return ObjectKey(group, kind, namespace, name) in known.keys
    return (kind, namespace, name) in workloads


def _described(target: Body) -> str:
    """Return a target as people call it."""
    scope = f"{text(target, 'namespace')}/" if text(target, "namespace") else ""
    return f"{text(target, 'kind')} {shown(scope + text(target, 'name'))}"
