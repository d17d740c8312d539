"""A rollout: which clusters get the template now, which are late, which are left.

The strategy is decoded with the defaults of the CRD and of upstream's handler. The walk goes
through the clusters of a placement by decision group, and judges how far each one is and how long
it may take.

Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1alpha1/rollout.go `RolloutHandler.GetRolloutCluster`,
`determineRolloutStatus`, `parseTimeout`, and pkg/apis/cluster/v1beta1/placement.go
`PlacementDecisionClustersTracker`.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from reconciler.errors import UserError
from reconciler.manifests.durations import LONGEST, decode_duration, parse_duration
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping_or_none, number, text
from reconciler.model.identity import ClusterName
from reconciler.model.moments import add, span
from reconciler.model.records import dataclass, field, replace

_DEADLINE = re.compile(r"^(([0-9])+[h|m|s])|None$(?!\n)")  # upstream's, looser than it was meant


def parse_deadline(text: str) -> int:
    """Return how long a cluster may take, in nanoseconds; `LONGEST` for ever.

    Raises:
        UserError: It is neither empty, nor `None`, nor a duration; the message is upstream's.

    >>> parse_deadline("None") == LONGEST
    True
    """
    if text in ("", "None"):
        return LONGEST
    if not _DEADLINE.search(text):
        raise UserError("invalid timeout format")
    return parse_duration(text)


DEFAULT: Body = {"type": "All", "all": {}}
MAX_INT32 = 2**31 - 1
_FLOAT = re.compile(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = {"inf", "infinity", "nan"}


class RolloutType(StrEnum):
    """Which clusters go first."""

    ALL = "All"
    PROGRESSIVE = "Progressive"
    PER_GROUP = "ProgressivePerGroup"


BLOCKS = {
    RolloutType.ALL: "all",
    RolloutType.PROGRESSIVE: "progressive",
    RolloutType.PER_GROUP: "progressivePerGroup",
}


@dataclass(frozen=True, slots=True)
class GroupReference:
    """Decision groups by their name, or the one with an index where the name is empty."""

    name: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRollout:
    """A rollout strategy; sizes are counts, or percentages as text.

    Attributes:
        type: Which clusters go first.
        mandatory: Groups that must have succeeded before any other begins.
        max_concurrency: How many clusters at a time, `None` for all.
        max_failures: How many may fail, `None` for none.
        min_success_nanoseconds: How long a cluster must have succeeded.
        progress_deadline: How long a cluster may take, as text; `""` for ever.
    """

    type: RolloutType = RolloutType.ALL
    mandatory: tuple[GroupReference, ...] = ()
    max_concurrency: int | str | None = None
    max_failures: int | str | None = None
    min_success_nanoseconds: int = 0
    progress_deadline: str = ""

    @property
    def is_at_once(self) -> bool:
        """Whether all clusters go at once."""
        return self.type is RolloutType.ALL


def decode_strategy(body: Body | None) -> PlacementRollout:
    """Return the strategy of a reference to a placement; without any all clusters go at once.

    Raises:
        UserError: It is of no known type, or a field cannot be read.
    """
    written = DEFAULT if body is None else body
    named = text(written, "type") if "type" in written else RolloutType.ALL.value
    if named not in {one.value for one in RolloutType}:
        raise UserError(f"incorrect rollout strategy type {named}")
    kind = RolloutType(named)
    block = mapping_or_none(written, BLOCKS[kind])
    if block is None:
        return PlacementRollout(type=kind)
    soak = block.get("minSuccessTime", "0")
    groups = bodies(block, "mandatoryDecisionGroups") if kind is not RolloutType.ALL else ()
    deadline = block.get("progressDeadline", "None")
    return PlacementRollout(
        type=kind,
        mandatory=tuple(
            GroupReference(text(one, "groupName"), number(one, "groupIndex")) for one in groups
        ),
        max_concurrency=_written_size(block, "maxConcurrency")
        if kind is RolloutType.PROGRESSIVE
        else None,
        max_failures=_written_size(block, "maxFailures"),
        min_success_nanoseconds=decode_duration(soak),
        progress_deadline=text({"progressDeadline": deadline}, "progressDeadline"),
    )


def _written_size(block: Body, field: str) -> int | str | None:
    value = block.get(field)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INT32:
        raise UserError("must be a number of clusters, or a percentage such as 20%", field=field)
    return value


def rollout_size(written: int | str | None, total: int, default: int) -> int:
    """Return how many clusters a size stands for; one out of range counts as the default.

    Raises:
        UserError: It is text, and no percentage; the message is upstream's.

    Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1alpha1/rollout.go `calculateRolloutSize`.

    >>> rollout_size("7%", 100, 100), rollout_size(10, 5, 0)
    (8, 0)
    """
    if written is None:
        return default
    size = float(written) if isinstance(written, int) else math.nan
    if isinstance(written, str):
        if not written.endswith("%"):
            why = "is an invalid maximum threshold value: string is not a percentage"
            raise UserError(f"'{written}' {why}")
        size = _parse_float(written[:-1]) / 100 * total
    if not math.isfinite(size):
        return default
    whole = math.ceil(size)
    return whole if 0 < whole <= total else default


def _parse_float(written: str) -> float:
    if _FLOAT.fullmatch(written) or written.lower().lstrip("+-") in _INFINITE:
        return float(written)
    raise UserError(f'strconv.ParseFloat: parsing "{written}": invalid syntax')


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """A decision group; the name may be empty."""

    name: str = ""
    index: int = 0


UNNAMED_FIRST = GroupKey()


class ClusterGroups:
    """Decision groups with their clusters, each sorted by name."""

    __slots__ = ("_clusters",)

    def __init__(self, groups: Iterable[tuple[GroupKey, Iterable[ClusterName]]]) -> None:
        """Merge what stands under one key."""
        found: dict[GroupKey, set[ClusterName]] = {}
        for key, names in groups:
            found.setdefault(key, set()).update(names)
        self._clusters: Mapping[GroupKey, tuple[ClusterName, ...]] = {
            key: tuple(sorted(found[key])) for key in sorted(found)
        }

    def besides(
        self, indices: Iterable[int] = ()
    ) -> Sequence[tuple[GroupKey, tuple[ClusterName, ...]]]:
        """Return the groups by index, but for some.

        Upstream counts from 0 to the number of its groups: what a gap leaves beyond does not exist.
        """
        by_index = {key.index: key for key in self._clusters}
        left_out = set(indices)
        wanted = (index for index in range(len(by_index)) if index in by_index)
        keys = (by_index[index] for index in wanted if index not in left_out)
        return [(key, self._clusters[key]) for key in keys]

    def named(
        self, references: Iterable[GroupReference]
    ) -> Sequence[tuple[GroupKey, tuple[ClusterName, ...]]]:
        """Return the groups that references name, by index; what they do not find is left out."""
        names = {one.name for one in references if one.name}
        indices = {one.index for one in references if not one.name}
        keys = {key for key in self._clusters if key.name in names or key.index in indices}
        return [(key, self._clusters[key]) for key in sorted(keys, key=lambda key: key.index)]

    def names(self) -> frozenset[ClusterName]:
        """Return the clusters of all groups."""
        return frozenset(name for names in self._clusters.values() for name in names)


class RolloutStatus(StrEnum):
    """How far a cluster is."""

    TO_APPLY = "ToApply"
    PROGRESSING = "Progressing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TIME_OUT = "TimeOut"
    SKIP = "Skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRollout:
    """One cluster in a rollout.

    Attributes:
        cluster: Its name.
        group: The decision group that it is in.
        status: How far it is.
        changed_at: Since when it is there, `None` if that is not known.
        recheck_at: When time alone changes it, `None` if never.
    """

    cluster: ClusterName
    group: GroupKey = UNNAMED_FIRST
    status: RolloutStatus = RolloutStatus.TO_APPLY
    changed_at: datetime | None = None
    recheck_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How long clusters may take, and must have succeeded; `None` for no limit."""

    now: datetime
    soak: timedelta
    deadline: timedelta | None

    def judge(self, rollout: ClusterRollout) -> tuple[ClusterRollout, bool]:
        """Return a cluster as it is now, and whether anything is still to be done about it."""
        base = rollout.changed_at or self.now
        match rollout.status:
            case RolloutStatus.TO_APPLY:
                return rollout, True
            case RolloutStatus.SUCCEEDED:
                done_at = add(base, self.soak)
                if self.now < done_at:
                    return replace(rollout, recheck_at=done_at), True
                return rollout, False
            case RolloutStatus.PROGRESSING | RolloutStatus.FAILED:
                if self.deadline is None:
                    return replace(rollout, recheck_at=None), True
                late_at = add(base, self.deadline)
                judged = replace(rollout, recheck_at=late_at)
                if self.now < late_at:
                    return judged, True
                return replace(judged, status=RolloutStatus.TIME_OUT), True
        return rollout, False


