"""Static weights: what each selected cluster counts where a policy names the weights."""

from collections.abc import Sequence

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import StaticWeight
from reconciler.schedule.framework import NO_CLUSTERS, Mask, positions_of


def static_weights(
    rules: Sequence[StaticWeight], selected: Mask, members: Members
) -> dict[int, int]:
    """Return the weight of each selected cluster: the greatest of the rules that mean it.

    Clusters without a positive weight are left out; if all are, each weighs 1.

    Source: karmada@f8fdd02 pkg/scheduler/core/util.go `getStaticWeightInfoList`.
    """
    votes: dict[int, int] = {}
    left = selected
    for rule in sorted(rules, key=lambda rule: rule.weight, reverse=True):
        if rule.weight <= 0 or left == NO_CLUSTERS:
            break
        meant = Mask(members.matching(rule.target) & left)
        left = Mask(left & ~meant)
        votes |= dict.fromkeys(positions_of(meant), rule.weight)
    return votes or dict.fromkeys(positions_of(selected), 1)
