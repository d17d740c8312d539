"""Decisions and their texts, as policy snapshots and bindings hold them."""

import json
from collections.abc import Iterable, Sequence
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.model.body import Body
from reconciler.model.fields import mapping_or_none, number, text
from reconciler.model.identity import ClusterName

MAX_DECISIONS = 1000  # framework.go clustersDecisionArrayLengthLimitInAPI
MAX_UNSELECTED = 20  # framework.go defaultMaxUnselectedClusterDecisionCount

NotSelected = tuple[str, str]
"""A cluster turned away, and why."""


def picked_decision(scored: RankedCluster) -> Body:
    """Return the decision for a cluster picked by its scores."""
    (decision,) = picked_decisions((scored.name,), scored)
    return decision


def picked_decisions(names: Iterable[ClusterName], scored: RankedCluster) -> list[Body]:
    """Return the decisions for clusters that were picked and score like this one."""
    score, scores = _score(scored), _scores(scored)
    return [
        {
            "clusterName": name,
            "selected": True,
            "clusterScore": score,
            "reason": f"Successfully scheduled resources for placement in {_quoted(name)} "
            f"({scores}): picked by scheduling policy",
        }
        for name in names
    ]


def not_picked_decision(scored: RankedCluster) -> Body:
    """Return the decision for a cluster whose scores were not high enough."""
    return {
        "clusterName": scored.name,
        "selected": False,
        "clusterScore": _score(scored),
        "reason": f"Cluster {_quoted(scored.name)} does not score high enough ({_scores(scored)})",
    }


def filtered_decision(name: str, reason: str) -> Body:
    """Return the decision for a cluster that a filter turned away."""
    return {
        "clusterName": name,
        "selected": False,
        "reason": f"ClusterUnschedulable, {reason}",
    }


def fixed_decision(name: str) -> Body:
    """Return the decision for a cluster that the policy names."""
    return {
        "clusterName": name,
        "selected": True,
        "reason": f"Successfully scheduled resources for placement in {_quoted(name)}: "
        "picked by scheduling policy",
    }


def invalid_decision(name: str, reason: str) -> Body:
    """Return the decision for a cluster that the policy names and that cannot receive resources."""
    return {
        "clusterName": name,
        "selected": False,
        "reason": f"Cluster {_quoted(name)} is not eligible for resource placement yet: {reason}",
    }


def missing_decision(name: str) -> Body:
    """Return the decision for a name that no cluster has."""
    return {
        "clusterName": name,
        "selected": False,
        "reason": f"Specified cluster {_quoted(name)} is not found",
    }


def list_decisions(
    existing: Iterable[Sequence[Binding]],
    not_picked: Iterable[RankedCluster] = (),
    filtered: Sequence[NotSelected] = (),
) -> tuple[Body, ...]:
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
    decisions: list[Body] = []
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


def same_decisions(present: Sequence[Body], desired: Sequence[Body]) -> bool:
    """Return whether two lists hold the same decisions, in whatever order.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `equalDecisions`.
    """
    if len(present) != len(desired):
        return False
    by_cluster = {text(decision, "clusterName"): _content(decision) for decision in desired}
    return all(
        by_cluster.get(text(decision, "clusterName")) == _content(decision) for decision in present
    )


def recorded_score(decision: Body) -> tuple[int, int, int]:
    """Return how a recorded decision ranks: none before any score, then topology, then affinity.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `sortByClusterScoreAndName`.
    """
    score = mapping_or_none(decision, "clusterScore")
    if score is None:
        return (0, 0, 0)
    return (1, number(score, "priorityScore"), number(score, "affinityScore"))


def _content(decision: Body) -> tuple[bool, tuple[int, int, int], str]:
    selected = decision.get("selected") is True
    return selected, recorded_score(decision), text(decision, "reason")


def _score(scored: RankedCluster) -> Body:
    return {"affinityScore": scored.affinity, "priorityScore": scored.topology}


def _scores(scored: RankedCluster) -> str:
    return f"affinity score: {scored.affinity}, topology spread score: {scored.topology}"


def _quoted(name: str) -> str:
    plain = name.isascii() and name.replace("-", "").replace(".", "").isalnum()
    return f'"{name}"' if plain else json.dumps(name, ensure_ascii=False)
