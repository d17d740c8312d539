"""TopologySpreadConstraints: pick clusters evenly over the values of labels.

Computed once a cycle for each combination of label values, since clusters with the same values get
the same answer.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.policy import DEFAULT_MAX_SKEW, SpreadConstraint
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Levels, Mask, Rejection, mask_of
from reconciler.schedule.inverted_index import SetsByValue

VIOLATION_PENALTY = 1000  # topologyspreadconstraints/plugin.go defaultMaxSkewViolationPenality


@dataclass(frozen=True, slots=True)
class SkewViolation:
    """Picking the cluster would make the spread over `constraint` too uneven."""

    constraint: SpreadConstraint

    def __str__(self) -> str:
        key = json.dumps(self.constraint.topology_key, ensure_ascii=False)
        return (
            f"violated doNotSchedule topology spread constraint {key} "
            f"(max skew {self.constraint.max_skew})"
        )


@dataclass(frozen=True, slots=True)
class Topology:
    """What the constraints say: rejections, and a score for each set of other clusters."""

    rejections: tuple[Rejection, ...] = ()
    scores: Levels = ()


@dataclass(frozen=True, slots=True)
class _Spread:
    """Clusters picked so far by domain of one constraint; least, second least and most."""

    counts: Mapping[str, int]
    least: int
    second: int
    most: int


def assess_topology(
    constraints: tuple[SpreadConstraint, ...], members: Members, placed: Mask
) -> Topology:
    """Return how picking each cluster would change the spread.

    Domains are the values of the label over all clusters, ineligible ones too. A cluster without
    the label violates nothing and scores 0 for that constraint. Hard constraints are judged before
    soft ones, each in the order written, and the first violated one is the reason.

    Args:
        constraints: As written.
        members: Everyone.
        placed: Clusters with a scheduled or bound binding of the present policy.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/utils.go
    `evaluateAllConstraints`.
    """
    if not constraints:
        return Topology()
    ordered = (
        *(constraint for constraint in constraints if not constraint.is_soft),
        *(constraint for constraint in constraints if constraint.is_soft),
    )
    keys = tuple(constraint.topology_key for constraint in ordered)
    spreads = [_spread(members.fleet.labels.get(key), placed) for key in keys]
    rejected: dict[SpreadConstraint, Mask] = {}
    scored: dict[int, Mask] = {}
    for values, clusters in remember(members.domains, keys, lambda: _domains(keys, members)):
        answer = _judge(ordered, values, spreads)
        if isinstance(answer, SpreadConstraint):
            rejected[answer] = Mask(rejected.get(answer, NO_CLUSTERS) | clusters)
        else:
            scored[answer] = Mask(scored.get(answer, NO_CLUSTERS) | clusters)
    return Topology(
        tuple(
            Rejection(mask, SkewViolation(constraint), _remedy(constraint))
            for constraint, mask in rejected.items()
        ),
        tuple(scored.items()),
    )


def _remedy(constraint: SpreadConstraint) -> str:
    return f"stand in another {constraint.topology_key}, or be allowed a greater maxSkew"


def _domains(
    keys: tuple[str, ...], members: Members
) -> tuple[tuple[tuple[str | None, ...], Mask], ...]:
    """Return the clusters by their values of the keys; `None` where the label is missing."""
    found: dict[tuple[str | None, ...], list[int]] = {}
    for position, view in enumerate(members.views):
        values = tuple(view.cluster.labels.get(key) for key in keys)
        found.setdefault(values, []).append(position)
    return tuple((values, mask_of(positions)) for values, positions in found.items())


def _spread(sets: SetsByValue | None, placed: Mask) -> _Spread:
    listed = () if sets is None else sets.listed()
    counts = {value: (mask & placed).bit_count() for value, mask in listed}
    ordered = sorted(counts.values()) or [0]
    return _Spread(counts, ordered[0], ordered[min(1, len(ordered) - 1)], ordered[-1])


def _judge(
    constraints: Iterable[SpreadConstraint],
    values: Sequence[str | None],
    spreads: Sequence[_Spread],
) -> int | SpreadConstraint:
    """Return the score of one combination of values, or the hard constraint that it violates."""
    score = 0
    for constraint, value, spread in zip(constraints, values, spreads, strict=True):
        if value is None:
            continue
        skew, change = _skew_after(spread, spread.counts[value])
        limit = DEFAULT_MAX_SKEW if constraint.max_skew is None else constraint.max_skew
        if skew <= limit:
            score -= change
        elif constraint.is_soft:
            score -= VIOLATION_PENALTY
        else:
            return constraint
    return score


def _skew_after(spread: _Spread, count: int) -> tuple[int, int]:
    """Return the skew if one more cluster were picked in a domain, and how much it changes.

    With one domain only, or all equal, the change is +1, as upstream has it.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/topologyspreadconstraints/utils.go
    `willViolate`.
    """
    skew = spread.most - spread.least
    if skew == 0:
        return 1, 1
    if count == spread.least and spread.least != spread.second:
        return skew - 1, -1
    if count == spread.most:
        return skew + 1, 1
    return skew, 0
