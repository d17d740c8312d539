"""Decisions and their texts, as policy snapshots and bindings hold them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.cluster_decision import (
    NOTHING,
    ClusterDecision,
    encode_score,
    new_decision,
    scored_decision,
)
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import (
    AFFINITY,
    TOPOLOGY,
    RankedCluster,
)

MAX_DECISIONS = 1000  # framework.go clustersDecisionArrayLengthLimitInAPI
MAX_UNSELECTED = 20  # framework.go defaultMaxUnselectedClusterDecisionCount

NotSelected = tuple[str, str]
"""A cluster turned away, and why."""


def picked_decisions(picked: Sequence[RankedCluster]) -> list[ClusterDecision]:
    """Return the decisions for clusters picked by their scores."""
    placed = "Successfully scheduled resources for placement in "
    return _scored(picked, placed, " (", "): picked by scheduling policy", selected=True)


def not_picked_decisions(scored: Sequence[RankedCluster]) -> list[ClusterDecision]:
    """Return the decisions for clusters whose scores were not high enough."""
    return _scored(scored, "Cluster ", " does not score high enough (", ")", selected=False)


def _scored(
    clusters: Sequence[RankedCluster], head: str, middle: str, end: str, *, selected: bool
) -> list[ClusterDecision]:
    """Return one decision a cluster; what tells the scores is shared by those that share them."""
    decisions: list[ClusterDecision] = []
    last: Mapping[str, int] | None = None
    tail, score = "", NOTHING
    quoted = _all_quoted([scored.name for scored in clusters])
    for (cluster, scores), name in zip(clusters, quoted, strict=True):
        if scores is not last:
            last = scores
            affinity, topology = scores.get(AFFINITY, 0), scores.get(TOPOLOGY, 0)
            shown = f"affinity score: {affinity}, topology spread score: {topology}"
            tail, score = f"{middle}{shown}{end}", encode_score(affinity, topology)
        reason = f"{head}{name}{tail}"
        decisions.append(scored_decision(cluster, reason, score, selected=selected))
    return decisions


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
    unseen = (scored for scored in not_picked if scored.name not in seen)
    left_out = tuple(islice(unseen, max(min(room, unselected), 0)))
    decisions += not_picked_decisions(left_out)
    room, unselected = room - len(left_out), unselected - len(left_out)
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


def _quoted(name: str) -> str:
    return f'"{name}"' if _is_plain(name) else json.dumps(name, ensure_ascii=False)


def _all_quoted(names: Sequence[str]) -> list[str]:
    if _is_plain("".join(names)):
        return [f'"{name}"' for name in names]
    return [*map(_quoted, names)]


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace(".", "").isalnum()
