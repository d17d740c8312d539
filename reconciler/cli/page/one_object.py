"""One object as the page shows it: asked as `why`, `history` and `events` ask."""

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from reconciler.cli.objects.event_reader import EventReader
from reconciler.dialects.copy_status import Report
from reconciler.library.subject import Subject
from reconciler.model.settings import settings_in
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


class ToldObject(NamedTuple):
    """What is known of an object; for the rest see `PageReply`."""

    view: ObjectView
    lacks: bool
    brief: bool


def object_detail(
    revisions: "GitRevisions",
    replay: "Replay",
    head: str,
    world: "World",
    key: "ObjectKey",
    *,
    unknown: str = "",
) -> ToldObject:
    """Return all that is known of one object.

    Args:
        revisions: The history of the repository.
        replay: What computes passes of it again.
        head: Full hex id of the commit that is looked at.
        world: Its files.
        key: What decisions about the object bear.
        unknown: Why whole passes are not computed here, `""` if they are.
    """
    depending: list[str] = []
    if unknown:
        replay = replace(replay, depending=depending)
    subject = _subject(revisions, replay, head, world, key)
    events = list(islice(subject.events(whole=False, first=HISTORY), HISTORY))
    why = _why(subject, events)
    reader = EventReader(revisions, key, warnings=False, replay=replay)
    told, _ = reader.read(head, None, EVENTS)
    note = f"it depends on others ({depending[0]}); {unknown}" if depending else why.note
    view = object_view(
        subject.key,
        _title(subject.named),
        why.placed,
        why.explanation,
        question=why.question,
        suspension=why.suspension,
        copies=copy_lines(why.placed, why.copies),
        coming=why.later,
        faults=why.faults,
        then=why.then is not None,
        decided=None if why.event is None else history_line(why.event),
        shifts=why.shifts,
        history=[history_line(event) for event in events],
        events=told[::-1],
        note=note,
    )
    awaits = settings_in(world).assume_after_seconds is not None
    is_brief = awaits and any(one.status.report is Report.NONE for one in why.copies)
    return ToldObject(view, bool(depending), is_brief)


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


def _title(person: "ObjectKey") -> str:
    """Return an object as people call it, with where it is."""
    scope = f" in {person.namespace}" if person.namespace else ""
    return f"{called(person)}{scope}"
