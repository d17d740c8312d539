"""What policies refer to."""

from collections.abc import Iterator, Sequence
from itertools import islice

from reconciler.dialects.karmada.api.custom_kinds import CustomKinds, VersionedKind
from reconciler.dialects.karmada.api.groups import POLICY_GROUP, SCHEDULING_GROUP
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    GROUP,
    NAMESPACED,
    Policy,
    ResourceSelector,
    decode_policy,
)
from reconciler.dialects.karmada.api.settings import decode_failover
from reconciler.dialects.karmada.api.work.work_spec import asked_by_policy
from reconciler.dialects.karmada.binding.asked import asked_by_workload
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.karmada.detector.dependencies import dependencies_of
from reconciler.dialects.karmada.detector.options import decode_detector_options
from reconciler.dialects.karmada.detector.propagation import Propagation
from reconciler.dialects.karmada.taints.by_policy import TAINT_POLICY
from reconciler.dialects.karmada.view.custom_kind_references import (
    divides,
    scripted_kinds,
    scripts,
    uncountable,
    undivided,
)
from reconciler.dialects.karmada.view.meant_clusters import (
    doubts_of_affinity,
    doubts_of_clusters,
    known_clusters,
)
from reconciler.dialects.karmada.view.override_references import dangling_in_overrides
from reconciler.dialects.karmada.view.policy_overlap import brought_by_policies, overlapping
from reconciler.dialects.karmada.view.quotas import dangling_in_quotas, idle_limits
from reconciler.dialects.karmada.view.selected_templates import Templates, index_templates
from reconciler.dialects.karmada.view.state_references import preserved_in_vain
from reconciler.dialects.karmada.view.weighing import doubts_of_weight
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.scores.references import extended_scores
from reconciler.manifests.built_in import PRIORITIES, is_built_in
from reconciler.manifests.doubtful_selectors import doubts_of_selector, selector_at
from reconciler.manifests.paths import output_path
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.manifests.text.limits import MAX_VIOLATIONS
from reconciler.model.enumeration import enumerated
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.message_text import shown
from reconciler.model.settings import settings_in

MOST_NAMED = 5
AMOUNT = {True: "has", False: "have"}


def dangling_in_karmada(known: Known) -> Iterator[Dangling]:
    """Yield the references of policies that lead nowhere."""
    templates = index_templates(known)
    settings = settings_in(known.world)
    options, failover = decode_detector_options(settings), decode_failover(settings)
    scripted = scripted_kinds(known)
    yield from scripts(known, options.custom_kinds)
    yield from uncountable(templates.by_name, options.custom_kinds)
    meant, scores = known_clusters(known), extended_scores(known)
    classes = known.names(SCHEDULING_GROUP, "PriorityClass") | PRIORITIES.keys()
    every: list[Policy] = []
    for kind in (NAMESPACED, CLUSTER_WIDE):
        policies = [decode_policy(one, known.keys) for one in known.of_kind(GROUP, kind)]
        every += policies
        for policy in policies:
            yield from _selected(policy, known, templates)
            yield from _propagated(policy, templates, options.propagation)
            yield from _divided(policy, templates, options.custom_kinds, scripted)
            yield from islice(doubts_of_clusters(policy, meant), MAX_VIOLATIONS)
            yield from _overrides(policy)
            yield from _priority_class(policy, classes)
            yield from _spread(policy)
            yield from _placing_at_once(policy, templates, known)
            yield from preserved_in_vain(policy, failover)
            if scores is not None:
                yield from doubts_of_weight(known.world.inputs[policy.key], scores)
        yield from overlapping(policies, templates)
    yield from _differing_for_dependents(every, templates, known)
    yield from dangling_in_overrides(known, templates, meant)
    for manifest in known.of_kind(*TAINT_POLICY):
        targets = mapping(mapping(manifest.body, "spec"), "targetClusters")
        yield from doubts_of_affinity(manifest.key, targets, "/spec/targetClusters", meant)
    yield from dangling_in_quotas(known, meant)
    yield from idle_limits(known)


