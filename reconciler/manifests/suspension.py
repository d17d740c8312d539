"""The annotation by which a person suspends the scheduling of one object."""

from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.known_kinds import Kind, KnownKinds

SUSPEND = "reconciler.dev/suspend"


def is_suspended(body: Body) -> bool:
    """Return whether a manifest carries the annotation with the value `true`.

    A policy or placement that does leaves all that it governs where it is; a workload itself only.
    """
    return at(body, "metadata", "annotations").get(SUSPEND) == "true"


def suspends(kind: Kind, body: Body, known: KnownKinds) -> bool:
    """Return whether a person's manifest suspends anything.

    A rebalancer says so by a field, as its schedule rests then; kinds of the APIs that are not
    suspendable say nothing by the annotation.
    """
    if kind in known.removable:
        return at(body, "spec").get("suspend") is True
    return is_suspended(body) and (kind[0] not in known.groups or kind in known.suspendable)
