"""The triggers of a round: what all rebalancers demand of each target, joined."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.core.changes import LimitOverride
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.joined_demands import (
    JoinedDemand,
    TargetDemand,
    join_demands,
    overridden_limits,
)

Demands = Mapping[ObjectKey, TargetDemand]
"""What one rebalancer demands, by the key of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedTriggers:
    """What is demanded of each target.

    Attributes:
        triggers: Target to the trigger that counts.
        overrides: The limits that do not hold in this round, sorted.
    """

    triggers: Mapping[ObjectKey, RescheduleTrigger] = field(default_factory=dict)
    overrides: tuple[LimitOverride, ...] = ()


def join_triggers(
    demanding: Mapping[ObjectKey, Demands], allowed: Mapping[ObjectKey, Mapping[ObjectKey, int]]
) -> JoinedTriggers:
    """Join the demands of all rebalancers and triggers.

    Args:
        demanding: Rebalancer to what it demands.
        allowed: Rebalancer to what its limit lets go now, of the targets that have more to move.
    """
    demands: dict[ObjectKey, dict[str, TargetDemand]] = defaultdict(dict)
    limits: dict[ObjectKey, dict[str, int]] = defaultdict(dict)
    for key, wanted in demanding.items():
        for target, demand in wanted.items():
            demands[target][_name(key)] = demand
    for key, counts in allowed.items():
        for target, count in counts.items():
            limits[target][_name(key)] = count
    names = {_name(key): key for key in demanding}
    joined = {target: join_demands(found) for target, found in demands.items()}
    overrides = (
        LimitOverride(target, limit)
        for target in joined.keys() & limits.keys()
        for limit in overridden_limits(joined[target], limits[target])
    )
    return JoinedTriggers(
        triggers={target: _trigger(found, names) for target, found in joined.items()},
        overrides=tuple(sorted(overrides)),
    )


def _trigger(joined: JoinedDemand, names: Mapping[str, ObjectKey]) -> RescheduleTrigger:
    demand, askers = joined.demand, tuple(names[who] for who in joined.by)
    return RescheduleTrigger(
        demand.at, ", ".join(joined.by), demand.budget, demand.fresh, askers=askers
    )


def _name(key: ObjectKey) -> str:
    """Return a rebalancer or trigger as people call it."""
    return f"{key.kind} {key.name}"
