"""Scores by which placements rank clusters."""

from collections.abc import Iterator

from reconciler.dialects.addon_scores.references import ExtendedScores
from reconciler.dialects.kubefleet.api.policy import PREFERRED
from reconciler.dialects.kubefleet.api.score_property import score_in
from reconciler.manifests.references import Dangling
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.world import Manifest

AT = f"/spec/policy/affinity/clusterAffinity/{PREFERRED}"


def doubts_of_sorters(placement: Manifest, scores: ExtendedScores) -> Iterator[Dangling]:
    """Yield that no cluster has a score that a placement sorts by, or that a hub knows none."""
    policy = mapping(mapping(placement.body, "spec"), "policy")
    affinity = mapping(mapping(policy, "affinity"), "clusterAffinity")
    for position, term in enumerate(bodies(affinity, PREFERRED)):
        written = text(mapping(mapping(term, "preference"), "propertySorter"), "name")
        name = score_in(written)
        if name is not None:
            at = f"{AT}/{position}/preference/propertySorter/name"
            yield from scores.doubts(placement.key, at, name, "finds on no cluster", written)
