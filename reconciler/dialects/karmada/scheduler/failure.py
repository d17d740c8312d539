"""Why an attempt to schedule failed: the reasons of a Scheduled condition that is not True."""

from dataclasses import dataclass, replace
from enum import StrEnum

from reconciler.dialects.karmada.api.work.binding_status import BindingStatus
from reconciler.model.fields import text


class FailureKind(StrEnum):
    """The reasons of a Scheduled condition that is not True."""

    NO_CLUSTER_FIT = "NoClusterFit"
    UNSCHEDULABLE = "Unschedulable"
    SCHEDULER_ERROR = "SchedulerError"
    QUOTA_EXCEEDED = "QuotaExceeded"


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that gave no result, with upstream's message."""

    kind: FailureKind
    message: str

    def within(self, step: str) -> "Failure":
        """Return the same failure, told as part of a greater step.

        >>> Failure(FailureKind.UNSCHEDULABLE, "too few").within("failed to scale up").message
        'failed to scale up: too few'
        """
        return replace(self, message=f"{step}: {self.message}")


def refused_before(status: BindingStatus) -> str:
    """Return why a quota refused a binding at its last scheduling, `""` if none did."""
    for condition in status.conditions or ():
        if text(condition, "reason") == FailureKind.QUOTA_EXCEEDED:
            return text(condition, "message")
    return ""


def scheduler_error(message: str) -> Failure:
    """Return a failure that upstream retries with growing pauses."""
    return Failure(FailureKind.SCHEDULER_ERROR, message)


def unschedulable(message: str) -> Failure:
    """Return a failure for lack of room, which upstream retries when something changes."""
    return Failure(FailureKind.UNSCHEDULABLE, message)