def limits_of(strategy: PlacementRollout, now: datetime) -> Limits:
    """Return the limits of a strategy; one of all clusters at once asks for no soak.

    Raises:
        UserError: The deadline cannot be read.
    """
    deadline = parse_deadline(strategy.progress_deadline)
    soak = strategy.min_success_nanoseconds
    if strategy.type is RolloutType.ALL or soak == LONGEST:  # upstream's sum overflows
        soak = 0
    return Limits(now, _span(soak), None if deadline == LONGEST else _span(deadline))


def _span(nanoseconds: int) -> timedelta:
    return span(microseconds=nanoseconds // 1000)


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
    for rollout in existing:
        (current if rollout.cluster in named else removed).append(rollout)
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
    failures = _parsed_size("maxFailures", strategy.max_failures, total, 0)
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
        size = _parsed_size("maxConcurrency", strategy.max_concurrency, wanted, wanted)
        walk.by_cluster(rest, size, failures)
    else:
        walk.by_group(rest, strategy.max_failures)
    return walk


def _parsed_size(field: str, written: int | str | None, total: int, default: int) -> int:
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
        failures, finished = 0, set()
        for rollout in sorted(self.current, key=lambda one: one.cluster):
            if not rollout.cluster:
                continue
            finished.add(rollout.cluster)
            judged = rollout
            if not (self.breached and rollout.status is RolloutStatus.TO_APPLY):
                judged = self._judge(rollout)
            if judged.status in LOST:
                failures += 1
                self.breached = failures > max_failures
            if len(self.clusters) >= size:
                return
        if self.breached:
            return
        homes = {name: key for key, names in groups for name in names}
        for name in sorted(homes.keys() - finished):
            self.clusters.append(ClusterRollout(cluster=name, group=homes[name]))
            if len(self.clusters) >= size:
                return

    def by_group(self, groups: Groups, max_failures: int | str | None) -> None:
        """Go on group by group, as each of them has nothing left to do.

        Source: `progressivePerGroup`.
        """
        statuses: dict[ClusterName, RolloutStatus] = {}
        for rollout in self.current:
            if rollout.cluster and rollout.status is not RolloutStatus.TO_APPLY:
                statuses[rollout.cluster] = self._judge(rollout).status
        failures = 0
        for key, names in groups:
            allowed, failed = _parsed_size("maxFailures", max_failures, len(names), 0), 0
            for name in names:
                if name not in statuses:
                    self.clusters.append(ClusterRollout(cluster=name, group=key))
                elif statuses[name] in LOST:
                    failed += 1
                    self.breached = failed > allowed
            failures += failed
            # a cluster that timed out is not in the list, and so cancels one that is
            if self.breached or len(self.clusters) - failures > 0:
                return

    def _judge(self, rollout: ClusterRollout) -> ClusterRollout:
        """Put a cluster where it belongs, and return it as it is now."""
        judged, listed = self.limits.judge(rollout)
        if listed:
            late = judged.status is RolloutStatus.TIME_OUT
            (self.timed_out if late else self.clusters).append(judged)
        return judged
