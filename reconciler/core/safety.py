"""The brake on removals, and the pace of decisions: freeze windows and an hourly cap on rebalances.

A pass that would take away too much takes away nothing, and asks. Too much is more than the limit
from ten placements on, and all there is from three on; a limit of 100 percent turns both off.
Removed means: placed before, on no cluster afterwards, and either the object itself is gone or the
files of all its clusters are. Moves, evictions, taints and expiry never count. What is never
propagated and was placed all the same, by an earlier version or setting, is held at any number.

Only what may wait waits: rebalances, new placements in a freeze, and failover where the freeze says
so. Evictions, failover and taints never count and are never held by the cap on rebalanced replicas.
`safety.yaml` of the outputs records what was moved, and what waits.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from reconciler.core.dialects import PLACED, dialect_of
from reconciler.core.freeze import Freeze, decode_freeze
from reconciler.core.record import recorded_faults
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import SAFETY
from reconciler.model.body import Body
from reconciler.model.decision import CauseKind, Decision, Wait
from reconciler.model.fields import bodies, mapping, number, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, earliest, format_moment, parse_moment
from reconciler.model.records import dataclass, field
from reconciler.model.settings import CONFIGURATION_PATH, Safety, Settings
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, Manifest, World

FEWEST = 10  # placements from which on a share says something
FEWEST_OF_ALL = 3  # placements from which on all of them are too many
NAMED = 3
REMOVAL_BRAKED = "removal-braked"


@dataclass(frozen=True, slots=True)
class Brake:
    """What is held back: the objects, whose outputs stay as they are, and what to tell."""

    held: frozenset[ObjectKey] = frozenset()
    faults: tuple[Fault, ...] = ()


def brake(world: World, decisions: Iterable[Decision], safety: Safety) -> Brake:
    """Hold removals back if they are more than the limit and exactly these are not allowed."""
    removed = [decision for decision in decisions if is_removed(decision, world)]
    limit = safety.max_removed_percent
    standing = _standing(removed, world) if limit < 100 else None
    if standing is not None and standing.allow not in safety.allow:
        return Brake(held=frozenset(decision.key for decision in removed), faults=(standing,))
    placed = sum(_is_placed(manifest) for manifest in world.outputs.values()) if removed else 0
    too_many = placed >= FEWEST and len(removed) * 100 > placed * limit
    everything = limit < 100 and FEWEST_OF_ALL <= placed <= len(removed)
    if not too_many and not everything:
        removed = [one for one in removed if one.cause.kind is CauseKind.NEVER_PROPAGATED]
    if not removed:
        return Brake()
    allowed = _digest(removed)
    if allowed in safety.allow:
        return Brake()
    held = frozenset(decision.key for decision in removed)
    return Brake(held=held, faults=(_fault(removed, placed, allowed),))


def _standing(removed: Sequence[Decision], world: World) -> Fault | None:
    """Return what an earlier pass said when it held exactly these removals back.

    They stay held: what is placed besides makes them a smaller share, and was no reason to let go.
    """
    if not removed:
        return None
    braked = (one for one in recorded_faults(world.outputs) if one.rule == REMOVAL_BRAKED)
    allowed = _digest(removed)
    return next((one for one in braked if one.allow == allowed), None)


def _digest(removed: Iterable[Decision]) -> str:
    """Return what stands for removals: what goes, from which clusters."""
    return digest(sorted([str(d.key), str(name)] for d in removed for name, _ in d.before))


def is_of(key: ObjectKey, body: Body, held: Container[ObjectKey]) -> bool:
    """Return whether an output is one of some objects, or belongs to one of them."""
    if key in held:
        return True
    dialect = dialect_of(key.group)
    return dialect is not None and dialect.view().outputs.owner_of(key, body) in held


def is_removed(decision: Decision, world: World) -> bool:
    """Return whether an object lost everything since files are gone."""
    if not decision.before or decision.after:
        return False
    if decision.removed:
        return True
    dialect = dialect_of(decision.key.group)
    kinds = () if dialect is None else (dialect.cluster,)
    return not any(
        world.find(ObjectKey(*kind, "", name)) for kind in kinds for name, _ in decision.before
    )


def _is_placed(manifest: Manifest) -> bool:
    """Return whether an output is a decision that names a cluster."""
    key = manifest.key
    dialect = dialect_of(key.group) if (key.group, key.kind) in PLACED else None
    return dialect is not None and dialect.view().outputs.is_placed(manifest)


def _fault(removed: list[Decision], placed: int, allowed: str) -> Fault:
    """Return what is held back, and how to let it through."""
    names = enumerated((decision.subject for decision in removed), NAMED)
    return Fault(
        path=CONFIGURATION_PATH,
        line=0,
        column=0,
        field="/spec/safety/allow",
        rule=REMOVAL_BRAKED,
        message=(
            f"{len(removed)} of {placed} placements would be removed, so they are kept for now: "
            f"{names}"
        ),
        expected=(
            f"`allow: {allowed}` below `spec.safety` in {CONFIGURATION_PATH} to remove exactly "
            "these, or the files that are gone"
        ),
        allow=allowed,
    )


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
    """Return how many replicas a decision starts somewhere; what has none counts once a cluster.

    What is started beside others counts then, and not again when it takes their place.
    """
    if decision.begun is not None:
        return decision.begun
    before = dict(decision.before)
    return sum(
        max(0, count - before.get(name, 0)) if count else int(name not in before)
        for name, count in decision.after
    )


def _may_wait(decision: Decision, freeze: Freeze) -> bool:
    """Return whether a freeze or the cap may have a decision wait; a step that is begun ends."""
    kind = decision.cause.kind
    if kind in REBALANCED and decision.begun == 0:
        return False
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
