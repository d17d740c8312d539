"""What objects of KubeFleet refer to, and what they must not be beside other objects.

Placements and their selectors, overrides, budgets, evictions, staged update runs and approvals are
asked; also for clusters that are meant and not there, and for what is tolerated in vain.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from reconciler.dialects.kubefleet.api.member import member_labels
from reconciler.dialects.kubefleet.api.names import (
    CLUSTER_GROUP,
    PLACEMENT_GROUP,
    PLACEMENTS,
    SCOPES,
    PlacementKinds,
)
from reconciler.dialects.kubefleet.api.override_admission import (
    CLUSTER_SCOPED,
    MOST_OVERRIDES,
    NAMESPACED,
    Resource,
    decode_request,
    refuse_budget_for,
    refuse_eviction,
    refuse_many,
    refuse_taken,
    resources_of,
)
from reconciler.dialects.kubefleet.api.placement import (
    PICK_FIXED,
    PREFERRED,
    REQUIRED,
    waits_for_runs,
    written_scores,
)
from reconciler.dialects.kubefleet.api.snapshots import resource_key
from reconciler.dialects.kubefleet.snapshots.selection import select_resources
from reconciler.dialects.kubefleet.updaterun.cycle import refusal_of
from reconciler.dialects.kubefleet.view.tree import begun_run, wait_for_run
from reconciler.dialects.scores import extended_scores
from reconciler.errors import UserError
from reconciler.manifests.identity import is_built_in
from reconciler.manifests.references import Brought, Dangling, Known, proposal
from reconciler.manifests.schemas.violations import Violation
from reconciler.manifests.selectors import (
    Labelled,
    doubts_of_selector,
    doubts_of_tolerations,
    selector_at,
)
from reconciler.model.body import Body
from reconciler.model.cluster import TaintEffect
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.text import shown
from reconciler.model.world import Manifest

CLUSTER = "MemberCluster"
SELECTORS = "/spec/resourceSelectors"


def dangling_in_kubefleet(referable: Known) -> Iterator[Dangling]:
    """Yield the references of placements that lead nowhere, and names that are missing."""
    clusters = referable.names(CLUSTER_GROUP, CLUSTER)
    labelled = Labelled.known(referable, CLUSTER_GROUP, CLUSTER, member_labels)
    scores = extended_scores(referable)
    for manifest in (
        one for kind in sorted(PLACEMENTS) for one in referable.of_kind(PLACEMENT_GROUP, kind)
    ):
        policy = mapping(mapping(manifest.body, "spec"), "policy")
        named = strings(policy, "clusterNames")
        if text(policy, "placementType") == PICK_FIXED and not named:
            yield Dangling(
                manifest.key,
                "/spec/policy",
                "placement-names-empty",
                "PickFixed names no cluster, so nothing is scheduled and what is placed stays",
                "the name of a cluster at least",
            )
        for position, name in enumerate(named):
            if name not in clusters:
                yield Dangling(
                    manifest.key,
                    f"/spec/policy/clusterNames/{position}",
                    "placement-cluster-unknown",
                    f"no {CLUSTER} is named {shown(name)}",
                    proposal(name, clusters, CLUSTER),
                )
        yield from _selected(manifest, referable)
        yield from doubts_of_placement(manifest, labelled)
        if scores is not None:
            for at, written, score in written_scores(manifest.body):
                yield from scores.doubts(manifest.key, at, score, "finds on no cluster", written)
    for kind in OVERRIDES:
        for manifest in referable.of_kind(PLACEMENT_GROUP, kind):
            yield from doubts_of_override(manifest, labelled)
            yield from _overridden(manifest, referable)
    yield from refused_beside_others(referable)
    yield from doubts_of_updates(referable)


def _overridden(override: Manifest, referable: Known) -> Iterator[Dangling]:
    """Yield that an override is for a placement that is not there, so that it is never applied.

    Source: kubefleet@e160c1c apis/placement/v1beta1/override_types.go `PlacementRef`: without a
    scope it is a ClusterResourcePlacement.
    """
    placement = mapping(mapping(override.body, "spec"), "placement")
    name, space = text(placement, "name"), override.key.namespace
    own = bool(space) and text(placement, "scope") == "Namespaced"
    kind, other = ("ResourcePlacement", PLACEMENT) if own else (PLACEMENT, "ResourcePlacement")
    names = referable.names(PLACEMENT_GROUP, kind, space if own else "")
    if not name or name in names:
        return
    expected = proposal(name, names, kind)
    if space and name in referable.names(PLACEMENT_GROUP, other, "" if own else space):
        expected = f"scope: {'Cluster' if own else 'Namespaced'}, for the {other} {name}"
    message = f"no {kind} is named {shown(name)}, so this is never applied"
    at = "/spec/placement/name"
    yield Dangling(override.key, at, "override-placement-unknown", message, expected)


def _selected(manifest: Manifest, referable: Known) -> Iterator[Dangling]:
    """Yield a placement that selects nothing, or what cannot be selected."""
    from reconciler.dialects.kubefleet.snapshots.selection import select_resources  # noqa: PLC0415  # slow

    selectors = bodies(mapping(manifest.body, "spec"), "resourceSelectors")
    try:
        world, namespace = referable.world, manifest.key.namespace
        selection = select_resources(selectors, world.inputs, {}, world.known, namespace)
    except UserError as error:
        expected = "selectors that select each resource once, with its namespace"
        at = error.field or SELECTORS
        yield Dangling(manifest.key, at, "placement-selection", error.message, expected)
        return
    named = [
        ObjectKey(text(item, "group"), text(item, "kind"), namespace, text(item, "name"))
        for item in selectors
    ]
    kinds = {key[:2] for key in named}
    if selection.resources or kinds & referable.unclear or any(map(is_built_in, named)):
        return
    message = "the placement selects no resource of this repository"
    expected = "resources that it selects"
    yield Dangling(manifest.key, SELECTORS, "placement-selects-nothing", message, expected)


PLACEMENT = "ClusterResourcePlacement"


def refused_beside_others(referable: Known) -> Iterator[Dangling]:
    """Yield what upstream's webhooks refuse once they have looked at other objects."""
    for kind in (CLUSTER_SCOPED, NAMESPACED):
        yield from _overrides(tuple(referable.of_kind(PLACEMENT_GROUP, kind)))
    placements = {one.key.name: one.body for one in referable.of_kind(PLACEMENT_GROUP, PLACEMENT)}
    for budget in referable.of_kind(PLACEMENT_GROUP, f"{PLACEMENT}DisruptionBudget"):
        placement = placements.get(budget.key.name)
        if placement is not None:
            yield from _told(budget.key, refuse_budget_for(budget.body, placement))
    for eviction in referable.of_kind(PLACEMENT_GROUP, f"{PLACEMENT}Eviction"):
        name = decode_request(eviction.body).placement
        if name in placements:
            yield from _told(eviction.key, refuse_eviction(eviction.body, placements[name]))


