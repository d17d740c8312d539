"""ScheduleTrigger: reschedules what policies and references name, and is cleaned up.

It does so once, or in recurring runs, which are due by a cron expression in UTC. Its status says
how far it is, what failed, and what is waited for. The status also says where the time of a
rebalancer or trigger is over but its manifest stays: it is ignored from then on, until its spec
changes or its manifest is removed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.manifests.admission import Admitted, digest
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import bodies, mapping, number_or_none, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, earliest, span, stamp
from reconciler.model.records import dataclass, replace
from reconciler.rebalance.rebalancer_files import (
    UNDECIDED,
    TargetDemand,
    decode_make_before_break,
    decode_reference,
    encode_reference,
    policy_key,
)
from reconciler.rebalance.surge import MakeBeforeBreak
from reconciler.rebalance.target import (
    Reference,
    Rescheduled,
    Target,
    Targets,
    TargetSelection,
    rest_of,
)


class Phase(StrEnum):
    """How far a trigger is."""

    RUNNING = "Running"
    FAILED = "Failed"
    SUCCESS = "Success"


class TriggerStatus(NamedTuple):
    """The status as a whole.

    Attributes:
        phase: How far it is, `""` before its first pass.
        failed: What could not be triggered until now, each with the reason.
    """

    phase: str = ""
    failed: tuple[tuple[Reference, str], ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether all was triggered."""
        return self.phase == Phase.SUCCESS


def decode_trigger_status(manifest: Body) -> TriggerStatus:
    """Return the status of a trigger's status file, or of a manifest that shows it."""
    status = mapping(manifest, "status")
    listed = bodies(status, "failedResourceList")
    return TriggerStatus(
        text(status, "phase"),
        tuple((decode_reference(item), text(item, "failReason")) for item in listed),
    )


def encode_trigger_status(status: TriggerStatus) -> Body:
    """Return the status of a trigger as it is written."""
    listed = [
        {**encode_reference(reference), "failReason": reason} for reference, reason in status.failed
    ]
    return {"phase": status.phase, **({"failedResourceList": listed} if listed else {})}


_PLAIN = re.compile(r"[0-9*/,\-]+( [0-9*/,\-]+){2} [0-9A-Za-z*/,\-]+ [0-9A-Za-z*/,\-]+")


def is_schedule(expression: str) -> bool:
    """Return whether an expression has five fields of cron and ever comes true.

    >>> is_schedule("0 3 * * SUN"), is_schedule("0 0 31 2 *"), is_schedule("@daily")
    (True, False, False)
    """
    if not _PLAIN.fullmatch(expression):
        return False
    from cronsim import CronSimError  # noqa: PLC0415  # few repositories have a schedule

    try:
        next(_moments(expression, datetime.fromisoformat("2000-01-01T00:00:00Z")))
    except (CronSimError, StopIteration):
        return False
    return True


def due_run(expression: str, after: datetime, now: datetime) -> datetime | None:
    """Return the latest moment of a schedule within (after, now], `None` if there is none.

    Runs that were missed, since no pass looked, are made up for once.
    """
    latest = _first(_moments(expression, add(now), reverse=True))
    return latest if latest is not None and latest > after else None


def next_run(expression: str, now: datetime) -> datetime | None:
    """Return the first moment of a schedule after `now`, `None` if there is none."""
    return _first(_moments(expression, now))


