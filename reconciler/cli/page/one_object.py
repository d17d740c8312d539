"""One object as the page shows it: asked as `why`, `history` and `events` ask."""

from itertools import islice
from typing import TYPE_CHECKING

from reconciler.audit.fleet.delivered_copies import CopiesOf
from reconciler.audit.fleet.placed import placed_on
from reconciler.cli.objects.event_reader import EventReader
from reconciler.library.subject import Subject
from reconciler.page.matrix import called, named
from reconciler.page.object_detail import ObjectView, copy_lines, history_line, object_view
from reconciler.shell.clock import SystemClock
from reconciler.shell.reading.branch_files import branch_files

if TYPE_CHECKING:
    from reconciler.audit.proofs.replay import Replay
    from reconciler.audit.reasons import Why
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.reading.revisions import GitRevisions

EVENTS, HISTORY = 20, 8
ON_ITS_WAY = "why, what comes, history and events are being computed, and appear here by themselves"


def object_detail(
    revisions: "GitRevisions", replay: "Replay", head: str, world: "World", key: "ObjectKey"
) -> ObjectView:
    """Return all that is known of one object.

    Args:
        revisions: The history of the repository.
        replay: What computes passes of it again.
        head: Full hex id of the commit that is looked at.
        world: Its files.
        key: What decisions about the object bear.
    """
    from reconciler.audit.reasons import explain_why

    person = named(world, key)
    subject = Subject(
        word=called(person),
        named=person,
        key=key,
        world=world,
        head=head,
        revisions=revisions,
        replay=replay,
    )
    events = list(islice(subject.events(whole=False, first=HISTORY), HISTORY))
    why = explain_why(
        key,
        world,
        events,
        subject.replay,
        named=person,
        clock=SystemClock().now(),
        elsewhere=branch_files(revisions.repository, world),
    )
    reader = EventReader(revisions, key, warnings=False, replay=replay)
    told, _ = reader.read(head, None, EVENTS)
    return object_view(
        key,
        _title(person),
        placed_on(world, key),
        why.explanation,
        then=why.then is not None,
        decided=None if why.event is None else history_line(why.event),
        copies=copy_lines(why.placed, why.copies),
        shifts=why.shifts,
        coming=_coming(why),
        history=[history_line(event) for event in events],
        events=told[::-1],
        faults=why.faults,
        note=why.note,
    )


def object_outline(
    revisions: "GitRevisions",
    world: "World",
    key: "ObjectKey",
    uncomputed: str,
) -> ObjectView:
    """Return what is known of one object without computing a pass.

    Args:
        revisions: The history of the repository.
        world: Its files at the commit that is looked at.
        key: What decisions about the object bear.
        uncomputed: Why no pass is computed, `""` if the answer of passes is on its way.
    """
    person, placed = named(world, key), placed_on(world, key)
    copies = CopiesOf(world, branch_files(revisions.repository, world))(key)
    return object_view(
        key,
        _title(person),
        placed,
        None,
        copies=copy_lines(placed, copies),
        note=_instead(person, uncomputed) if uncomputed else ON_ITS_WAY,
    )


def _instead(person: "ObjectKey", uncomputed: str) -> str:
    """Return which verb says what the page does not."""
    space = f" -n {person.namespace}" if person.namespace else ""
    return f"{uncomputed}: reconciler why {called(person)}{space} says why it is where it is"


def _coming(why: "Why") -> object:
    return why.later


def _title(person: "ObjectKey") -> str:
    """Return an object as people call it, with where it is."""
    scope = f" in {person.namespace}" if person.namespace else ""
    return f"{called(person)}{scope}"
