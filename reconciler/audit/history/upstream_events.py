"""Upstream's events, told by what a commit changed in our outputs.

Upstream's controllers record an event when they act; here the act is a commit, and the files
before and after say which event it was. Reasons and messages are upstream's, so that people and
their alerts find the words they know. What upstream tells in a condition only is told with the
reason of that condition.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.placed import owner_of
from reconciler.audit.history.revisions import Commit
from reconciler.core.dialects import dialect_of
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.upstream_event import WARNING, ObjectEvent, OutputChange, UpstreamEvent
from reconciler.rebalance import events as rebalance_events
from reconciler.rebalance.kinds import REBALANCER, TRIGGER

EDITED = "OutputEdited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event.

    Attributes:
        key: The binding or placement that it is about.
        told: What it says.
        at: Moment of the pass, of a person's commit that of the commit.
        commit: The commit that did it.
    """

    key: ObjectKey
    told: UpstreamEvent
    at: datetime
    commit: Commit


def happened(
    key: ObjectKey,
    before: Body | None,
    after: Body | None,
    beside: Sequence[Body] = (),
    evicted: Sequence[str] = (),
) -> Iterator[ObjectEvent]:
    """Yield what one output's change was, each with the object that it is about, in order.

    Args:
        key: Of the output.
        before: What it held, `None` if it is new.
        after: What it holds, `None` if it is gone: then nothing is told, as upstream does.
        beside: The other outputs as the same commit left them.
        evicted: Clusters that it was made to leave, where the files do not say so.
    """
    if after is None:
        return
    change = OutputChange(key=key, before=before or {}, after=after, beside=beside, evicted=evicted)
    if (key.group, key.kind) in (REBALANCER, TRIGGER):
        yield from rebalance_events.events_of(change)
    elif (dialect := dialect_of(key.group)) is not None:
        yield from dialect.view().events(change)


def is_edited(key: ObjectKey, body: Body) -> bool:
    """Return whether the decision in an output is another one than a pass wrote there."""
    dialect = dialect_of(key.group)
    return dialect is not None and dialect.view().is_edited(body)


def edited(key: ObjectKey, body: Body, commit: Commit, *, gone: bool, ours: bool) -> ObjectEvent:
    """Return the event of a person's edit of an output; that of a part is about its placement.

    Args:
        key: Of the output.
        body: What it holds, or held if it is gone.
        commit: The person's.
        gone: Whether the file was removed.
        ours: Whether the commit bears the name under which passes are committed.
    """
    owner = owner_of(key, body)
    did = "removed" if gone else "edited"
    did = did.capitalize() if owner is None else f"{key.kind} {key.name} {did}"
    by = "under the name of the reconciler," if ours else "by"
    return owner or key, UpstreamEvent(
        WARNING, EDITED, f"{did} by hand {by} {commit.author}: {commit.subject}"
    )
