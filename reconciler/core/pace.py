"""How fast decisions take effect: freeze windows, and a cap on rebalanced replicas an hour.

Only what may wait waits: rebalances, new placements in a freeze, and failover where the freeze says
so. Evictions, failover and taints never count and are never held by the cap.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.core.freeze import Freeze, decode_freeze
from reconciler.core.safety_record import HOUR, SafetyRecord
from reconciler.model.decision import CauseKind, Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, earliest
from reconciler.model.settings import Settings
from reconciler.model.wait import Wait

FREEZE, LIMIT = "freeze", "limit"
WAITS = {FREEZE: "it waits for the end of a freeze", LIMIT: "it waits for room in this hour"}
REBALANCED = frozenset({CauseKind.REBALANCED, CauseKind.RETRIED})
FAILOVER = frozenset({CauseKind.EVICTED, CauseKind.CLUSTER_GONE, CauseKind.CLUSTERS_CHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """What waits.

    Attributes:
        rebalances: The targets whose rebalance waits, and for what.
        decisions: The objects whose decision waits though it was made, and for what.
        moved: Replicas that are rebalanced now.
        until: When time alone would change this, `None` for never.
        waits: The same for people.
    """

    rebalances: Mapping[ObjectKey, str] = field(default_factory=dict)
    decisions: Mapping[ObjectKey, str] = field(default_factory=dict)
    moved: int = 0
    until: datetime | None = None
    waits: tuple[Wait, ...] = ()

    def beside(self, other: "Pacing") -> "Pacing":
        """Return this and what another says besides."""
        return Pacing(
            rebalances={**self.rebalances, **other.rebalances},
            decisions={**self.decisions, **other.decisions},
            moved=other.moved,
            until=earliest(self.until, other.until),
            waits=tuple(sorted((*self.waits, *other.waits))),
        )

    @property
    def waiting(self) -> Mapping[ObjectKey, str]:
        """All that waits, and for what."""
        return {**self.decisions, **self.rebalances}


NO_WAITS = Pacing()


def pace(
    decisions: Iterable[Decision], settings: Settings, record: SafetyRecord, now: datetime
) -> Pacing:
    """Return which of some decisions wait.

    A rebalance that alone is more than the cap goes when nothing else went within the hour, or
    else it would never go.

    Args:
        decisions: Those of the pass.
        settings: Of the repository.
        record: What was rebalanced before.
        now: The moment of the pass.
    """
    freeze = decode_freeze(settings)
    paced = [one for one in decisions if _may_wait(one, freeze)]
    if not paced:
        return Pacing()
    ends_at = freeze.ends_at(now)
    if ends_at is not None:
        return _frozen(paced, ends_at)
    counted = [one for one in paced if _is_counted(one)]
    return _limited(counted, settings, record, now, freeze.next_start(now))


def replicas_moved(decision: Decision) -> int:
    """Return how many replicas a decision starts somewhere; what has none counts once a cluster."""
    before = dict(decision.before)
    return sum(
        max(0, count - before.get(name, 0)) if count else int(name not in before)
        for name, count in decision.after
    )


def _may_wait(decision: Decision, freeze: Freeze) -> bool:
    """Return whether a freeze or the cap may have a decision wait."""
    kind = decision.cause.kind
    if kind in REBALANCED or (freeze.windows and not decision.before and decision.after):
        return True
    return freeze.holds_failover and (kind in FAILOVER or bool(decision.evicted))


def _is_counted(decision: Decision) -> bool:
    """Return whether a decision counts as rebalanced."""
    return decision.cause.kind in REBALANCED and not decision.evicted


def _frozen(paced: Iterable[Decision], ends_at: datetime) -> Pacing:
    """Have everything wait until a freeze is over."""
    paced = list(paced)
    return Pacing(
        rebalances={one.key: FREEZE for one in paced if one.cause.kind in REBALANCED},
        decisions={one.key: FREEZE for one in paced if one.cause.kind not in REBALANCED},
        until=ends_at,
        waits=tuple(_wait(one, ends_at, WAITS[FREEZE]) for one in paced),
    )


def _limited(
    counted: Iterable[Decision],
    settings: Settings,
    record: SafetyRecord,
    now: datetime,
    starts_at: datetime | None,
) -> Pacing:
    """Have rebalances wait that are over the cap of this hour."""
    recent = record.within_hour(now)
    used = sum(one.replicas for one in recent)
    cap = settings.safety.max_rebalanced_replicas_per_hour
    waiting: list[Decision] = []
    moved = 0
    for decision in counted:
        count = replicas_moved(decision)
        if cap is not None and count and used + moved and used + moved + count > cap:
            waiting.append(decision)
        else:
            moved += count
    ends = [add(one.at, HOUR) for one in recent] + ([add(now, HOUR)] if moved else [])
    frees_at = min(ends, default=None)
    said = f"{used + moved} of {cap} replicas were rebalanced within the hour"
    return Pacing(
        rebalances={one.key: LIMIT for one in waiting},
        moved=0 if cap is None else moved,
        until=earliest(frees_at if cap is not None else None, starts_at),
        waits=tuple(_wait(one, frees_at, said) for one in waiting if frees_at is not None),
    )


def _wait(decision: Decision, until: datetime, reason: str) -> Wait:
    """Return one wait for people."""
    rebalanced = decision.cause.kind in REBALANCED
    then = "it is rebalanced" if rebalanced else "it takes effect"
    return Wait(until=until, key=decision.key, subject=decision.subject, reason=reason, then=then)
