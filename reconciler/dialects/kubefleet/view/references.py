"""What placements of KubeFleet refer to."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.clusters import member_labels
from reconciler.dialects.kubefleet.api.groups import CLUSTER_GROUP, PLACEMENT_GROUP
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS
from reconciler.dialects.kubefleet.api.policy import PICK_FIXED
from reconciler.dialects.kubefleet.api.score_property import written_scores
from reconciler.dialects.kubefleet.view.judged_references import refused_beside_others
from reconciler.dialects.kubefleet.view.meant_clusters import (
    OVERRIDES,
    doubts_of_override,
    doubts_of_placement,
)
from reconciler.dialects.kubefleet.view.update_references import doubts_of_updates
from reconciler.dialects.scores.references import extended_scores
from reconciler.errors import UserError
from reconciler.manifests.built_in import is_built_in
from reconciler.manifests.doubtful_selectors import Labelled
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.message_text import shown
from reconciler.model.world import Manifest

CLUSTER = "MemberCluster"
SELECTORS = "/spec/resourceSelectors"


def dangling_in_kubefleet(known: Known) -> Iterator[Dangling]:
    """Yield the references of placements that lead nowhere, and names that are missing."""
    clusters = known.names(CLUSTER_GROUP, CLUSTER)
    labelled = Labelled.known(known, CLUSTER_GROUP, CLUSTER, member_labels)
    scores = extended_scores(known)
    for manifest in (
        one for kind in sorted(PLACEMENTS) for one in known.of_kind(PLACEMENT_GROUP, kind)
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
        yield from _selected(manifest, known)
        yield from doubts_of_placement(manifest, labelled)
        if scores is not None:
            for at, written, score in written_scores(manifest.body):
                yield from scores.doubts(manifest.key, at, score, "finds on no cluster", written)
    for kind in OVERRIDES:
        for manifest in known.of_kind(PLACEMENT_GROUP, kind):
            yield from doubts_of_override(manifest, labelled)
    yield from refused_beside_others(known)
    yield from doubts_of_updates(known)


def _selected(manifest: Manifest, known: Known) -> Iterator[Dangling]:
    """Yield a placement that selects nothing, or what cannot be selected."""
    from reconciler.dialects.kubefleet.snapshots.resource_selection import select_resources  # noqa: PLC0415  # slow

    selectors = bodies(mapping(manifest.body, "spec"), "resourceSelectors")
    try:
        world, namespace = known.world, manifest.key.namespace
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
    if selection.resources or kinds & known.unclear or any(map(is_built_in, named)):
        return
    message = "the placement selects no resource of this repository"
    expected = "resources that it selects"
    yield Dangling(manifest.key, SELECTORS, "placement-selects-nothing", message, expected)
