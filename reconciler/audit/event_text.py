"""What an event says, and what tellers of events read in every API: conditions."""

from dataclasses import dataclass

from reconciler.model.fields import bodies, mapping, text
from reconciler.model.world import Body

NORMAL, WARNING = "Normal", "Warning"


@dataclass(frozen=True, slots=True)
class Told:
    """What an event says: Normal or Warning, upstream's reason, upstream's message."""

    type: str
    reason: str
    message: str


def condition_of(body: Body, kind: str) -> Body:
    """Return a condition, an empty one if there is none."""
    conditions = bodies(mapping(body, "status"), "conditions")
    return next((c for c in conditions if c.get("type") == kind), {})


def said(body: Body, kind: str) -> tuple[str, ...]:
    """Return what a condition says."""
    condition = condition_of(body, kind)
    return tuple(text(condition, field) for field in ("status", "reason", "message"))
