"""Events of rebalancers and triggers: what became of each target, in the words of their results."""

from collections.abc import Iterator

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
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
    encode_reference,
    waits_in,
)
from reconciler.rebalance.schedule_trigger import Phase


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
            yield key, UpstreamEvent(WARNING, "RebalanceFailed", f"{workload}: {reason}")
        else:
            yield key, UpstreamEvent(NORMAL, "RebalanceSuccessful", f"{workload}: scheduled afresh")


def _waiting_events(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return which workloads are newly waited for, and why."""
    known = dict(waits_in(before))
    for reference, reason in waits_in(after):
        if known.get(reference) != reason:
            named = _named(encode_reference(reference))
            yield key, UpstreamEvent(NORMAL, "RebalanceWaits", f"{named}: {reason}")


def _trigger_events(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return how far a trigger is, and what it could not reschedule.

    Source: Karmada's proposal of `ScheduleTrigger`: `TriggerSuccess`, `TriggerFailed`; there it
    stands in the status only.
    """
    status = mapping(after, "status")
    if status == mapping(before, "status"):
        return
    if text(status, "phase") == Phase.SUCCESS:
        yield (
            key,
            UpstreamEvent(NORMAL, "TriggerSuccess", "all selected resources are scheduled afresh"),
        )
    known = {_failure(item) for item in bodies(mapping(before, "status"), "failedResourceList")}
    for item in bodies(status, "failedResourceList"):
        if _failure(item) not in known:
            yield key, UpstreamEvent(WARNING, "TriggerFailed", _failure(item))


def _results(body: Body) -> dict[str, tuple[str, str, str]]:
    """Return result, reason and run of each workload."""
    status = mapping(body, "status")
    return {
        _named(mapping(item, "workload")): (
            text(item, "result"),
            text(item, "reason"),
            text(status, "lastRunTime"),
        )
        for item in bodies(status, "observedWorkloads")
    }


def _failure(item: Body) -> str:
    return f"{_named(item)}: {text(item, 'failReason')}"


def _named(reference: Body) -> str:
    """Return what a reference names: kind, namespace and name."""
    parts = (text(reference, "namespace"), text(reference, "name"))
    return f"{text(reference, 'kind')} {'/'.join(filter(None, parts))}"
