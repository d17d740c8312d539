"""The status of a ManifestWorkReplicaSet: its counts, of all placements and of each.

Source: ocm@00f84c3 open-cluster-management.io/api work/v1alpha1
types_manifestworkreplicaset.go `ManifestWorkReplicaSetStatus`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import mapping, number

COUNTS = ("total", "applied", "available", "degraded", "desiredTotal", "progressing", "updated")


class PlacementCounts(NamedTuple):
    """What is said of one placement of a set; `counts` are by the words of the status."""

    name: str
    groups: str
    counts: Mapping[str, int]


def known_counts(status: Body) -> Mapping[str, int]:
    """Return the counts of all placements that a status has."""
    summary = mapping(status, "summary")
    return {word: number(summary, word) for word in COUNTS}


def encode_status(
    before: Body,
    conditions: list[Body],
    counts: Mapping[str, int],
    placements: Iterable[PlacementCounts] | None,
) -> Body:
    """Return a status.

    Args:
        before: The status so far.
        conditions: Its conditions now.
        counts: Of all placements; a word that is not there counts nothing.
        placements: Of each, `None` where they stay as they are.
    """
    summary = (
        {} if placements is None else {"placementSummary": [_summary(one) for one in placements]}
    )
    return {**before, "conditions": conditions, **summary, "summary": _whole(counts)}


def _summary(counts: PlacementCounts) -> Body:
    return {
        "name": counts.name,
        "availableDecisionGroups": counts.groups,
        "summary": _whole(counts.counts),
    }


def _whole(counts: Mapping[str, int]) -> Mapping[str, int]:
    return {word: counts.get(word, 0) for word in COUNTS}
