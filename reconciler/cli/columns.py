"""The columns of each kind in a table; a kind without columns of its own has its name and file."""

from collections.abc import Mapping, Sequence

from reconciler.core.dialects import dialect_of
from reconciler.manifests.columns import FILE, NONE, Column, Columns, ColumnTable, Row
from reconciler.rebalance.columns import COLUMNS as REBALANCE_COLUMNS


def columns_of(group: str, kind: str, *, wide: bool) -> Sequence[Column]:
    """Return the columns after NAMESPACE and NAME."""
    dialect = dialect_of(group)
    ours = {} if dialect is None else dialect.view().columns
    unknown: Columns = ((), (FILE,))
    narrow, more = {**WORKLOADS, **REBALANCE_COLUMNS, **ours}.get((group, kind), unknown)
    return (*narrow, *more) if wide else narrow


def _replicas(row: Row) -> str:
    spec = row.body.get("spec")  # anything: a workload is not checked
    replicas = spec.get("replicas") if isinstance(spec, Mapping) else None
    return str(replicas) if isinstance(replicas, int) else NONE


WORKLOADS: ColumnTable = {
    ("apps", kind): ((("REPLICAS", _replicas),), (FILE,)) for kind in ("Deployment", "StatefulSet")
}
"""By kind, those of Kubernetes."""
