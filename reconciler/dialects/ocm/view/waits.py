"""What a placement waits for: scores that take effect later, tolerations and scores that end."""

from collections.abc import Iterator
from datetime import datetime

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.decisions.placement_draft import Draft
from reconciler.dialects.ocm.decisions.sync import SyncVerdict
from reconciler.dialects.ocm.scheduler.filter_taints import tolerance
from reconciler.model.identity import ClusterName
from reconciler.model.moments import ceiling
from reconciler.model.wait import Wait
from reconciler.schedule.framework import Mask, positions_of

HELD = "scores changed, and its decisions stay"


def waits_of(
    draft: Draft,
    verdict: SyncVerdict,
    members: Members,
    expiring: tuple[tuple[str, datetime], ...],
    held_until: datetime | None,
    now: datetime,
) -> tuple[Wait, ...]:
    """Return what a placement waits for.

    Args:
        draft: The placement.
        verdict: What the scheduler says of it.
        members: The clusters.
        expiring: The scores that count, in words, each with the moment at which it has run out.
        held_until: When changed scores take effect, `None` if nothing holds them back.
        now: Moment of the pass.
    """
    key = draft.manifest.key
    found = [(moment, f"{score} is valid", "") for score, moment in expiring]
    if held_until is not None:
        found.append((held_until, HELD, "it may move"))
    for name, taints, until in _tolerated(verdict, members, now):
        found.append((until, f"{name} has {taints} and is tolerated", f"it leaves {name}"))
    subject = f"{key.namespace}/{key.name}"
    return tuple(
        Wait(until=until, key=key, subject=subject, reason=reason, then=then)
        for until, reason, then in found
    )


def _tolerated(
    verdict: SyncVerdict, members: Members, now: datetime
) -> Iterator[tuple[ClusterName, str, datetime]]:
    """Yield the decided clusters whose taints are tolerated for a while."""
    tolerations, decided = verdict.request.placement.tolerations, verdict.request.decided
    for taints, carriers in members.fleet.by_taints.items():
        clusters = Mask(carriers & decided)
        if clusters and taints:
            until = ceiling(tolerance(taints, tolerations, decided=True, now=now).until)
            if until is not None:
                told = ", ".join(f"the taint {taint}" for taint in taints)
                names = (members.fleet.names[position] for position in positions_of(clusters))
                yield from ((name, told, until) for name in names)
