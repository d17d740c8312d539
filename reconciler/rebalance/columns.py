"""The columns of rebalancers and triggers."""

from reconciler.manifests.columns import (
    FILE,
    ColumnTable,
    Row,
    age,
    ago,
    spec_of,
    status_of,
)
from reconciler.model.fields import bodies, mapping, text
from reconciler.rebalance.kinds import REBALANCER, TRIGGER


def _results(row: Row) -> str:
    observed = bodies(status_of(row), "observedWorkloads")
    done = sum(1 for item in observed if item.get("result") == "Successful")
    named = bodies(spec_of(row), "workloads")  # besides them a selector may have found others
    return f"{done}/{max(len(observed), len(named))}"


def _failed(row: Row) -> str:
    observed = bodies(status_of(row), "observedWorkloads")
    return str(sum(1 for item in observed if item.get("result") == "Failed"))


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
        (FILE,),
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
        (FILE,),
    ),
}
"""By kind."""
