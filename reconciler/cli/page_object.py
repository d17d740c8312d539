"""One object as the page shows it: asked as `why`, `history` and `events` ask."""

from itertools import islice
from typing import TYPE_CHECKING

from reconciler.audit.placed import placed_on
from reconciler.cli.event_reader import EventReader
from reconciler.library.subject import Subject
from reconciler.page.matrix import called, named
from reconciler.page.object_detail import ObjectView, copy_lines, history_line, object_view
from reconciler.shell.branch_files import branch_files
from reconciler.shell.clock import SystemClock

if TYPE_CHECKING:
    from reconciler.audit.reasons import Why
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.revisions import GitRevisions

EVENTS, HISTORY = 20, 8


def object_detail(
    revisions: "GitRevisions", head: str, world: "World", key: "ObjectKey"
) -> ObjectView:
    """Return all that is known of one object.

    Args:
        revisions: The history of the repository.
        head: Full hex id of the commit that is looked at.
        world: Its files.
        key: What decisions about the object bear.
    """
    from reconciler.audit.reasons import explain_why
    from reconciler.audit.replay import Replay

    person = named(world, key)
    subject = Subject(
        word=called(person),
        named=person,
        key=key,
        world=world,
        head=head,
        revisions=revisions,
        replay=Replay(revisions),
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
    told, _ = EventReader(revisions, world.output_root, key, warnings=False).read(
        head, None, EVENTS
    )
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


def _coming(why: "Why") -> object:
    return why.later


def _title(person: "ObjectKey") -> str:
    """Return an object as people call it, with where it is."""
    scope = f" in {person.namespace}" if person.namespace else ""
    return f"{called(person)}{scope}"
