"""Which clusters a rollout goes to now, which are late, which are left.

Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1alpha1/rollout.go `RolloutHandler.GetRolloutCluster`,
and pkg/apis/cluster/v1beta1/placement.go `PlacementDecisionClustersTracker`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.ocm.rollout.cluster_status import (
    ClusterRollout,
    Limits,
    RolloutStatus,
    limits_of,
)
from reconciler.dialects.ocm.rollout.decision_groups import ClusterGroups, GroupKey
from reconciler.dialects.ocm.rollout.strategy import PlacementRollout, RolloutType, rollout_size
from reconciler.errors import UserError
from reconciler.model.identity import ClusterName

LOST = frozenset({RolloutStatus.TIME_OUT, RolloutStatus.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutResult:
    """What a rollout does now.

    Attributes:
        clusters: Those that it goes to, or is at; of these only `ToApply` ones get anything new.
        timed_out: Those that took too long.
        removed: Those that are in no group any more.
        breached: Whether more have failed than may.
    """

    clusters: tuple[ClusterRollout, ...] = ()
    timed_out: tuple[ClusterRollout, ...] = ()
    removed: tuple[ClusterRollout, ...] = ()
    breached: bool = False

    def until(self, now: datetime) -> datetime | None:
        """Return when time alone could change it, `None` if never."""
        moments = (one.recheck_at for one in self.clusters)
        return min((one for one in moments if one is not None and one > now), default=None)


def roll_out(
    strategy: PlacementRollout,
    groups: ClusterGroups,
    existing: Iterable[ClusterRollout],
    now: datetime,
) -> RolloutResult:
    """Return what a rollout does now.

    Args:
        strategy: How it goes on.
        groups: The clusters that are decided.
        existing: The clusters that have something already.
        now: Aware UTC.

    Raises:
        UserError: The strategy has a size or a deadline that cannot be read.
    """
    limits = limits_of(strategy, now)
    total = groups.besides()
    named = {name for _, names in total for name in names}
    current: list[ClusterRollout] = []
    removed: list[ClusterRollout] = []
    for one in existing:
        (current if one.cluster in named else removed).append(one)
    result = _current(strategy, groups, current, len(named), limits)
    return RolloutResult(
        clusters=tuple(result.clusters),
        timed_out=tuple(result.timed_out),
        removed=tuple(removed),
        breached=result.breached,
    )


def _current(
    strategy: PlacementRollout,
    groups: ClusterGroups,
    current: Sequence[ClusterRollout],
    total: int,
    limits: Limits,
) -> "_Walk":
    """Return what becomes of the clusters that are decided."""
    if strategy.type is RolloutType.ALL:
        walk = _Walk(current, limits)
        walk.by_cluster(groups.besides(), total, total)
        return walk
    failures = _size("maxFailures", strategy.max_failures, total, 0)
    mandatory = groups.named(strategy.mandatory)
    if mandatory:
        walk = _Walk(current, limits)
        walk.by_group(mandatory, 0)
        if walk.clusters or walk.timed_out:
            return walk
    rest = groups.besides(key.index for key, _ in mandatory)
    walk = _Walk(current, limits)
    if strategy.type is RolloutType.PROGRESSIVE:
        wanted = len({name for _, names in rest for name in names})
        size = _size("maxConcurrency", strategy.max_concurrency, wanted, wanted)
        walk.by_cluster(rest, size, failures)
    else:
        walk.by_group(rest, strategy.max_failures)
    return walk


def _size(field: str, written: int | str | None, total: int, default: int) -> int:
    try:
        return rollout_size(written, total, default)
    except UserError as error:
        raise UserError(f"failed to parse the provided {field}: {error.message}") from None


Groups = Sequence[tuple[GroupKey, tuple[ClusterName, ...]]]


@dataclass(slots=True)
class _Walk:
    """One walk over clusters; it knows all that are decided, whatever groups it is about."""

    current: Sequence[ClusterRollout]
    limits: Limits
    clusters: list[ClusterRollout] = field(default_factory=list)
    timed_out: list[ClusterRollout] = field(default_factory=list)
    breached: bool = False

    def by_cluster(self, groups: Groups, size: int, max_failures: int) -> None:
        """Go on by name, until so many are being rolled out.

        Source: `progressivePerCluster`.
        """
        failures, known = 0, set()
        for one in sorted(self.current, key=lambda one: one.cluster):
            if not one.cluster:
                continue
            known.add(one.cluster)
            judged = one
            if not (self.breached and one.status is RolloutStatus.TO_APPLY):
                judged = self._judge(one)
            if judged.status in LOST:
                failures += 1
                self.breached = failures > max_failures
            if len(self.clusters) >= size:
                return
        if self.breached:
            return
        homes = {name: key for key, names in groups for name in names}
        for name in sorted(homes.keys() - known):
            self.clusters.append(ClusterRollout(cluster=name, group=homes[name]))
            if len(self.clusters) >= size:
                return

    def by_group(self, groups: Groups, max_failures: int | str | None) -> None:
        """Go on group by group, as each of them has nothing left to do.

        Source: `progressivePerGroup`.
        """
        known: dict[ClusterName, RolloutStatus] = {}
        for one in self.current:
            if one.cluster and one.status is not RolloutStatus.TO_APPLY:
                known[one.cluster] = self._judge(one).status
        failures = 0
        for key, names in groups:
            allowed, failed = _size("maxFailures", max_failures, len(names), 0), 0
            for name in names:
                if name not in known:
                    self.clusters.append(ClusterRollout(cluster=name, group=key))
                elif known[name] in LOST:
                    failed += 1
                    self.breached = failed > allowed
            failures += failed
            # a cluster that timed out is not in the list, and so cancels one that is
            if self.breached or len(self.clusters) - failures > 0:
                return

    def _judge(self, one: ClusterRollout) -> ClusterRollout:
        """Put a cluster where it belongs, and return it as it is now."""
        judged, listed = self.limits.judge(one)
        if listed:
            late = judged.status is RolloutStatus.TIME_OUT
            (self.timed_out if late else self.clusters).append(judged)
        return judged
