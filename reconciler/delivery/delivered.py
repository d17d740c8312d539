"""What delivery wants in a pass."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.model.body import Body
from reconciler.model.world import Fault, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What delivery wants: files to write and to delete, its record, and what is to be told.

    `record` is `None` where nothing is delivered anywhere.
    """

    written: Mapping[str, str] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    record: Body | None = None
    faults: tuple[Fault, ...] = ()
    traces: tuple[Trace, ...] = ()
    warnings: tuple[str, ...] = ()
