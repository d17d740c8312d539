"""The status of a ScheduleTrigger: how far it is, and what failed or is waited for."""

from enum import StrEnum
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.rebalance.rebalancer_status import decode_reference, encode_reference
from reconciler.rebalance.target import Reference


class Phase(StrEnum):
    """How far a trigger is."""

    RUNNING = "Running"
    FAILED = "Failed"
    SUCCESS = "Success"


class TriggerStatus(NamedTuple):
    """The status as a whole.

    Attributes:
        phase: How far it is, `""` before its first pass.
        failed: What could not be triggered until now, each with the reason.
    """

    phase: str = ""
    failed: tuple[tuple[Reference, str], ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether all was triggered."""
        return self.phase == Phase.SUCCESS


def decode_trigger_status(manifest: Body) -> TriggerStatus:
    """Return the status of a trigger's status file, or of a manifest that shows it."""
    status = mapping(manifest, "status")
    listed = bodies(status, "failedResourceList")
    return TriggerStatus(
        text(status, "phase"),
        tuple((decode_reference(item), text(item, "failReason")) for item in listed),
    )


def encode_trigger_status(status: TriggerStatus) -> Body:
    """Return the status of a trigger as it is written."""
    listed = [
        {**encode_reference(reference), "failReason": reason} for reference, reason in status.failed
    ]
    return {"phase": status.phase, **({"failedResourceList": listed} if listed else {})}
