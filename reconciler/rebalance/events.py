"""Events of rebalancers and triggers: what became of each target, in the words of their results."""

from collections.abc import Iterator

from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.upstream_event import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
)
from reconciler.rebalance.kinds import REBALANCER, TRIGGER
from reconciler.rebalance.rebalancer_status import (
    WorkloadResult,
    decode_record,
    waits_in,
)
from reconciler.rebalance.target import Reference
from reconciler.rebalance.trigger_status import TriggerStatus, decode_trigger_status

CONTROLLER = "workload-rebalancer"
"""Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer `ControllerName`."""


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield what became of a rebalancer or a trigger."""
    kind = (change.key.group, change.key.kind)
    if kind == REBALANCER:
        yield from _rebalancer_events(change.key, change.before, change.after)
    elif kind == TRIGGER:
        yield from _trigger_events(change.key, change.before, change.after)


def _rebalancer_events(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return which workloads are dealt with, and how it ended.

    Of a schedule each run is told: a result is news where the run is.

    Source: karmada@f8fdd02 pkg/apis/apps/v1alpha1/workloadrebalancer_types.go `RebalanceSuccessful`
    and `RebalanceFailed`; upstream has them in the status only.
    """
    yield from _waiting_events(key, before, after)
    known = _results(before)
    for workload, (result, reason, _run) in _results(after).items():
        if not result or known.get(workload) == (result, reason, _run):
            continue
        if result == WorkloadResult.FAILED:
            yield (
                key,
                UpstreamEvent(WARNING, "RebalanceFailed", f"{workload}: {reason}", CONTROLLER),
            )
        else:
            message = f"{workload}: scheduled afresh"
            yield key, UpstreamEvent(NORMAL, "RebalanceSuccessful", message, CONTROLLER)


def _waiting_events(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return which workloads are newly waited for, and why."""
    known = dict(waits_in(before))
    for reference, reason in waits_in(after):
        if known.get(reference) != reason:
            message = f"{_named(reference)}: {reason}"
            yield key, UpstreamEvent(NORMAL, "RebalanceWaits", message)


def _trigger_events(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return how far a trigger is, and what it could not reschedule.

    Source: Karmada's proposal of `ScheduleTrigger`: `TriggerSuccess`, `TriggerFailed`; there it
    stands in the status only.
    """
    if mapping(after, "status") == mapping(before, "status"):
        return
    status = decode_trigger_status(after)
    if status.succeeded:
        yield (
            key,
            UpstreamEvent(NORMAL, "TriggerSuccess", "all selected resources are scheduled afresh"),
        )
    known = set(_failures(decode_trigger_status(before)))
    for failure in _failures(status):
        if failure not in known:
            yield key, UpstreamEvent(WARNING, "TriggerFailed", failure)


def _results(body: Body) -> dict[str, tuple[str, str, str]]:
    """Return result, reason and run of each workload."""
    record = decode_record(body)
    return {
        _named(one.reference): (one.result, one.reason, record.last_run) for one in record.workloads
    }


def _failures(status: TriggerStatus) -> list[str]:
    return [f"{_named(reference)}: {reason}" for reference, reason in status.failed]


def _named(reference: Reference) -> str:
    """Return what a reference names: kind, namespace and name."""
    return f"{reference.kind} {'/'.join(filter(None, (reference.namespace, reference.name)))}"
