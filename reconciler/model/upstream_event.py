"""An event in upstream's words, and what events of every API are read from: conditions."""

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey

NORMAL, WARNING = "Normal", "Warning"
OURS = "reconciler"


@dataclass(frozen=True, slots=True)
class UpstreamEvent:
    """What an event says: Normal or Warning, upstream's reason, upstream's message.

    `source` is upstream's component that records it or, where it has it in a status only, writes
    that status; `OURS` of what no upstream knows.
    """

    type: str
    reason: str
    message: str
    source: str = OURS


ObjectEvent = tuple[ObjectKey, UpstreamEvent]
"""What an event is about, and what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChange:
    """What a pass changed in one output.

    Attributes:
        key: Of the output.
        before: What it held, empty if it is new.
        after: What it holds.
        beside: The other outputs as the same commit left them.
        evicted: Clusters that it was made to leave, where neither state says so.
    """

    key: ObjectKey
    before: Body
    after: Body
    beside: Sequence[Body] = ()
    evicted: Sequence[str] = ()


def condition_of(body: Body, kind: str) -> Body:
    """Return a condition, an empty one if there is none."""
    conditions = bodies(mapping(body, "status"), "conditions")
    return next((c for c in conditions if c.get("type") == kind), {})


def said(body: Body, kind: str) -> tuple[str, ...]:
    """Return what a condition says."""
    condition = condition_of(body, kind)
    return tuple(text(condition, field) for field in ("status", "reason", "message"))
