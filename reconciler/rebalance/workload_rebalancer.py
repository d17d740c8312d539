"""WorkloadRebalancer: which targets it triggers, its status, and when it is removed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from reconciler.manifests.admission import Admitted
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment, parse_moment, stamp
from reconciler.model.world import Body
from reconciler.rebalance.target import Reference, Target

NOT_FOUND = "ReferencedBindingNotFound"


class Result(StrEnum):
    """How a workload's rebalance ended; `PENDING` until it did."""

    SUCCESSFUL = "Successful"
    FAILED = "Failed"
    PENDING = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """One workload of the status."""

    reference: Reference
    result: Result = Result.PENDING
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalancer:
    """A rebalancer, decoded.

    Attributes:
        workloads: What it asks for, as written.
        ttl_seconds: How long it stays after it finished, `None` means for ever.
        admitted: When it was first seen, and its generation.
        observed: Its status at the last pass.
        observed_generation: The generation that this status speaks of, 0 before the first.
        finish_time: When it finished, `None` if it has not.
    """

    workloads: tuple[Reference, ...]
    ttl_seconds: int | None
    admitted: Admitted
    observed: tuple[Observed, ...] = ()
    observed_generation: int = 0
    finish_time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a rebalancer does in one pass.

    Attributes:
        triggers: Target to the moment of its trigger, for the targets that need one.
        status: The status afterwards.
        expired: Whether its time to live is over, so that its manifest goes.
        until: When time alone changes this answer, `None` if it does not.
    """

    triggers: Mapping[ObjectKey, datetime]
    status: Body
    expired: bool
    until: datetime | None


def advance(
    rebalancer: Rebalancer, target_of: Callable[[Reference], Target | None], now: datetime
) -> Progress:
    """Trigger what is still to be triggered and say how it stands.

    A workload that was Successful or Failed once is never tried again, one without a binding is
    Failed for good. A target carries the later trigger of the two if several ask.

    Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go
    `doWorkloadRebalance`, `handleTTL`.
    """
    triggers: dict[ObjectKey, datetime] = {}
    observed = []
    # Unlike upstream: a workload added by a later edit is triggered at the moment that this
    # generation was first seen, not at the creation, which would no longer be a trigger.
    moment = rebalancer.admitted.generation_seen_at
    for item in _merged(rebalancer):
        target = target_of(item.reference) if item.result is Result.PENDING else None
        if item.result is not Result.PENDING:
            observed.append(item)
        elif target is None:
            observed.append(replace(item, result=Result.FAILED, reason=NOT_FOUND))
        elif target.waiting:
            observed.append(item)
        else:
            if target.triggered_at is None or target.triggered_at < moment:
                triggers[target.key] = moment
            observed.append(replace(item, result=Result.SUCCESSFUL))
    return _finished(rebalancer, tuple(observed), triggers, now)


def _merged(rebalancer: Rebalancer) -> list[Observed]:
    """Return the workloads of the spec and the successful ones that left it, sorted."""
    wanted = dict.fromkeys(rebalancer.workloads)
    known = {
        item.reference: item
        for item in rebalancer.observed
        if item.reference in wanted or item.result is Result.SUCCESSFUL
    }
    merged = known | {ref: Observed(ref) for ref in wanted if ref not in known}
    return sorted(merged.values(), key=lambda item: item.reference.order)


def _finished(
    rebalancer: Rebalancer,
    observed: tuple[Observed, ...],
    triggers: Mapping[ObjectKey, datetime],
    now: datetime,
) -> Progress:
    """Decide on finish time and time to live.

    Any change of the status renews the finish time, so an edit defers the removal. Expired is
    `now >= finish_time + ttl`.
    """
    generation = rebalancer.admitted.generation
    changed = observed != rebalancer.observed or generation != rebalancer.observed_generation
    pending = any(item.result is Result.PENDING for item in observed)
    finish, finish_text = rebalancer.finish_time, ""
    if changed and not pending:
        finish, finish_text = now, stamp(now)
    elif finish is not None:
        finish_text = format_moment(finish)
    status: dict[str, object] = {"observedWorkloads": [_encode(item) for item in observed]}
    status["observedGeneration"] = generation
    if finish_text:
        status["finishTime"] = finish_text
    expires_at = None
    if finish is not None and rebalancer.ttl_seconds is not None and not pending:
        expires_at = finish + timedelta(seconds=rebalancer.ttl_seconds)
    expired = expires_at is not None and now >= expires_at
    return Progress(
        triggers=triggers,
        status=status,
        expired=expired,
        until=None if expired else expires_at,
    )


def _encode(item: Observed) -> Body:
    """Return one observed workload; empty fields are left out, as upstream's JSON does."""
    reference = item.reference
    workload = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
    }
    if reference.namespace:
        workload["namespace"] = reference.namespace
    body: dict[str, object] = {"workload": workload}
    if item.result is not Result.PENDING:
        body["result"] = str(item.result)
    if item.reason:
        body["reason"] = item.reason
    return body


def decode_rebalancer(spec: Body, status: Body, admitted: Admitted) -> Rebalancer:
    """Decode a validated rebalancer: what it asks for, and its status at the last pass."""
    ttl = spec.get("ttlSecondsAfterFinished")
    generation = status.get("observedGeneration")
    finish = status.get("finishTime")
    return Rebalancer(
        workloads=tuple(_reference(item) for item in bodies(spec, "workloads")),
        ttl_seconds=ttl if isinstance(ttl, int) else None,
        admitted=admitted,
        observed=tuple(_observed(item) for item in bodies(status, "observedWorkloads")),
        observed_generation=generation if isinstance(generation, int) else 0,
        finish_time=parse_moment(finish) if isinstance(finish, str) else None,
    )


def _observed(body: Body) -> Observed:
    """Decode one observed workload."""
    return Observed(
        _reference(mapping(body, "workload")),
        Result(text(body, "result")),
        text(body, "reason"),
    )


def _reference(body: Body) -> Reference:
    """Decode one reference."""
    return Reference(
        text(body, "apiVersion"),
        text(body, "kind"),
        text(body, "namespace"),
        text(body, "name"),
    )