def _overrides(overrides: tuple[Manifest, ...]) -> Iterator[Dangling]:
    """Yield which overrides of a kind are too many, and which want the same resource."""
    wanted: dict[tuple[str, Resource], list[Manifest]] = defaultdict(list)
    for override in overrides:
        for resource in resources_of(override.body):
            wanted[override.key.namespace, resource].append(override)
    for position, override in enumerate(overrides):
        if position >= MOST_OVERRIDES:
            yield from _told(override.key, refuse_many(position))
        rivals: Iterable[Body] = (
            other.body
            for resource in resources_of(override.body)
            for other in wanted[override.key.namespace, resource]
            if other is not override
        )
        yield from _told(override.key, refuse_taken(override.body, rivals))


def _told(key: ObjectKey, violations: Iterable[Violation]) -> Iterator[Dangling]:
    for violation in violations:
        yield Dangling(
            key, violation.pointer, violation.rule, violation.message, violation.expected
        )


RULE = "placement-matches-nothing"
OVERRIDES = ("ClusterResourceOverride", "ResourceOverride")
EFFECTS = (TaintEffect.NO_SCHEDULE,)


def doubts_of_placement(manifest: Manifest, labelled: Labelled | None) -> Iterator[Dangling]:
    """Yield the terms of a placement that fit no cluster, and what it tolerates in vain."""
    policy, key = mapping(mapping(manifest.body, "spec"), "policy"), manifest.key
    for at, term in _terms(policy):
        labels, place = selector_at(term, at)
        yield from doubts_of_selector(key, labels, place, labelled, RULE)
    tolerations = bodies(policy, "tolerations")
    yield from doubts_of_tolerations(key, tolerations, "/spec/policy/tolerations", EFFECTS)


