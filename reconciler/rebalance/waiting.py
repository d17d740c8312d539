"""What a rebalancer or a trigger waits for."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

REMOVED = "its manifest is removed"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A moment, why nothing happens before, and what happens then; clauses of one sentence."""

    until: datetime
    reason: str
    then: str


def waiting(*found: tuple[datetime | None, str, str]) -> tuple[Waiting, ...]:
    """Return those of the waits that have a moment.

    >>> waiting((None, "it is kept", "it is removed"))
    ()
    """
    return tuple(Waiting(until, why, then) for until, why, then in found if until is not None)


def kept(waits: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """Return the waits of one whose manifest is not removed: its status says that it is over."""
    over = "its status says Expired"
    return tuple(replace(one, then=over) if one.then == REMOVED else one for one in waits)
