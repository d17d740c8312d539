"""The columns of each kind in a table; a kind without columns of its own has its name and file."""

from collections.abc import Sequence

from reconciler.core.dialects import dialect_of
from reconciler.manifests.columns import (
    FILE,
    Column,
    Columns,
    ColumnTable,
    age,
    printed,
    printed_age,
)
from reconciler.manifests.scope import GROUP
from reconciler.rebalance.columns import COLUMNS as REBALANCE_COLUMNS


def columns_of(group: str, kind: str, *, wide: bool) -> Sequence[Column]:
    """Return the columns after NAMESPACE and NAME."""
    dialect = dialect_of(group)
    ours = {} if dialect is None else dialect.view().columns
    unknown: Columns = ((), (FILE,))
    narrow, more = {**WORKLOADS, **OURS, **REBALANCE_COLUMNS, **ours}.get((group, kind), unknown)
    return (*narrow, *more) if wide else narrow


WORKLOADS: ColumnTable = {
    ("apps", kind): ((("REPLICAS", printed(".spec.replicas")), ("AGE", age)), (FILE,))
    for kind in ("Deployment", "StatefulSet")
}
"""By kind, those of Kubernetes."""

OURS: ColumnTable = {
    (GROUP, "ReconcilerStatus"): (
        (
            ("LAST PASS", printed_age(".status.lastPassAt")),
            ("INPUT", printed(".status.inputRevision")),
            ("VERSION", printed(".status.version")),
        ),
        (FILE,),
    ),
}
"""By kind, our own."""
