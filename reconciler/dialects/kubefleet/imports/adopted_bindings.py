"""A live binding as state of ours: its name, target and state stay, with when it was rolled out."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import (
    AVAILABLE,
    PARENT,
    PREVIOUS_STATE,
    SCHEDULER_FINALIZER,
)
from reconciler.dialects.kubefleet.rollout.availability import ROLLED_OUT, ROLLED_OUT_AT
from reconciler.dialects.kubefleet.view.binding_rendering import binding_file
from reconciler.dialects.kubefleet.view.status_conditions import STAGES
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.moments import format_moment, is_moment, stamp


def adopted_binding(live: Binding, placement: str, now: datetime) -> Body:
    """Return the file of a live binding.

    Availability is assumed from the moment at which the cluster said that it is available, so that
    nothing that runs counts as silent; from now on if it never did.
    """
    marks = {name: live.annotations[name] for name in (PREVIOUS_STATE,) if name in live.annotations}
    if live.resource_snapshot:
        marks |= {ROLLED_OUT: live.resource_snapshot, ROLLED_OUT_AT: _available_at(live, now)}
    created = text(mapping(live.body, "metadata"), "creationTimestamp")
    kept: Body = {"metadata": {"creationTimestamp": created}} if is_moment(created) else {}
    return binding_file(
        live._replace(
            labels={PARENT: placement},
            annotations=marks,
            finalizers=(SCHEDULER_FINALIZER,),
            conditions=tuple(item for item in live.conditions if item.get("type") in STAGES),
            generation=max(live.generation, 1),
            body=kept,
        ),
        stamp(now),
    )


def _available_at(live: Binding, now: datetime) -> str:
    """Return since when a binding's cluster says that everything is available."""
    for item in live.conditions:
        if item.get("type") == AVAILABLE and item.get("status") == "True":
            since = text(item, "lastTransitionTime")
            if is_moment(since):
                return since
    return format_moment(now)
