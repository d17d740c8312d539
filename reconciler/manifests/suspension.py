"""The annotation by which a person suspends the scheduling of one object."""

from collections.abc import Mapping

from reconciler.model.body import Body
from reconciler.model.known_kinds import Kind, KnownKinds

SUSPEND = "reconciler.dev/suspend"


def is_suspended(body: Body) -> bool:
    """Return whether a manifest carries the annotation with the value `true`.

    A policy or placement that does leaves all that it governs where it is; a workload itself only.
    """
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return isinstance(annotations, Mapping) and annotations.get(SUSPEND) == "true"


def suspends(kind: Kind, body: Body, known: KnownKinds) -> bool:
    """Return whether a person's manifest suspends anything.

    A rebalancer says so by a field, as its schedule rests then; kinds of the APIs that are not
    suspendable say nothing by the annotation.
    """
    if kind in known.removable:
        spec = body.get("spec")
        return isinstance(spec, Mapping) and spec.get("suspend") is True
    return is_suspended(body) and (kind[0] not in known.groups or kind in known.suspendable)
