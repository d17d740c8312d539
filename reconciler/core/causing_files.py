"""The edited files that the causes of a decision stand in: the log and the history ask for them."""

from collections.abc import Iterator
from itertools import chain

from reconciler.core.dialects import SURROUNDINGS
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.world import World

MOST_COMMITS = 20  # whose edits are looked at; where there are more, not all are told
GONE = frozenset({CauseKind.REMOVED, CauseKind.NEVER_PROPAGATED, CauseKind.CLUSTER_GONE})
SURROUNDING = frozenset(
    {
        CauseKind.EVICTED,
        CauseKind.CLUSTER_GONE,
        CauseKind.CLUSTERS_CHANGED,
        CauseKind.SCORES_CHANGED,
    }
)
"""Causes that stand for edits of clusters, scores and the like."""


def files_behind(decision: Decision, world: World) -> frozenset[str]:
    """Return the edited files that the causes of a decision stand in."""
    causes = (decision.cause, *decision.cause.also)
    paths = chain.from_iterable(_files_of(cause, decision, world) for cause in causes)
    return frozenset(paths) & world.edited.keys()


def _files_of(cause: Cause, decision: Decision, world: World) -> Iterator[str]:
    """Yield the files that a cause may stand in, as they are and as they were.

    Where it does not say in which, files that are gone may have held anything.
    """
    if cause.kind in GONE and not cause.sources:
        yield from (path for path, held in world.edited.items() if held is None)
    if cause.kind in SURROUNDING and not cause.sources:
        yield from (path for path, held in world.edited.items() if held and held & SURROUNDINGS)
        return
    for key in cause.sources or (decision.key,):
        for found in (world.find(key), world.earlier.get(key)):
            if found is not None:
                yield found.origin.path
