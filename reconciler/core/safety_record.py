"""What paces decisions, as `safety.yaml` of the outputs says it: what was moved, and what waits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.manifests.paths import SAFETY
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, format_moment, parse_moment
from reconciler.model.world import Manifest

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, order=True)
class Moved:
    """So many replicas were rebalanced at a moment."""

    at: datetime
    replicas: int


@dataclass(frozen=True, slots=True, order=True)
class Held:
    """A decision on an object that waits since a moment, and for what."""

    key: ObjectKey
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyRecord:
    """What a pass left: rebalances of the last hour, and what waits; all sorted.

    `projected` are the APIs that have something on clusters of other APIs.
    """

    moved: tuple[Moved, ...] = ()
    held: tuple[Held, ...] = ()
    projected: tuple[str, ...] = ()

    def within_hour(self, now: datetime) -> tuple[Moved, ...]:
        """Return the rebalances of the hour before a moment."""
        return tuple(one for one in self.moved if add(one.at, HOUR) > now)


def safety_record(outputs: Mapping[ObjectKey, Manifest]) -> SafetyRecord:
    """Return what earlier passes left."""
    output = outputs.get(SAFETY)
    status: Body = {} if output is None else mapping(output.body, "status")
    return SafetyRecord(
        moved=tuple(
            Moved(parse_moment(text(one, "at")), number(one, "replicas"))
            for one in bodies(status, "rebalanced")
        ),
        held=tuple(
            Held(_key(one), text(one, "reason"), parse_moment(text(one, "since")))
            for one in bodies(status, "waiting")
        ),
        projected=strings(status, "projected"),
    )


def next_record(
    before: SafetyRecord,
    waiting: Mapping[ObjectKey, str],
    moved: int,
    projected: tuple[str, ...],
    now: datetime,
) -> SafetyRecord:
    """Return what a pass leaves; the record before where that has nothing new to say.

    Args:
        before: What the pass found.
        waiting: What waits, and for what.
        moved: How many replicas it rebalanced.
        projected: The APIs that have something on clusters of other APIs, sorted.
        now: Its moment.
    """
    known = {(one.key, one.reason): one.since for one in before.held}
    held = tuple(
        Held(key, reason, known.get((key, reason), now)) for key, reason in sorted(waiting.items())
    )
    if not moved and held == before.held and projected == before.projected:
        return before
    recent = before.within_hour(now)
    return SafetyRecord(
        moved=(*recent, Moved(now, moved)) if moved else recent, held=held, projected=projected
    )


def safety_body(record: SafetyRecord) -> Body | None:
    """Return the file, `None` where it would say nothing."""
    if not record.moved and not record.held and not record.projected:
        return None
    status: dict[str, object] = {
        "rebalanced": [
            {"at": format_moment(one.at), "replicas": one.replicas} for one in record.moved
        ],
        "waiting": [_held(one) for one in record.held],
    }
    if record.projected:
        status["projected"] = list(record.projected)
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": SAFETY.kind,
        "metadata": {"name": SAFETY.name},
        "status": status,
    }


def _held(one: Held) -> Body:
    key = one.key
    return {
        "group": key.group,
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "reason": one.reason,
        "since": format_moment(one.since),
    }


def _key(body: Body) -> ObjectKey:
    return ObjectKey(
        text(body, "group"), text(body, "kind"), text(body, "namespace"), text(body, "name")
    )
