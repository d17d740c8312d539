"""Scores that stand in the namespace of no cluster, where they count in all APIs."""

from collections.abc import Iterable

from reconciler.core.dialects import CLUSTERS
from reconciler.dialects.scores.references import scores_of_none
from reconciler.manifests.references import Dangling, Known
from reconciler.model.settings import settings_in


def scores_without_cluster(known: Known) -> Iterable[Dangling]:
    """Return the scores that no cluster of any API has; where they count in one API, that tells."""
    if not settings_in(known.world).extends_scores:
        return ()
    names = (known.names(group, kind) for group, kind in CLUSTERS)
    return scores_of_none(known, frozenset[str]().union(*names), "cluster")
