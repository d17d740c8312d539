"""Assumed availability: how long a cluster may be silent before its copy counts as running."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reconciler.model.moments import add, span

ASSUMED = "Assumed"
"""What the reason of each condition has in it that is only assumed to be so."""


@dataclass(frozen=True, slots=True)
class Silence:
    """How the silence of clusters is taken.

    Attributes:
        after_seconds: How long one may be silent before its copy counts as running, zero or more;
            `None` means for ever.
        is_written: Whether that is written to outputs when its moment comes, as older rules had it.
    """

    after_seconds: int | None = None
    is_written: bool = False


NEVER = Silence()
"""Nothing is assumed."""


class Assumption(NamedTuple):
    """Whether a silent cluster counts as applied, healthy and available.

    `until` is the moment at which it will, `None` if it does already or never will.
    """

    available: bool
    until: datetime | None


def assume(placed_at: datetime, after_seconds: int | None, now: datetime) -> Assumption:
    """Return what is assumed of a cluster that never reported.

    Args:
        placed_at: Moment of the pass that put the workload there.
        after_seconds: How long to wait, zero or more; `None` means never.
        now: Aware UTC.

    Source: ours; without agents in the clusters there may be no reporter.
    """
    if after_seconds is None:
        return Assumption(available=False, until=None)
    moment = add(placed_at, span(seconds=after_seconds))
    if now >= moment:
        return Assumption(available=True, until=None)
    return Assumption(available=False, until=moment)
