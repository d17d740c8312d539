"""Static weights: what each selected cluster counts where a policy names the weights."""

from collections.abc import Sequence

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import StaticWeight
from reconciler.schedule.columns import places_of
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Mask

VOTES_LIMIT = 128  # ours: as many times 5,000 clusters take about 10 MB


def static_weights(
    rules: tuple[StaticWeight, ...], selected: Mask, members: Members
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return who takes part and the weight of each: the greatest of the rules that mean it.

    The greatest weights come first.
    Clusters without a positive weight are left out; if all are, each weighs 1.

    Source: karmada@f8fdd02 pkg/scheduler/core/util.go `getStaticWeightInfoList`.
    """
    question = rules, selected
    return remember(members.votes, question, lambda: _votes(*question, members), limit=VOTES_LIMIT)


def _votes(
    rules: Sequence[StaticWeight], selected: Mask, members: Members
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    parties: list[int] = []
    weights: list[int] = []
    left = selected
    for rule in sorted(rules, key=lambda rule: rule.weight, reverse=True):
        if rule.weight <= 0 or left == NO_CLUSTERS:
            break
        meant = Mask(members.matching(rule.target) & left)
        left = Mask(left & ~meant)
        parties += places_of(meant)
        weights += [rule.weight] * meant.bit_count()
    if not parties:
        parties = places_of(selected)
        weights = [1] * len(parties)
    return tuple(parties), tuple(weights)