def doubts_of_override(manifest: Manifest, labelled: Labelled | None) -> Iterator[Dangling]:
    """Yield the terms of an override that fit no cluster."""
    policy = mapping(mapping(manifest.body, "spec"), "policy")
    for number, rule in enumerate(bodies(policy, "overrideRules")):
        terms = bodies(mapping(rule, "clusterSelector"), "clusterSelectorTerms")
        for position, term in enumerate(terms):
            at = f"/spec/policy/overrideRules/{number}/clusterSelector/clusterSelectorTerms"
            labels, place = selector_at(term, f"{at}/{position}")
            yield from doubts_of_selector(manifest.key, labels, place, labelled, RULE)


def _terms(policy: Body) -> Iterator[tuple[str, Body]]:
    """Yield the required and the preferred terms, each with its JSON pointer."""
    affinity = mapping(mapping(policy, "affinity"), "clusterAffinity")
    root = "/spec/policy/affinity/clusterAffinity"
    for position, term in enumerate(bodies(mapping(affinity, REQUIRED), "clusterSelectorTerms")):
        yield f"{root}/{REQUIRED}/clusterSelectorTerms/{position}", term
    for position, one in enumerate(bodies(affinity, PREFERRED)):
        yield f"{root}/{PREFERRED}/{position}/preference", mapping(one, "preference")


def doubts_of_updates(referable: Known) -> Iterator[Dangling]:
    """Yield runs without placement or strategy, placements without run, approvals of nothing."""
    for kinds in SCOPES:
        rolled = set()
        for manifest in referable.of_kind(PLACEMENT_GROUP, kinds.run):
            rolled.add(
                (manifest.key.namespace, text(mapping(manifest.body, "spec"), "placementName"))
            )
            yield from _of_run(manifest, kinds, referable)
        for manifest in referable.of_kind(PLACEMENT_GROUP, kinds.placement):
            if (
                waits_for_runs(manifest.body)
                and (manifest.key.namespace, manifest.key.name) not in rolled
            ):
                message = f"the placement {wait_for_run(manifest.key.namespace)}; there is none"
                expected = f"a {kinds.run}, or another strategy"
                at = "/spec/strategy/type"
                yield Dangling(manifest.key, at, "placement-run-missing", message, expected)
        for manifest in referable.of_kind(PLACEMENT_GROUP, kinds.approval_request):
            yield from _of_approval(manifest, kinds, referable)


def _of_run(run: Manifest, kinds: PlacementKinds, referable: Known) -> Iterator[Dangling]:
    """Yield what a run names and is not there, unless it needs that no longer."""
    if begun_run(referable.world, run.key) is not None:
        return
    for field, kind in (
        ("placementName", kinds.placement),
        ("stagedRolloutStrategyName", kinds.update_strategy),
    ):
        name = text(mapping(run.body, "spec"), field)
        names = referable.names(PLACEMENT_GROUP, kind, run.key.namespace)
        if name not in names:
            message = f"no {kind} is named {shown(name)}, so the run fails for good"
            expected = proposal(name, names, kind)
            yield Dangling(run.key, f"/spec/{field}", "run-reference-unknown", message, expected)


def _of_approval(manifest: Manifest, kinds: PlacementKinds, referable: Known) -> Iterator[Dangling]:
    """Yield an approval that counts for nothing, as far as the records of its run say."""
    name = text(mapping(manifest.body, "spec"), "parentStageRollout")
    run = ObjectKey(PLACEMENT_GROUP, kinds.run, manifest.key.namespace, name)
    begun = begun_run(referable.world, run)
    if begun is None and run in referable.keys:
        return  # no pass has seen it yet
    where, why = refusal_of(manifest, begun)
    if why:
        expected = "what reconciler approve writes, or no such file"
        message = f"{manifest.key.name} approves nothing: {why}"
        yield Dangling(manifest.key, where, "approval-ignored", message, expected)


def brought_by_placements(referable: Known) -> Iterator[Brought]:
    """Yield what placements select; one whose selectors cannot be used selects nothing."""
    world = referable.world
    for kind in sorted(PLACEMENTS):
        for manifest in referable.of_kind(PLACEMENT_GROUP, kind):
            selectors = bodies(mapping(manifest.body, "spec"), "resourceSelectors")
            space = manifest.key.namespace
            try:
                selection = select_resources(selectors, world.inputs, {}, world.known, space)
            except UserError:
                continue
            for resource in selection.resources:
                key = resource_key(resource.entry)
                if key in world.inputs:
                    yield Brought(manifest.key, SELECTORS, key)
