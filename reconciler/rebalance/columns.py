"""The columns of rebalancers and triggers."""

from reconciler.manifests.columns import (
    FILE,
    NONE,
    ColumnTable,
    Row,
    age,
    ago,
    spec_of,
    status_of,
)
from reconciler.model.fields import bodies, mapping, text
from reconciler.rebalance.kinds import REBALANCER, TRIGGER
from reconciler.rebalance.rebalancer_status import waits_in


def _results(row: Row) -> str:
    observed = bodies(status_of(row), "observedWorkloads")
    done = sum(1 for item in observed if item.get("result") == "Successful")
    named = bodies(spec_of(row), "workloads")  # besides them a selector may have found others
    return f"{done}/{max(len(observed), len(named))}"


def _failed(row: Row) -> str:
    observed = bodies(status_of(row), "observedWorkloads")
    return str(sum(1 for item in observed if item.get("result") == "Failed"))


def _waits(row: Row) -> str:
    """Return what is waited for and why; in batches how much is left."""
    waits = [f"{ref.kind} {ref.name}: {why}" for ref, why in waits_in(row.body)]
    left = mapping(status_of(row), "progress").get("remainingReplicas")
    if left and not waits:
        waits.append(f"the next batch, {left} replica{'' if left == 1 else 's'} left")
    return "; ".join(waits) or NONE


def _failures(row: Row) -> str:
    """Return what a trigger could not reschedule until now, and why."""
    listed = bodies(status_of(row), "failedResourceList")
    found = [f"{text(i, 'kind')} {text(i, 'name')}: {text(i, 'failReason')}" for i in listed]
    return "; ".join(found) or NONE


def _finished(row: Row) -> str:
    return ago(text(status_of(row), "finishTime"), row.now)


COLUMNS: ColumnTable = {
    REBALANCER: (
        (
            ("SUCCESSFUL", _results),
            ("FAILED", _failed),
            ("FINISHED", _finished),
            ("AGE", age),
        ),
        (("WAITS FOR", _waits), FILE),
    ),
    TRIGGER: (
        (
            ("PHASE", lambda row: text(mapping(row.body, "status"), "phase")),
            (
                "FAILED",
                lambda row: str(len(bodies(mapping(row.body, "status"), "failedResourceList"))),
            ),
            ("AGE", age),
        ),
        (("WAITS FOR", _failures), FILE),
    ),
}
"""By kind."""
