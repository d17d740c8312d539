"""What the cluster controller makes of the Ready condition: taints by which nothing new comes."""

from collections.abc import Sequence

from reconciler.model.body import Body
from reconciler.model.fields import text

NOT_READY = "cluster.karmada.io/not-ready"
UNREACHABLE = "cluster.karmada.io/unreachable"
NO_SCHEDULE = "NoSchedule"
READY = "Ready"


def taints_by_condition(
    taints: Sequence[Body], conditions: Sequence[Body], *, deleting: bool, added: Body
) -> tuple[Body, ...]:
    """Return the taints of a cluster once its Ready condition has been looked at.

    The first Ready condition counts. Taints are told apart by key and effect, whatever their value.

    Args:
        taints: That it has.
        conditions: Of its status.
        deleting: Whether it is being deleted: then it gets no taint.
        added: What a new taint has besides its key and effect.

    Source: karmada@f8fdd02 pkg/controllers/cluster/cluster_controller.go `taintClusterByCondition`.
    """
    ready = next((one for one in conditions if text(one, "type") == READY), None)
    if deleting:
        return tuple(taints)
    match None if ready is None else text(ready, "status"):
        case None:
            return _changed(taints, added, add=(NOT_READY,))
        case "True":
            return _changed(taints, added, drop=(NOT_READY, UNREACHABLE))
        case "False":
            return _changed(taints, added, add=(NOT_READY,), drop=(UNREACHABLE,))
        case "Unknown":
            return _changed(taints, added, add=(UNREACHABLE,), drop=(NOT_READY,))
        case _:
            return tuple(taints)


def _changed(
    taints: Sequence[Body], added: Body, *, add: Sequence[str] = (), drop: Sequence[str] = ()
) -> tuple[Body, ...]:
    """Return taints without some keys, and with others, all of them NoSchedule."""
    kept = [one for one in taints if not (_is_ours(one) and text(one, "key") in drop)]
    known = {text(one, "key") for one in kept if _is_ours(one)}
    came = ({"key": key, "effect": NO_SCHEDULE, **added} for key in add if key not in known)
    return (*kept, *came)


def _is_ours(taint: Body) -> bool:
    return text(taint, "effect") == NO_SCHEDULE
