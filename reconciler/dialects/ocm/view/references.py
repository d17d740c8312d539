"""What placements, bindings and scores of Open Cluster Management refer to."""

from collections.abc import Iterator

from reconciler.dialects.ocm.api.cluster_sets import IMPLICIT
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.manifests.names import shown
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.fields import mapping, strings, text
from reconciler.model.world import Manifest

SET = "ManagedClusterSet"
BINDING = "ManagedClusterSetBinding"
CLUSTER = "ManagedCluster"


def dangling_in_ocm(known: Known) -> Iterator[Dangling]:
    """Yield the references of placements, bindings and scores that lead nowhere."""
    sets = known.names(GROUP, SET) | IMPLICIT.keys()
    clusters = known.names(GROUP, CLUSTER)
    for manifest in known.of_kind(GROUP, "Placement"):
        yield from _bound(manifest, known, sets)
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
    for manifest in known.of_kind(GROUP, "AddOnPlacementScore"):
        namespace = manifest.key.namespace
        if namespace not in clusters:
            yield Dangling(
                manifest.key,
                "/metadata/namespace",
                "score-cluster-unknown",
                f"the namespace {shown(namespace)} is that of no {CLUSTER}, so none is scored",
                proposal(namespace, clusters, CLUSTER),
            )


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
