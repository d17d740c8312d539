"""What placements and sets mean, and there is not: labels, expressions, scores, effects."""

from collections.abc import Collection, Iterator

from reconciler.dialects.ocm.api.cluster_sets import (
    DEFAULT_SET,
    EXCLUSIVE,
    SET_LABEL,
    decode_set,
)
from reconciler.dialects.ocm.api.placement import GROUP, decode_placement
from reconciler.dialects.scores.references import missing_score
from reconciler.errors import Misconfigured
from reconciler.manifests.doubtful_selectors import (
    Labelled,
    doubts_of_selector,
    doubts_of_tolerations,
    selector_at,
)
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings
from reconciler.model.labels import LabelSelector, labels_of
from reconciler.model.taints import TaintEffect
from reconciler.model.world import Manifest

CLUSTER = "ManagedCluster"
RULE = "placement-matches-nothing"
EFFECTS = (
    TaintEffect.NO_SELECT,
    TaintEffect.PREFER_NO_SELECT,
    TaintEffect.NO_SELECT_IF_NEW,
)


def known_labels(known: Known) -> Labelled | None:
    """Return the clusters by their labels; one of no set is in the default one."""
    if Labelled.known(known, GROUP, CLUSTER) is None:
        return None
    found = (labels_of(one.body) for one in known.of_kind(GROUP, CLUSTER))
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
    for position, one in enumerate(decode_placement(manifest.body).configurations):
        add_on = None if one.coordinate is None else one.coordinate.add_on
        name = "" if add_on is None else f"{add_on.resource_name}/{add_on.score_name}"
        if name and one.weight:
            at = f"/spec/prioritizerPolicy/configurations/{position}/scoreCoordinate/addOn"
            yield from missing_score(key, f"{at}/scoreName", name, reported)


def doubts_of_set(manifest: Manifest, labelled: Labelled | None) -> Iterator[Dangling]:
    """Yield a set that no cluster is in; the default one may be empty."""
    found, at = decode_set(manifest.body), "/spec/clusterSelector"
    if found.selector_type != EXCLUSIVE:
        selector = mapping(mapping(manifest.body, "spec"), "clusterSelector")
        labels, place = selector_at(selector, at)
        yield from doubts_of_selector(manifest.key, labels, place, labelled, "set-selects-nothing")
        return
    own = LabelSelector(match_labels=((SET_LABEL, found.name),))
    if labelled is None or found.name == DEFAULT_SET or labelled.has(own):
        return
    message = f"no {CLUSTER} has the label {SET_LABEL}={found.name}, so the set is empty"
    expected = proposal(found.name, labelled.values.get(SET_LABEL, ()), "value of that label")
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
