"""What placements, bindings and scores of Open Cluster Management refer to."""

from collections.abc import Iterator

from reconciler.dialects.ocm.api.cluster_sets import IMPLICIT
from reconciler.dialects.ocm.api.placement import (
    ADDITIVE,
    BUILT_IN,
    EXACT,
    GROUP,
    decode_placement,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP as WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND as REPLICA_SET
from reconciler.dialects.ocm.view.meant_clusters import (
    CLUSTER,
    doubts_of_placement,
    doubts_of_set,
    known_labels,
)
from reconciler.dialects.scores.references import reported_scores, scores_of_none
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.message_text import shown
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest

SET = "ManagedClusterSet"
BINDING = "ManagedClusterSetBinding"


def dangling_in_ocm(known: Known) -> Iterator[Dangling]:
    """Yield the references of placements, bindings and scores that lead nowhere."""
    sets = known.names(GROUP, SET) | IMPLICIT.keys()
    labelled, reported = known_labels(known), reported_scores(known)
    for manifest in known.of_kind(GROUP, "Placement"):
        yield from _bound(manifest, known, sets)
        yield from _prioritized(manifest)
        yield from doubts_of_placement(manifest, labelled, reported)
    for manifest in known.of_kind(GROUP, SET):
        yield from doubts_of_set(manifest, labelled)
    for manifest in known.of_kind(GROUP, BINDING):
        name = text(mapping(manifest.body, "spec"), "clusterSet")
        if name not in sets:
            yield Dangling(
                manifest.key,
                "/spec/clusterSet",
                "set-binding-unknown",
                f"no {SET} is named {shown(name)}, so the binding offers nothing",
                proposal(name, sets, SET),
            )
    for manifest in known.of_kind(WORK_GROUP, REPLICA_SET):
        yield from _referenced(manifest, known)
    if not settings_in(known.world).extends_scores:  # else clusters of other APIs have them, too
        yield from scores_of_none(known, known.names(GROUP, CLUSTER), CLUSTER)


def _bound(manifest: Manifest, known: Known, sets: frozenset[str]) -> Iterator[Dangling]:
    """Yield a placement that is offered no set, or not those that it names."""
    namespace = manifest.key.namespace
    offered = known.names(GROUP, BINDING, namespace) & sets
    if not offered:
        yield Dangling(
            manifest.key,
            "/metadata/namespace",
            "placement-set-missing",
            f"no cluster set is bound to the namespace {shown(namespace)}, so no cluster is chosen",
            f"a {BINDING} in this namespace",
        )
        return
    for position, name in enumerate(strings(mapping(manifest.body, "spec"), "clusterSets")):
        if name not in offered:
            yield Dangling(
                manifest.key,
                f"/spec/clusterSets/{position}",
                "placement-set-unbound",
                f"the set {shown(name)} is not bound to the namespace {shown(namespace)}",
                proposal(name, offered, BINDING),
            )


def _referenced(manifest: Manifest, known: Known) -> Iterator[Dangling]:
    """Yield the placements of a set that are not there; without them nothing goes on."""
    namespace = manifest.key.namespace
    placements = known.names(GROUP, "Placement", namespace)
    for position, one in enumerate(bodies(mapping(manifest.body, "spec"), "placementRefs")):
        name = text(one, "name")
        if name not in placements:
            yield Dangling(
                manifest.key,
                f"/spec/placementRefs/{position}/name",
                "replica-set-placement",
                f"no Placement of the namespace {shown(namespace)} is named {shown(name)}",
                proposal(name, placements, "Placement"),
            )


def _prioritized(manifest: Manifest) -> Iterator[Dangling]:
    """Yield the prioritizers that are none; with one no cluster is chosen, and any is lost.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/schedule.go `getPrioritizers`.
    """
    from reconciler.dialects.ocm.scheduler.profile import PROFILE  # noqa: PLC0415  # slow

    placement = decode_placement(manifest.body)
    if placement.mode not in ("", ADDITIVE, EXACT):
        message = f"the mode {shown(placement.mode)} is not known, so no cluster is chosen"
        at, expected = "/spec/prioritizerPolicy/mode", f"{ADDITIVE} or {EXACT}"
        yield Dangling(manifest.key, at, "placement-prioritizer", message, expected)
    for position, one in enumerate(placement.configurations):
        coordinate = one.coordinate
        if coordinate is None or not one.weight:
            continue
        at = f"/spec/prioritizerPolicy/configurations/{position}/scoreCoordinate"
        if coordinate.type == BUILT_IN and coordinate.built_in not in PROFILE.scores:
            named = shown(coordinate.built_in)
            message = f"no built-in prioritizer is named {named}, so no cluster is chosen"
            expected = ", ".join(PROFILE.scores)
        elif coordinate.type != BUILT_IN and coordinate.add_on is None:
            message = "a prioritizer of an add-on names no score, so no cluster is chosen"
            expected = "addOn with resourceName and scoreName"
        else:
            continue
        yield Dangling(manifest.key, at, "placement-prioritizer", message, expected)
