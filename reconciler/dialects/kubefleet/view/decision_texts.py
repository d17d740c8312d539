"""Decisions and their texts, as policy snapshots and bindings hold them."""

import json
from collections.abc import Iterable, Sequence
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.cluster_decision import (
    ClusterDecision,
    encode_score,
    new_decision,
    scored_decision,
)
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName

MAX_DECISIONS = 1000  # framework.go clustersDecisionArrayLengthLimitInAPI
MAX_UNSELECTED = 20  # framework.go defaultMaxUnselectedClusterDecisionCount

NotSelected = tuple[str, str]
"""A cluster turned away, and why."""


def picked_decision(scored: RankedCluster) -> ClusterDecision:
    """Return the decision for a cluster picked by its scores."""
    return _picked(scored.name, _scores(scored), _score(scored))


def picked_decisions(names: Iterable[ClusterName], scored: RankedCluster) -> list[ClusterDecision]:
    """Return the decisions for clusters that were picked and score like this one."""
    scores, score = _scores(scored), _score(scored)
    return [_picked(name, scores, score) for name in names]


def _picked(name: ClusterName, scores: str, score: Body) -> ClusterDecision:
    reason = (
        f"Successfully scheduled resources for placement in {_quoted(name)} "
        f"({scores}): picked by scheduling policy"
    )
    return scored_decision(name, reason, score, selected=True)


def not_picked_decision(scored: RankedCluster) -> ClusterDecision:
    """Return the decision for a cluster whose scores were not high enough."""
    reason = f"Cluster {_quoted(scored.name)} does not score high enough ({_scores(scored)})"
    return scored_decision(scored.name, reason, _score(scored), selected=False)


def filtered_decision(name: str, reason: str) -> ClusterDecision:
    """Return the decision for a cluster that a filter turned away."""
    return new_decision(name, f"ClusterUnschedulable, {reason}", selected=False)


def fixed_decision(name: str) -> ClusterDecision:
    """Return the decision for a cluster that the policy names."""
    placed = f"Successfully scheduled resources for placement in {_quoted(name)}"
    return new_decision(name, f"{placed}: picked by scheduling policy", selected=True)


def invalid_decision(name: str, reason: str) -> ClusterDecision:
    """Return the decision for a cluster that the policy names and that cannot receive resources."""
    refused = f"Cluster {_quoted(name)} is not eligible for resource placement yet: {reason}"
    return new_decision(name, refused, selected=False)


def missing_decision(name: str) -> ClusterDecision:
    """Return the decision for a name that no cluster has."""
    return new_decision(name, f"Specified cluster {_quoted(name)} is not found", selected=False)


def list_decisions(
    existing: Iterable[Sequence[Binding]],
    not_picked: Iterable[RankedCluster] = (),
    filtered: Sequence[NotSelected] = (),
) -> tuple[ClusterDecision, ...]:
    """Return the decisions that a policy snapshot shows.

    First those of the selected bindings as recorded, at most 1000; then clusters not picked and
    clusters turned away, at most 20 together. A cluster listed already is not listed again, but one
    that was turned away uses up one of the 20 places all the same.

    Args:
        existing: Groups of selected bindings, in the order of listing.
        not_picked: Best first; asked only as far as there is room.
        filtered: Ascending by name.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go
    `newSchedulingDecisionsFromBindings`.
    """
    decisions: list[ClusterDecision] = []
    seen = set[str]()
    room, unselected = MAX_DECISIONS, MAX_UNSELECTED
    for group in existing:
        taken = group[: max(room, 0)]
        decisions += map(attrgetter("decision"), taken)
        seen.update(map(attrgetter("target"), taken))
        room -= len(group)
        if room <= 0:
            break
    for scored in not_picked:
        if room == 0 or unselected == 0:
            break
        if scored.name not in seen:
            decisions.append(not_picked_decision(scored))
            room, unselected = room - 1, unselected - 1
    for name, reason in filtered[: max(min(unselected, room), 0)]:
        if name not in seen:
            decisions.append(filtered_decision(name, reason))
    return tuple(decisions)


def same_decisions(present: Sequence[ClusterDecision], desired: Sequence[ClusterDecision]) -> bool:
    """Return whether two lists hold the same decisions, in whatever order.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `equalDecisions`.
    """
    if len(present) != len(desired):
        return False
    by_cluster = {decision.cluster: _content(decision) for decision in desired}
    return all(by_cluster.get(decision.cluster) == _content(decision) for decision in present)


def recorded_score(decision: ClusterDecision) -> tuple[int, int, int]:
    """Return how a recorded decision ranks: none before any score, then topology, then affinity.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `sortByClusterScoreAndName`.
    """
    score = decision.score
    return (0, 0, 0) if score is None else (1, *score)


def _content(decision: ClusterDecision) -> tuple[bool, tuple[int, int, int], str]:
    return decision.selected, recorded_score(decision), decision.reason


def _score(scored: RankedCluster) -> Body:
    return encode_score(scored.affinity, scored.topology)


def _scores(scored: RankedCluster) -> str:
    return f"affinity score: {scored.affinity}, topology spread score: {scored.topology}"


def _quoted(name: str) -> str:
    plain = name.isascii() and name.replace("-", "").replace(".", "").isalnum()
    return f'"{name}"' if plain else json.dumps(name, ensure_ascii=False)
