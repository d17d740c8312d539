"""How many replicas a workload wants: the field that says it, by kind."""

from reconciler.errors import UsageError
from reconciler.manifests.edits.steps import SetField, Step
from reconciler.model.body import Body
from reconciler.model.fields import text
from reconciler.model.identity import group_of
from reconciler.model.message_text import shown

SCALED = frozenset(
    {("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("batch", "Job")}
    | {("", "ReplicationController")}
)
"""Kinds that have replicas whether or not a file names them."""


def replica_field(kind: str) -> str:
    """Return the field of `spec` in which a kind has its replicas."""
    return "parallelism" if kind == "Job" else "replicas"


def replica_steps(body: Body, replicas: int, current: int | None) -> tuple[Step, ...]:
    """Return how a workload comes to so many replicas; nothing if it has them.

    A kind that Kubernetes does not know is scaled where its file has a number already.

    Args:
        body: The workload.
        replicas: How many there are to be.
        current: How many there must be now, `None` for any number.

    Raises:
        UsageError: Nothing says how many replicas it has, or there are others than `current`.
    """
    kind = text(body, "kind")
    field = replica_field(kind)
    spec = body.get("spec")  # anything: a workload is not checked
    present = spec.get(field) if isinstance(spec, dict) else None
    counted = isinstance(present, int) and not isinstance(present, bool)
    native = (group_of(text(body, "apiVersion")), kind) in SCALED
    if not counted and not (native and present is None):
        raise UsageError(f"a {kind} without a number in spec.{field} cannot be scaled")
    found = present if counted else 1
    if current is not None and found != current:
        raise UsageError(f"it has {shown(found)} replicas, and --current-replicas is {current}")
    return () if present == replicas else (SetField(("spec", field), replicas),)
