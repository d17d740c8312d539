"""The clusters that placements and overrides mean, and there are not; what they tolerate."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.policy import PREFERRED, REQUIRED
from reconciler.manifests.doubtful_selectors import (
    Labelled,
    doubts_of_selector,
    doubts_of_tolerations,
    selector_at,
)
from reconciler.manifests.references import Dangling
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.taints import TaintEffect
from reconciler.model.world import Manifest

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
