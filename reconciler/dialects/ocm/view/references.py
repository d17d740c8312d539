"""What placements, sets, bindings and scores refer to, and what of it is not there.

A placement or set may mean labels, expressions, scores or effects that no cluster has.
"""

from collections.abc import Collection, Iterator

from reconciler.dialects.ocm.api.cluster import (
    DEFAULT_SET,
    EXCLUSIVE,
    IMPLICIT,
    SET_LABEL,
    decode_set,
)
from reconciler.dialects.ocm.api.placement import (
    ADDITIVE,
    BUILT_IN,
    CLUSTER_GROUP,
    EXACT,
    WORK_GROUP,
    decode_placement,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import REPLICA_SET
from reconciler.dialects.scores import missing_score, reported_scores, scores_of_none
from reconciler.errors import Misconfigured
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.manifests.selectors import (
    Labelled,
    doubts_of_selector,
    doubts_of_tolerations,
    selector_at,
)
from reconciler.model.body import Body
from reconciler.model.cluster import TaintEffect
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings, text
from reconciler.model.labels import LabelSelector, labels_of
from reconciler.model.settings import settings_in
from reconciler.model.text import shown
from reconciler.model.world import Manifest

SET = "ManagedClusterSet"
BINDING = "ManagedClusterSetBinding"


def dangling_in_ocm(referable: Known) -> Iterator[Dangling]:
    """Yield the references of placements, bindings and scores that lead nowhere."""
    sets = referable.names(CLUSTER_GROUP, SET) | IMPLICIT.keys()
    labelled, reported = known_labels(referable), reported_scores(referable)
    for manifest in referable.of_kind(CLUSTER_GROUP, "Placement"):
        yield from _bound(manifest, referable, sets)
        yield from _prioritized(manifest)
        yield from _of_no_cluster(manifest)
        yield from doubts_of_placement(manifest, labelled, reported)
    for manifest in referable.of_kind(CLUSTER_GROUP, SET):
        yield from doubts_of_set(manifest, labelled)
    for manifest in referable.of_kind(CLUSTER_GROUP, BINDING):
        name = text(mapping(manifest.body, "spec"), "clusterSet")
        if name not in sets:
            yield Dangling(
                manifest.key,
                "/spec/clusterSet",
                "set-binding-unknown",
                f"no {SET} is named {shown(name)}, so the binding offers nothing",
                proposal(name, sets, SET),
            )
    for manifest in referable.of_kind(WORK_GROUP, REPLICA_SET):
        yield from _referenced(manifest, referable)
    if not settings_in(
        referable.world
    ).extends_scores:  # else clusters of other APIs have them, too
        yield from scores_of_none(referable, referable.names(CLUSTER_GROUP, CLUSTER), CLUSTER)


def _of_no_cluster(manifest: Manifest) -> Iterator[Dangling]:
    """Yield a placement that asks for no cluster; one without the field is for all of them."""
    if mapping(manifest.body, "spec").get("numberOfClusters") == 0:
        yield Dangling(
            manifest.key,
            "/spec/numberOfClusters",
            RULE,
            "the placement asks for 0 clusters, so it takes what it places off all of them",
            "1 or more, or no numberOfClusters for every cluster that fits",
        )


def _bound(manifest: Manifest, referable: Known, sets: frozenset[str]) -> Iterator[Dangling]:
    """Yield a placement that is offered no set, or not those that it names."""
    namespace = manifest.key.namespace
    offered = referable.names(CLUSTER_GROUP, BINDING, namespace) & sets
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


def _referenced(manifest: Manifest, referable: Known) -> Iterator[Dangling]:
    """Yield the placements of a set that are not there; without them nothing goes on."""
    namespace = manifest.key.namespace
    placements = referable.names(CLUSTER_GROUP, "Placement", namespace)
    for position, reference in enumerate(bodies(mapping(manifest.body, "spec"), "placementRefs")):
        name = text(reference, "name")
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
    from reconciler.dialects.ocm.scheduler.plugins import PROFILE  # noqa: PLC0415  # slow

    placement = decode_placement(manifest.body)
    if placement.mode not in ("", ADDITIVE, EXACT):
        message = f"the mode {shown(placement.mode)} is not known, so no cluster is chosen"
        at, expected = "/spec/prioritizerPolicy/mode", f"{ADDITIVE} or {EXACT}"
        yield Dangling(manifest.key, at, "placement-prioritizer", message, expected)
    for position, configuration in enumerate(placement.configurations):
        coordinate = configuration.coordinate
        if coordinate is None or not configuration.weight:
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


CLUSTER = "ManagedCluster"
RULE = "placement-matches-nothing"
EFFECTS = (
    TaintEffect.NO_SELECT,
    TaintEffect.PREFER_NO_SELECT,
    TaintEffect.NO_SELECT_IF_NEW,
)


def known_labels(referable: Known) -> Labelled | None:
    """Return the clusters by their labels; one of no set is in the default one."""
    if Labelled.known(referable, CLUSTER_GROUP, CLUSTER) is None:
        return None
    found = (labels_of(one.body) for one in referable.of_kind(CLUSTER_GROUP, CLUSTER))
    return Labelled.of(CLUSTER, ({SET_LABEL: DEFAULT_SET, **labels} for labels in found))


def doubts_of_placement(
    manifest: Manifest, labelled: Labelled | None, reported: Collection[str] | None
) -> Iterator[Dangling]:
    """Yield what a placement asks for, and no cluster has."""
    key, spec = manifest.key, mapping(manifest.body, "spec")
    for position, predicate in enumerate(bodies(spec, "predicates")):
        required = mapping(predicate, "requiredClusterSelector")
        at = f"/spec/predicates/{position}/requiredClusterSelector"
        labels, place = selector_at(required, at)
        yield from doubts_of_selector(key, labels, place, labelled, RULE)
        claims = mapping_or_none(required, "claimSelector")
        yield from doubts_of_selector(key, claims, f"{at}/claimSelector", None, RULE)
        yield from _expressions(manifest, required, at)
    at = "/spec/tolerations"
    yield from doubts_of_tolerations(key, bodies(spec, "tolerations"), at, EFFECTS)
    for position, configuration in enumerate(decode_placement(manifest.body).configurations):
        add_on = None if configuration.coordinate is None else configuration.coordinate.add_on
        name = "" if add_on is None else f"{add_on.resource_name}/{add_on.score_name}"
        if name and configuration.weight:
            at = f"/spec/prioritizerPolicy/configurations/{position}/scoreCoordinate/addOn"
            yield from missing_score(key, f"{at}/scoreName", name, reported)


def doubts_of_set(manifest: Manifest, labelled: Labelled | None) -> Iterator[Dangling]:
    """Yield a set that no cluster is in; the default one may be empty."""
    cluster_set, at = decode_set(manifest.body), "/spec/clusterSelector"
    if cluster_set.selector_type != EXCLUSIVE:
        selector = mapping(mapping(manifest.body, "spec"), "clusterSelector")
        labels, place = selector_at(selector, at)
        yield from doubts_of_selector(manifest.key, labels, place, labelled, "set-selects-nothing")
        return
    own = LabelSelector(match_labels=((SET_LABEL, cluster_set.name),))
    if labelled is None or cluster_set.name == DEFAULT_SET or labelled.has(own):
        return
    message = f"no {CLUSTER} has the label {SET_LABEL}={cluster_set.name}, so the set is empty"
    expected = proposal(cluster_set.name, labelled.values.get(SET_LABEL, ()), "value of that label")
    yield Dangling(manifest.key, "/metadata/name", "set-selects-nothing", message, expected)


def _expressions(manifest: Manifest, required: Body, at: str) -> Iterator[Dangling]:
    """Yield the expressions that cannot be compiled; with one no cluster is chosen."""
    written = strings(mapping(required, "celSelector"), "celExpressions")
    if not written:
        return
    from reconciler.dialects.ocm.cel.expression import compile_cel  # noqa: PLC0415  # slow

    for position, expression in enumerate(written):
        try:
            compile_cel((expression,))
        except Misconfigured as error:
            said = str(error).partition("\n")[0]
            message = f"the expression cannot be used, so no cluster is chosen: {said}"
            pointer = f"{at}/celSelector/celExpressions/{position}"
            expected = "an expression in CEL that is true of a cluster, with == to compare"
            yield Dangling(manifest.key, pointer, "cel-unusable", message, expected)
