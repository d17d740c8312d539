"""Scores as properties: names of a `propertySorter` that are ours, and that mean nothing to a hub.

Unlike upstream: `score.reconciler.dev/<resource>.<score>` sorts by that score of each cluster,
where the configuration says `scores.extend: true`. Elsewhere it is a property that no cluster has.
"""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.policy import PICK_N, PREFERRED, Policy
from reconciler.dialects.scores.reports import ScoreName
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text

PREFIX = "score.reconciler.dev/"
TERMS = f"/spec/policy/affinity/clusterAffinity/{PREFERRED}"


def score_in(name: str) -> ScoreName | None:
    """Return the score that a property stands for, `None` if it is one of upstream's.

    The score is what follows the last dot: names of resources may have some.

    >>> score_in("score.reconciler.dev/usage.cpu"), score_in("example.com/rank")
    (ScoreName(resource='usage', score='cpu'), None)
    """
    resource, dot, score = name.removeprefix(PREFIX).rpartition(".")
    return ScoreName(resource, score) if dot and name.startswith(PREFIX) else None


def scores_of(policy: Policy) -> frozenset[ScoreName]:
    """Return the scores that a policy ranks clusters by."""
    sorters = (one.term.sorter for one in policy.preferred if policy.placement_type == PICK_N)
    found = (score_in(sorter.name) for sorter in sorters if sorter is not None)
    return frozenset(one for one in found if one is not None)


def written_scores(placement: Body) -> Iterator[tuple[str, str, ScoreName]]:
    """Yield where a placement names scores to sort by, how they are written, and which they are."""
    policy = mapping(mapping(placement, "spec"), "policy")
    affinity = mapping(mapping(policy, "affinity"), "clusterAffinity")
    for position, term in enumerate(bodies(affinity, PREFERRED)):
        written = text(mapping(mapping(term, "preference"), "propertySorter"), "name")
        name = score_in(written)
        if name is not None:
            yield f"{TERMS}/{position}/preference/propertySorter/name", written, name