def _differing_for_dependents(
    policies: Sequence[Policy], templates: Templates, known: Known
) -> Iterator[Dangling]:
    """Yield a policy whose workloads need an object that those of another one need otherwise.

    Such an object has no policy of its own; where its copies may be overwritten for one, or
    outlive it, they are for all.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `createOrUpdateAttachedBinding`.
    """
    following = [one for one in policies if one.copied.propagate_deps and not one.deleting]
    if len({_wished_of_dependents(one) for one in following}) < 2:
        return
    claimed = {one.object for one in brought_by_policies(known)}
    first: dict[ObjectKey, Policy] = {}
    told: set[ObjectKey] = set()
    for policy in following:
        for need in sorted(_needs_of(policy, templates, known) - claimed):
            other = first.setdefault(need, policy)
            differ = _wished_of_dependents(other) != _wished_of_dependents(policy)
            if differ and policy.key not in told:
                told.add(policy.key)
                yield Dangling(
                    policy.key,
                    "/spec",
                    "policy-dependents-differ",
                    f"{need} is needed by workloads of this policy and of {other.key}, which "
                    "differ in `conflictResolution` or `preserveResourcesOnDeletion`: Overwrite "
                    "and true count for both",
                    "the same values in both policies, or a policy for the object itself",
                )


def _wished_of_dependents(policy: Policy) -> tuple[str, bool]:
    """Return what a policy asks of what its workloads need."""
    asked = policy.copied
    return asked.conflict_resolution or "Abort", bool(asked.preserve_resources_on_deletion)


def _needs_of(policy: Policy, templates: Templates, known: Known) -> set[ObjectKey]:
    """Return what the workloads need that a policy selects, and that is there."""
    found: set[ObjectKey] = set()
    for selector in policy.selectors:
        for one in templates.matching(policy.key, selector):
            body = known.world.inputs[one.key].body
            found.update(dependencies_of(one.key, text(body, "apiVersion"), body))
    return found & known.world.inputs.keys()


def _selected(policy: Policy, known: Known, templates: Templates) -> Iterator[Dangling]:
    """Yield the policy if it selects nothing, else the names in it that name nothing."""
    empty = [
        position
        for position, selector in enumerate(policy.selectors)
        if not any(True for _ in templates.matching(policy.key, selector))
        and (group_of(selector.api_version), selector.kind) not in known.unclear
        and not _names_built_in(policy, selector)
    ]
    rule, expected = "policy-selects-nothing", "workloads that it selects, or no such selector"
    unkinded = list(_without_kind(policy, rule))
    yield from unkinded
    if unkinded:
        return
    doubts = [one for position in empty for one in _by_labels(policy, position, known, templates)]
    yield from doubts
    if len(empty) == len(policy.selectors) and not doubts:
        yield _selects_nothing(policy, templates, rule, expected)
        return
    for position in empty:
        selector = policy.selectors[position]
        if selector.name:
            at = f"/spec/resourceSelectors/{position}/name"
            message = f"no {selector.kind} {shown(selector.name)} is there to be selected"
            yield Dangling(policy.key, at, rule, message, expected)


def _placing_at_once(policy: Policy, templates: Templates, known: Known) -> Iterator[Dangling]:
    """Yield that a Lazy policy, which claims nothing yet, places what is there when it comes.

    Upstream's detector would wait for an edit of a workload that came before its policy.
    """
    if not policy.lazy:
        return
    matching = (templates.matching(policy.key, selector) for selector in policy.selectors)
    selected = sorted({one.key for found in matching for one in found})
    root, present = known.world.output_root, known.world.present
    if not selected or any(output_path(root, binding_key(one)) in present for one in selected):
        return
    names = enumerated((f"{one.kind} {one.name}" for one in selected), MOST_NAMED)
    count = f"{len(selected)} workload{'s' if len(selected) != 1 else ''}"
    yield Dangling(
        policy.key,
        "/spec/activationPreference",
        "policy-lazy-places",
        f"the policy is Lazy, and places {count} at once that {AMOUNT[len(selected) == 1]} no "
        f"binding yet: {names}",
        "no activationPreference, if that is meant; else the policy before its workloads",
    )


def _names_built_in(policy: Policy, selector: ResourceSelector) -> bool:
    """Return whether a selector names what every cluster has without a manifest."""
    group, place = group_of(selector.api_version), selector.namespace or policy.key.namespace
    return is_built_in(ObjectKey(group, selector.kind, place, selector.name))


def _by_labels(
    policy: Policy, position: int, known: Known, templates: Templates
) -> Iterator[Dangling]:
    """Yield which label of a selector no workload has."""
    selector = policy.selectors[position]
    written = bodies(mapping(known.world.inputs[policy.key].body, "spec"), "resourceSelectors")
    among = templates.beside(policy.key, selector)
    if not selector.name and selector.labels is not None and among is not None:
        labels, at = selector_at(written[position], f"/spec/resourceSelectors/{position}")
        yield from doubts_of_selector(policy.key, labels, at, among, "policy-selects-nothing")


