"""The status of a WorkloadRebalancer: what became of each workload, and how far it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.moments import format_moment, parse_moment, stamp
from reconciler.rebalance.target import Reference

NOT_FOUND = "ReferencedBindingNotFound"
UNDECIDED = "it could not be scheduled; a fault of its own says why"


class WorkloadResult(StrEnum):
    """How a workload's rebalance ended; `PENDING` until it did."""

    SUCCESSFUL = "Successful"
    FAILED = "Failed"
    PENDING = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """One workload of the status.

    `waits_for` is why it is pending, `""` where its batch is; `note` what its result lacks.
    """

    reference: Reference
    result: WorkloadResult = WorkloadResult.PENDING
    reason: str = ""
    waits_for: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The status as a whole.

    Attributes:
        observed: The workloads, sorted.
        observed_generation: The generation that this speaks of, 0 before the first.
        finish_time: When it finished, `None` if it has not.
        last_due: The moment of its schedule to which the last run belongs, `None` before the first.
        last_run: The moment at which that run began.
        batch_at: When the last batch of limited moves was let go, `None` before the first.
        moved: Replicas moved so far by this run's batches.
        remaining: Replicas that later batches will move, as far as is known.
    """

    observed: tuple[Observed, ...] = ()
    observed_generation: int = 0
    finish_time: datetime | None = None
    last_due: datetime | None = None
    last_run: datetime | None = None
    batch_at: datetime | None = None
    moved: int = 0
    remaining: int = 0


def encode(status: Progress, *, stamped: bool, limited: bool) -> Body:
    """Return the status as a body; empty fields are left out, as upstream's JSON does.

    Args:
        status: What to tell.
        stamped: Whether this pass set the finish time: alone it makes no change.
        limited: Whether moves are limited, so that there is progress to tell.
    """
    body: dict[str, object] = {
        "observedWorkloads": [_encode_item(item) for item in status.observed],
        "observedGeneration": status.observed_generation,
    }
    if status.finish_time is not None:
        finish = status.finish_time
        body["finishTime"] = stamp(finish) if stamped else format_moment(finish)
    if status.last_due is not None and status.last_run is not None:
        body["lastScheduleTime"] = format_moment(status.last_due)
        body["lastRunTime"] = format_moment(status.last_run)
    if limited and status.batch_at is not None:
        body["progress"] = {
            "movedReplicas": status.moved,
            "remainingReplicas": status.remaining,
            "lastBatchTime": format_moment(status.batch_at),
        }
    return body


def decode_status(body: Body) -> Progress:
    """Decode the status that the last pass wrote."""
    progress = mapping(body, "progress")
    return Progress(
        observed=tuple(_decode_item(item) for item in bodies(body, "observedWorkloads")),
        observed_generation=number(body, "observedGeneration"),
        finish_time=_moment(body, "finishTime"),
        last_due=_moment(body, "lastScheduleTime"),
        last_run=_moment(body, "lastRunTime"),
        batch_at=_moment(progress, "lastBatchTime"),
        moved=number(progress, "movedReplicas"),
        remaining=number(progress, "remainingReplicas"),
    )


class RecordedWorkload(NamedTuple):
    """One workload of a record, as written: its result is whatever stands there."""

    reference: Reference
    result: str
    reason: str
    waits_for: str


class RebalancerRecord(NamedTuple):
    """What a rebalancer's record says, as written, for whoever shows it.

    Attributes:
        workloads: In order of the record.
        finish_time: When it finished, `""` if it has not.
        last_run: When its last run began, `""` without a schedule.
        remaining: Replicas that later batches will move.
    """

    workloads: tuple[RecordedWorkload, ...]
    finish_time: str
    last_run: str
    remaining: int


def decode_record(manifest: Body) -> RebalancerRecord:
    """Return what a rebalancer's status file says, or what its manifest shows of it."""
    status = mapping(manifest, "status")
    return RebalancerRecord(
        workloads=tuple(map(_recorded, bodies(status, "observedWorkloads"))),
        finish_time=text(status, "finishTime"),
        last_run=text(status, "lastRunTime"),
        remaining=number(mapping(status, "progress"), "remainingReplicas"),
    )


def waits_in(body: Body) -> Iterator[tuple[Reference, str]]:
    """Yield what a rebalancer's record says that is waited for, with the reason."""
    for one in decode_record(body).workloads:
        if one.waits_for:
            yield one.reference, one.waits_for


def _moment(body: Body, field: str) -> datetime | None:
    found = text(body, field)
    return parse_moment(found) if found else None


def _encode_item(item: Observed) -> Body:
    body: dict[str, object] = {"workload": encode_reference(item.reference)}
    if item.result is not WorkloadResult.PENDING:
        body["result"] = str(item.result)
    if item.reason:
        body["reason"] = item.reason
    if item.waits_for:
        body["waitsFor"] = item.waits_for
    if item.note:
        body["note"] = item.note
    return body


def _recorded(body: Body) -> RecordedWorkload:
    return RecordedWorkload(
        decode_reference(mapping(body, "workload")),
        text(body, "result"),
        text(body, "reason"),
        text(body, "waitsFor"),
    )


def _decode_item(body: Body) -> Observed:
    return Observed(
        decode_reference(mapping(body, "workload")),
        WorkloadResult(text(body, "result")),
        text(body, "reason"),
        text(body, "waitsFor"),
        text(body, "note"),
    )


def encode_reference(reference: Reference) -> dict[str, object]:
    """Return a reference as a body; a cluster-scoped one names no namespace."""
    body: dict[str, object] = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
    }
    if reference.namespace:
        body["namespace"] = reference.namespace
    return body


def decode_reference(body: Body) -> Reference:
    """Decode one reference."""
    return Reference(
        text(body, "apiVersion"), text(body, "kind"), text(body, "namespace"), text(body, "name")
    )
