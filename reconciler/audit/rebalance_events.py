"""Events of rebalancers and triggers: what became of each target, in the words of their results."""

from collections.abc import Iterator

from reconciler.audit.event_text import NORMAL, WARNING, Told
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body
from reconciler.rebalance.rebalancer_status import WorkloadResult
from reconciler.rebalance.schedule_trigger import Phase

Event = tuple[ObjectKey, Told]


def tell_rebalancer(key: ObjectKey, before: Body, after: Body) -> Iterator[Event]:
    """Tell which workloads are dealt with, and how it ended.

    Of a schedule each run is told: a result is news where the run is.

    Source: karmada@f8fdd02 pkg/apis/apps/v1alpha1/workloadrebalancer_types.go `RebalanceSuccessful`
    and `RebalanceFailed`; upstream has them in the status only.
    """
    known = _results(before)
    for workload, (result, reason, _run) in _results(after).items():
        if not result or known.get(workload) == (result, reason, _run):
            continue
        if result == WorkloadResult.FAILED:
            yield key, Told(WARNING, "RebalanceFailed", f"{workload}: {reason}")
        else:
            yield key, Told(NORMAL, "RebalanceSuccessful", f"{workload}: scheduled afresh")


def tell_trigger(key: ObjectKey, before: Body, after: Body) -> Iterator[Event]:
    """Tell how far a trigger is, and what it could not reschedule.

    Source: Karmada's proposal of `ScheduleTrigger`: `TriggerSuccess`, `TriggerFailed`; there it
    stands in the status only.
    """
    status = mapping(after, "status")
    if status == mapping(before, "status"):
        return
    if text(status, "phase") == Phase.SUCCESS:
        yield key, Told(NORMAL, "TriggerSuccess", "all selected resources are scheduled afresh")
    known = {_failure(item) for item in bodies(mapping(before, "status"), "failedResourceList")}
    for item in bodies(status, "failedResourceList"):
        if _failure(item) not in known:
            yield key, Told(WARNING, "TriggerFailed", _failure(item))


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
