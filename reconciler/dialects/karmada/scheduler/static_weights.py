"""Static weights: what each selected cluster counts where a policy names the weights."""

from collections.abc import Sequence

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import StaticWeight
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Mask, positions_of

VOTES_LIMIT = 128  # ours: as many times 5,000 clusters take about 10 MB


def static_weights(
    rules: tuple[StaticWeight, ...], selected: Mask, members: Members
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return who takes part and the weight of each: the greatest of the rules that mean it.

    Clusters without a positive weight are left out; if all are, each weighs 1.

    Source: karmada@f8fdd02 pkg/scheduler/core/util.go `getStaticWeightInfoList`.
    """
    question = rules, selected
    return remember(members.votes, question, lambda: _votes(*question, members), limit=VOTES_LIMIT)


def _votes(
    rules: Sequence[StaticWeight], selected: Mask, members: Members
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    votes: dict[int, int] = {}
    left = selected
    for rule in sorted(rules, key=lambda rule: rule.weight, reverse=True):
        if rule.weight <= 0 or left == NO_CLUSTERS:
            break
        meant = Mask(members.matching(rule.target) & left)
        left = Mask(left & ~meant)
        votes |= dict.fromkeys(positions_of(meant), rule.weight)
    votes = votes or dict.fromkeys(positions_of(selected), 1)
    return tuple(votes), tuple(votes.values())
