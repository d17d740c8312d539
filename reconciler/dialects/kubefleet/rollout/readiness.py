"""Whether the resources of a binding run in its cluster: ready, failed, or not known yet."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import AVAILABLE, DIFF_REPORTED
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.moments import add, parse_moment, second_after

FAILING = ("Overridden", "WorkSynchronized", "Applied", AVAILABLE)
UNTRACKABLE = frozenset({"NotAllWorkAreAvailabilityTrackable", "WorkNotTrackable"})
IN_PROGRESS = frozenset(
    {"OverriddenPending", "WorkNotSynchronizedYet", "ApplyPending", "ResourceNotAvailableYet"}
)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a binding is ready; `until` says when time alone makes it so, if it does."""

    ready: bool
    until: datetime | None = None


def readiness_of(binding: Binding, now: datetime, period: timedelta) -> Readiness:
    """Return whether a binding counts as ready.

    Resources whose availability cannot be tracked count as ready once they were applied for longer
    than the period; exactly the period is not enough.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `isBindingReady`.
    """
    if _current(binding, DIFF_REPORTED, "True") is not None:
        return Readiness(ready=True)
    available = _current(binding, AVAILABLE, "True")
    if available is None:
        return Readiness(ready=False)
    if fields.text(available, "reason") not in UNTRACKABLE:
        return Readiness(ready=True)
    since = parse_moment(fields.text(available, "lastTransitionTime"))
    if since < add(now, -period):
        return Readiness(ready=True)
    return Readiness(ready=False, until=second_after(add(since, period)))


def has_failed(binding: Binding) -> bool:
    """Return whether something went wrong that is not merely in progress.

    Source: kubefleet@e160c1c pkg/utils/binding/binding.go `HasBindingFailed`.
    """
    found = (_current(binding, kind, "False") for kind in FAILING)
    return any(
        item is not None and fields.text(item, "reason") not in IN_PROGRESS for item in found
    )


def can_be_ready(binding: Binding) -> bool:
    """Return whether a binding may still become ready: it has not failed and reports no diff.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `pickBindingsToRoll`.
    """
    return not has_failed(binding) and _current(binding, DIFF_REPORTED) is None


def is_available(binding: Binding) -> bool:
    """Return whether the resources of a binding are known to be available in its cluster."""
    return _current(binding, AVAILABLE, "True") is not None


def reported_difference(binding: Binding, status: str) -> bool:
    """Return whether it is told, with this status, how the cluster differs from the resources."""
    return _current(binding, DIFF_REPORTED, status) is not None


def _current(binding: Binding, kind: str, status: str | None = None) -> Body | None:
    """Return a condition if it speaks of the binding's present generation, with this status."""
    for item in binding.conditions:
        if item.get("type") == kind:
            fits = status is None or item.get("status") == status
            fresh = fields.number(item, "observedGeneration") == binding.generation
            return item if fits and fresh else None
    return None


def has_started(binding: Binding) -> bool:
    """Return whether the rollout of the present generation was announced."""
    return _current(binding, "RolloutStarted", "True") is not None


def is_announced(binding: Binding) -> bool:
    """Return whether the rollout of the present generation has begun, or was told to wait.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `Reconcile`.
    """
    return _current(binding, "RolloutStarted") is not None