def _moments(expression: str, at: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    """Return the moments of a schedule after one, or before it, the nearest first."""
    from cronsim import CronSim  # noqa: PLC0415  # few repositories have a schedule

    return CronSim(expression, at, reverse=reverse)


def _first(moments: Iterator[datetime]) -> datetime | None:
    """Return the first of the moments, `None` if there is none within the calendar."""
    try:
        return next(moments, None)
    except OverflowError:  # beyond either end of the calendar
        return None


EXPIRED = Condition(
    type="Expired",
    status="True",
    reason="InList",
    message=(
        "its time to live is over; it stands in a List, from which nothing is cut out, so a person "
        "removes it"
    ),
)


def marked(body: Body, now: datetime) -> Body:
    """Return a status file that says so."""
    status = mapping(body, "status")
    conditions = set_condition(bodies(status, "conditions"), EXPIRED, at=stamp(now))
    return {**body, "status": {**status, "conditions": conditions}}


def is_marked(body: Body, fresh: Body) -> bool:
    """Return whether a status file says so of the generation that a fresh one is about."""
    conditions = bodies(mapping(body, "status"), "conditions")
    said = any(
        one.get("type") == EXPIRED.type and one.get("status") == "True" for one in conditions
    )
    generations = [mapping(one, "metadata").get("generation") for one in (body, fresh)]
    return said and generations[0] == generations[1]


REMOVED = "its manifest is removed"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A moment, why nothing happens before, and what happens then; clauses of one sentence."""

    until: datetime
    reason: str
    then: str


def waiting(*found: tuple[datetime | None, str, str]) -> tuple[Waiting, ...]:
    """Return those of the waits that have a moment.

    >>> waiting((None, "it is kept", "it is removed"))
    ()
    """
    return tuple(Waiting(until, why, then) for until, why, then in found if until is not None)


def kept(waits: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the waits of one whose manifest is not removed: its status says that it is over."""
    over = "its status says Expired"
    return tuple(replace(wait, then=over) if wait.then == REMOVED else wait for wait in waits)


RETRY_AFTER_SECONDS = 3  # the proposal's default
AUTO_CLEAN_AFTER_MINUTES = 60  # the proposal's default
TRIGGERED = "reconciler.dev/triggered-targets"
"""Annotation: digest of the targets that were triggered; an edit of anything else is no run."""

NO_BINDING = "no binding was found for the resource; no policy has claimed it"
NO_POLICY = "the policy is not there"
FINAL = "given up: "
THEN = "; it is triggered once it can be scheduled"
POLICY_VERSION = "policy.karmada.io/v1alpha1"


Result = tuple[Reference, Phase, str]
"""How far one target is, and why it is not further, `""` for success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleTrigger:
    """A trigger, decoded.

    Attributes:
        policies: Whose resources it reschedules.
        resources: What else it reschedules.
        retry_after_seconds: When a failed target is looked at again at the latest.
        auto_clean_after_minutes: How long it stays after its creation, 0 means for ever.
        admitted: When it was first seen.
        triggered: Digest of the targets of the last run, `""` before the first.
        failed: What the last run could not trigger, with the reason.
        make_before_break: How replicas may run beside those that they replace, `None` for not.
        rest_seconds: How long what it moved is left alone, `None` for not at all.
    """

    policies: tuple[ObjectKey, ...]
    resources: tuple[Reference, ...]
    retry_after_seconds: int
    auto_clean_after_minutes: int
    admitted: Admitted
    triggered: str = ""
    failed: Mapping[Reference, str]
    make_before_break: MakeBeforeBreak | None = None
    rest_seconds: int | None = None

    @property
    def digest(self) -> str:
        """Digest of the targets as written; the order does not matter."""
        return digest([sorted(map(str, self.policies)), sorted(r.order for r in self.resources)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """Where a trigger is after one pass.

    Attributes:
        status: The status afterwards.
        results: How far each of what it names is, and what else failed or is waited for, with why;
            sorted.
        expired: Whether it is cleaned up now.
        waits: The moments at which time alone changes this answer.
    """

    status: Body
    results: tuple[tuple[Reference, Phase, str], ...]
    expired: bool
    waits: tuple[Waiting, ...]

    @property
    def until(self) -> datetime | None:
        """When time alone changes this answer, `None` if it does not."""
        return earliest(*(wait.until for wait in self.waits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """What a trigger wants of one pass; only the pass knows what comes of it.

    Attributes:
        trigger: Who wants it.
        asked: The references that are triggered, with their targets and what is demanded of them.
        failed: Those that cannot be, with the reason.
        waits: Those that cannot be scheduled now, with the reason.
        going: Those that somebody else moves step by step; this is met as soon as that is.
        now: Moment of the pass.
    """

    trigger: ScheduleTrigger
    going: Mapping[Reference, Target]
    asked: Mapping[Reference, tuple[ObjectKey, TargetDemand]]
    failed: Mapping[Reference, str]
    waits: Mapping[Reference, str]
    now: datetime

    @property
    def triggers(self) -> dict[ObjectKey, TargetDemand]:
        """Target to what is demanded of it, without a limit."""
        rest = self.trigger.rest_seconds
        return {key: replace(one, rest_seconds=rest) for key, one in self.asked.values()}

    @property
    def surging(self) -> dict[ObjectKey, MakeBeforeBreak]:
        """Target to how it is to be made before anything breaks, where that is asked for."""
        limits = self.trigger.make_before_break
        if limits is None:
            return {}
        return dict.fromkeys((*self.triggers, *(one.key for one in self.going.values())), limits)

    def close(self, rescheduled: Rescheduled) -> Fired:
        """Return how the trigger stands after the pass.

        Args:
            rescheduled: The targets that the pass scheduled afresh, whatever came of it.
        """
        met = {key for key, demand in rescheduled.items() if not demand.left}
        asked = {reference: key for reference, (key, _) in self.asked.items()}
        missed = {ref: UNDECIDED for ref, key in asked.items() if key not in met}
        heard = ((ref, rescheduled[key]) for ref, key in asked.items() if key in rescheduled)
        given_up = {ref: f"{FINAL}{one.given_up}" for ref, one in heard if one.given_up}
        failed = {**self.failed, **given_up}
        results = [(ref, Phase.FAILED, why) for ref, why in failed.items()]
        waiting = {**self.waits, **missed}
        results += [(ref, Phase.RUNNING, f"{why}{THEN}") for ref, why in waiting.items()]
        results += self._going(rescheduled)
        return _fired(self.trigger, results, self.now)

    def _going(self, rescheduled: Rescheduled) -> Iterator[Result]:
        """Yield what moves step by step, and what was given up of it."""
        for reference, target in self.going.items():
            met = rescheduled.get(target.key)
            if met is not None and met.given_up:
                yield reference, Phase.FAILED, f"{FINAL}{met.given_up}"
            elif target.surge is not None and (met is None or met.left):
                yield reference, Phase.RUNNING, target.surge.waits_for


def fire(trigger: ScheduleTrigger, targets: Targets, now: datetime) -> Firing:
    """Trigger what is still to be triggered.

    The first pass triggers the union of all targets; later ones only what failed until then. An
    edit of the targets is a new run. The trigger's moment is the present one, as the proposal says.
    What cannot be made before it breaks, was not ready in time, or would go back while it rests, is
    not tried again.

    Source: Karmada's proposal of `ScheduleTrigger`, implementation logic.
    """
    first = trigger.triggered != trigger.digest
    wanted = _wanted(trigger, targets) if first else _again(trigger, targets)
    since = trigger.admitted.generation_seen_at
    asked: dict[Reference, tuple[ObjectKey, TargetDemand]] = {}
    going: dict[Reference, Target] = {}
    failed: dict[Reference, str] = {}
    waits: dict[Reference, str] = {}
    for reference, problem in wanted:
        target = None if problem else targets.find(reference)
        if target is None:
            failed[reference] = problem or NO_BINDING
        elif is_given_up(trigger.failed.get(reference, "")) and not first:
            failed[reference] = trigger.failed[reference]
        elif target.surge is not None and (at := target.triggered_at) is not None and at >= since:
            going[reference] = target
        elif target.waits_for:
            waits[reference] = target.waits_for
        elif trigger.make_before_break is not None and (why := target.unmakeable()):
            failed[reference] = f"{FINAL}{why}"
        elif (rest := rest_of(target, since, now)) is not None and rest.undoes:
            failed[reference] = f"{FINAL}{rest.why}"
        else:
            asked[reference] = target.key, _demand_of(target, since, now)
    return Firing(trigger=trigger, asked=asked, going=going, failed=failed, waits=waits, now=now)


def is_given_up(reason: str) -> bool:
    """Return whether a trigger does not try again what failed for a reason."""
    return reason.startswith(FINAL)


def _demand_of(target: Target, since: datetime, now: datetime) -> TargetDemand:
    """Return what is demanded of a target: a schedule afresh, or the next step of this run's."""
    at = target.triggered_at
    if at is not None and at >= since and target.left() is not None:
        return TargetDemand(at, fresh=False)
    return TargetDemand(now)


def _fired(trigger: ScheduleTrigger, open_: Sequence[Result], now: datetime) -> Fired:
    """Return how a trigger stands, given what could not be triggered until now, and why."""
    expires_at = None
    if trigger.auto_clean_after_minutes:
        lifetime = span(minutes=trigger.auto_clean_after_minutes)
        expires_at = add(trigger.admitted.created_at, lifetime)
    retry_at = add(trigger.admitted.generation_seen_at, span(seconds=trigger.retry_after_seconds))
    expired = expires_at is not None and now >= expires_at
    return Fired(
        status=_status(open_),
        results=_results(trigger, open_),
        expired=expired,
        waits=waiting(
            (None if expired else expires_at, "it is kept", REMOVED),
            (retry_at if open_ and retry_at > now else None, "some targets failed", "it retries"),
        ),
    )


def _results(trigger: ScheduleTrigger, open_: Sequence[Result]) -> tuple[Result, ...]:
    """Return what was named and what is open, sorted.

    What a policy stands for is named only where it is open: later ones were never triggered.
    """
    results = {result[0]: result for result in open_}
    named = {*map(_of_key, trigger.policies), *trigger.resources, *results}
    return tuple(
        results.get(ref, (ref, Phase.SUCCESS, ""))
        for ref in sorted(named, key=lambda item: item.order)
    )


def _of_key(policy: ObjectKey) -> Reference:
    return Reference(POLICY_VERSION, policy.kind, policy.namespace, policy.name)


def _wanted(trigger: ScheduleTrigger, targets: Targets) -> Iterator[tuple[Reference, str]]:
    """Yield the union of all targets, each with what is wrong with it, `""` for nothing."""
    seen: set[Reference] = set()
    for key in sorted(trigger.policies):
        for reference, problem in _of_policy(key, targets):
            if reference not in seen:
                seen.add(reference)
                yield reference, problem
    for reference in sorted(trigger.resources, key=lambda item: item.order):
        if reference not in seen:
            seen.add(reference)
            yield reference, ""


def _again(trigger: ScheduleTrigger, targets: Targets) -> Iterator[tuple[Reference, str]]:
    """Yield what failed until now; a policy that appeared by now stands for its resources."""
    for reference in trigger.failed:
        if reference.api_version == POLICY_VERSION:
            named = {"namespace": reference.namespace, "name": reference.name}
            yield from _of_policy(policy_key(named), targets)
        else:
            yield reference, ""


def _of_policy(key: ObjectKey, targets: Targets) -> Iterator[tuple[Reference, str]]:
    """Yield the resources that a policy has claimed, or that it is not there."""
    if not targets.has_policy(key):
        yield _of_key(key), NO_POLICY
        return
    for reference in targets.select(TargetSelection(policy=key)):
        yield reference, ""


def _status(open_: Sequence[Result]) -> Body:
    """Return the status: how far it is, and what failed or is waited for, with the reason."""
    ordered = sorted(open_, key=lambda result: result[0].order)
    phases = {phase for _, phase, _ in open_}
    phase = Phase.RUNNING if Phase.RUNNING in phases else Phase.FAILED if phases else Phase.SUCCESS
    failed = tuple((reference, reason) for reference, _, reason in ordered)
    return encode_trigger_status(TriggerStatus(str(phase), failed))


def decode_trigger(
    spec: Body, status: TriggerStatus, admitted: Admitted, *, triggered: str
) -> ScheduleTrigger:
    """Decode a validated trigger, given its status at the last pass, and what it triggered."""
    limits = mapping(spec, "limits")
    retry = number_or_none(spec, "retryAfterSeconds")
    clean = number_or_none(spec, "autoCleanAfterMinutes")
    return ScheduleTrigger(
        policies=tuple(policy_key(item) for item in bodies(spec, "targetRefPolicy")),
        resources=tuple(decode_reference(item) for item in bodies(spec, "targetRefResource")),
        retry_after_seconds=RETRY_AFTER_SECONDS if retry is None else retry,
        auto_clean_after_minutes=AUTO_CLEAN_AFTER_MINUTES if clean is None else clean,
        admitted=admitted,
        triggered=triggered,
        failed=dict(status.failed),
        make_before_break=decode_make_before_break(limits),
        rest_seconds=number_or_none(limits, "restSeconds"),
    )


def triggered_in(metadata: Body) -> str:
    """Return the annotation that says which targets were triggered, `""` if it is not there."""
    return text(mapping(metadata, "annotations"), TRIGGERED)
