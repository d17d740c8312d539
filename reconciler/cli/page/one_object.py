"""One object as the page shows it: asked as `why`, `history` and `events` ask."""

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from reconciler.cli.objects.event_reader import EventReader
from reconciler.core.record import next_moment
from reconciler.dialects.alone import DependsOnOthers
from reconciler.library.subject import Subject
from reconciler.page.matrix import called, named
from reconciler.page.object_detail import ObjectView, copy_lines, history_line, object_view
from reconciler.shell.clock import SystemClock
from reconciler.shell.reading.branch_files import branch_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.audit.history.decision_history import Event
    from reconciler.audit.proofs.replay import Replay
    from reconciler.audit.reasons import Why
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.reading.revisions import GitRevisions

EVENTS, HISTORY = 20, 8
ON_ITS_WAY = (
    "since when, and all that happened to it, is being computed, and appears here by itself"
)


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
    subject = _subject(revisions, replay, head, world, key)
    events = list(islice(subject.events(whole=False, first=HISTORY), HISTORY))
    why = _why(subject, events)
    reader = EventReader(revisions, key, warnings=False, replay=replay)
    told, _ = reader.read(head, None, EVENTS)
    return replace(
        _view(subject, why),
        then=why.then is not None,
        decided=None if why.event is None else history_line(why.event),
        shifts=why.shifts,
        history=[history_line(event) for event in events],
        events=told[::-1],
        note=why.note,
    )


def object_present(
    revisions: "GitRevisions",
    replay: "Replay",
    head: str,
    world: "World",
    key: "ObjectKey",
    unreplayed: str,
) -> ObjectView:
    """Return what is known of one object without computing a pass of the past, or a whole one.

    Args:
        revisions: The history of the repository.
        replay: What answers for single objects.
        head: Full hex id of the commit that is looked at.
        world: Its files.
        key: What decisions about the object bear.
        unreplayed: Why no more is computed, `""` if the rest is on its way.
    """
    subject = _subject(revisions, replace(replay, depending=[]), head, world, key)
    rest = _instead(subject.named, unreplayed) if unreplayed else ON_ITS_WAY
    why = _why(subject, [])
    alone = replay.alone.ask(world, key, next_moment(world, SystemClock().now()))
    if isinstance(alone, DependsOnOthers):
        rest = f"why it is there depends on others ({alone.reason}); {rest}"
    return replace(_view(subject, why), note=rest)


def _subject(
    revisions: "GitRevisions", replay: "Replay", head: str, world: "World", key: "ObjectKey"
) -> Subject:
    person = named(world, key)
    return Subject(
        word=called(person),
        named=person,
        key=key,
        world=world,
        head=head,
        revisions=revisions,
        replay=replay,
    )


def _why(subject: Subject, events: "Sequence[Event]") -> "Why":
    from reconciler.audit.reasons import explain_why

    return explain_why(
        subject.key,
        subject.world,
        events,
        subject.replay,
        named=subject.named,
        clock=SystemClock().now(),
        elsewhere=branch_files(subject.revisions.repository, subject.world),
    )


def _view(subject: Subject, why: "Why") -> ObjectView:
    """Return what is told of an object in any case."""
    return object_view(
        subject.key,
        _title(subject.named),
        why.placed,
        why.explanation,
        copies=copy_lines(why.placed, why.copies),
        coming=_coming(why),
        faults=why.faults,
    )


def _instead(person: "ObjectKey", unreplayed: str) -> str:
    """Return which verb says what the page does not."""
    space = f" -n {person.namespace}" if person.namespace else ""
    return f"{unreplayed}: reconciler why {called(person)}{space} says since when it is there"


def _coming(why: "Why") -> object:
    return why.later


def _title(person: "ObjectKey") -> str:
    """Return an object as people call it, with where it is."""
    scope = f" in {person.namespace}" if person.namespace else ""
    return f"{called(person)}{scope}"
