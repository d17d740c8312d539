"""The columns of rebalancers and triggers."""

from reconciler.manifests.columns import (
    FILE,
    NONE,
    ColumnTable,
    Row,
    age,
    ago,
    spec_of,
)
from reconciler.model.fields import bodies
from reconciler.rebalance.kinds import REBALANCER, TRIGGER
from reconciler.rebalance.rebalancer_status import WorkloadResult, decode_record, waits_in
from reconciler.rebalance.trigger_status import decode_trigger_status


def _results(row: Row) -> str:
    observed = decode_record(row.body).workloads
    done = sum(1 for one in observed if one.result == WorkloadResult.SUCCESSFUL)
    named = bodies(spec_of(row), "workloads")  # besides them a selector may have found others
    return f"{done}/{max(len(observed), len(named))}"


def _failed(row: Row) -> str:
    observed = decode_record(row.body).workloads
    return str(sum(1 for one in observed if one.result == WorkloadResult.FAILED))


def _waits(row: Row) -> str:
    """Return what is waited for and why; in batches how much is left."""
    waits = [f"{ref.kind} {ref.name}: {why}" for ref, why in waits_in(row.body)]
    left = decode_record(row.body).remaining
    if left and not waits:
        waits.append(f"the next batch, {left} replica{'' if left == 1 else 's'} left")
    return "; ".join(waits) or NONE


def _failures(row: Row) -> str:
    """Return what a trigger could not reschedule until now, and why."""
    failed = decode_trigger_status(row.body).failed
    return "; ".join(f"{ref.kind} {ref.name}: {why}" for ref, why in failed) or NONE


def _finished(row: Row) -> str:
    return ago(decode_record(row.body).finish_time, row.now)


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
            ("PHASE", lambda row: decode_trigger_status(row.body).phase),
            (
                "FAILED",
                lambda row: str(len(decode_trigger_status(row.body).failed)),
            ),
            ("AGE", age),
        ),
        (("WAITS FOR", _failures), FILE),
    ),
}
"""By kind."""