def _selects_nothing(policy: Policy, templates: Templates, rule: str, expected: str) -> Dangling:
    """Return that a policy selects nothing, and where what it means stands, if it does."""
    message, namespace = "the policy selects no workload of this repository", policy.key.namespace
    found = (one for selector in policy.selectors for one in templates.elsewhere(selector))
    other = next(found, None) if namespace else None
    if other is not None:
        message = f"the policy selects no workload of its own namespace {shown(namespace)}"
        expected = f"namespace: {other.key.namespace}, where {other.key.kind} {other.key.name} is"
    return Dangling(policy.key, "/spec/resourceSelectors", rule, message, expected)


def _without_kind(policy: Policy, rule: str) -> Iterator[Dangling]:
    """Yield the selectors that lack what every selector needs; Karmada's webhook takes them."""
    for position, selector in enumerate(policy.selectors):
        for field, value in (("apiVersion", selector.api_version), ("kind", selector.kind)):
            if not value:
                at = f"/spec/resourceSelectors/{position}/{field}"
                message = f"without `{field}` the selector selects nothing"
                yield Dangling(policy.key, at, rule, message, f"the {field} of the workloads")


def _propagated(
    policy: Policy, templates: Templates, propagation: Propagation
) -> Iterator[Dangling]:
    """Yield a policy whose every workload is one that is never propagated."""
    never = ""
    for selector in policy.selectors:
        for template in templates.matching(policy.key, selector):
            if propagation.allows(template):
                return
            never = never or str(template.key)
    if never:
        yield Dangling(
            policy.key,
            "/spec/resourceSelectors",
            "policy-never-propagated",
            f"all that the policy selects is never propagated, such as {never}",
            "workloads of other namespaces and APIs, or spec.karmada.skippedPropagatingNamespaces",
        )


def _divided(
    policy: Policy, templates: Templates, custom: CustomKinds, scripted: frozenset[VersionedKind]
) -> Iterator[Dangling]:
    """Yield each selector of a policy that divides what it cannot; once, however many there are."""
    for position, selector in enumerate(policy.selectors if divides(policy) else ()):
        found = (
            dangling
            for template in templates.matching(policy.key, selector)
            for dangling in undivided(policy, position, template, custom, scripted)
        )
        yield from islice(found, 1)


def _overrides(policy: Policy) -> Iterator[Dangling]:
    """Yield override policies that a policy waits for."""
    listed = strings(policy.spec, "dependentOverrides")
    for position, name in enumerate(listed):
        if name in policy.waits_for:
            yield Dangling(
                policy.key,
                f"/spec/dependentOverrides/{position}",
                "policy-override-missing",
                f"the policy waits for the override policy {shown(name)}, which is not there",
                "the override policy, or no such dependency",
            )


def _priority_class(policy: Policy, classes: frozenset[str]) -> Iterator[Dangling]:
    """Yield a PriorityClass that is missing."""
    name = policy.priority_class
    if name and name not in classes:
        yield Dangling(
            policy.key,
            "/spec/schedulePriority/priorityClassName",
            "policy-priority-class",
            f"no PriorityClass is named {shown(name)}, so the policy cannot be applied",
            proposal(name, classes, "PriorityClass"),
        )


def _spread(policy: Policy) -> Iterator[Dangling]:
    """Yield a constraint by which no cluster is chosen: without `maxGroups` there may be none.

    Beside a constraint by region each region gets a cluster all the same.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters_by_cluster.go
    `selectBestClustersByCluster`.
    """
    constraints = bodies(policy.copied.placement or {}, "spreadConstraints")
    fields = [text(constraint, "spreadByField") for constraint in constraints]
    if "region" in fields:
        return
    for position, constraint in enumerate(constraints):
        if fields[position] == "cluster" and not constraint.get("maxGroups"):
            yield Dangling(
                policy.key,
                f"/spec/placement/spreadConstraints/{position}",
                "policy-spread-unbounded",
                "a constraint by cluster without `maxGroups` allows none, so nothing is scheduled",
                "maxGroups: the number of clusters at most",
            )


def instructed_by_karmada(known: Known) -> Iterator[Instructed]:
    """Yield what policies ask, and what the workloads ask that they select."""
    for kind in (CLUSTER_WIDE, NAMESPACED):
        for manifest in known.of_kind(POLICY_GROUP, kind):
            for pointer, instruction in asked_by_policy(manifest.body):
                yield Instructed(manifest.key, pointer, instruction)
    apis = known.world.known.groups
    asking = [
        Instructed(key, pointer, instruction)
        for key, manifest in known.world.inputs.items()
        if key.group not in apis
        for pointer, instruction in asked_by_workload(manifest.body)
    ]
    if asking:
        placed = {one.object for one in brought_by_policies(known)}
        yield from (one for one in asking if one.by in placed)
