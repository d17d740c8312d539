"""One object as the page shows it: asked as `why`, `history` and `events` ask."""

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.audit.fleet.delivered_copies import CopiesOf
from reconciler.audit.fleet.placed import named, placed_on
from reconciler.cli.objects.event_reader import EventReader
from reconciler.core.dialects import dialect_of
from reconciler.dialects.copy_status import Report
from reconciler.library.subject import Subject
from reconciler.model.settings import settings_in
from reconciler.page.chosen_objects import called
from reconciler.page.links import Anchor, Links
from reconciler.page.object_detail import ObjectView, copy_lines, history_line, object_view
from reconciler.page.pictures.past import Past
from reconciler.page.states import SUSPENDED, ObjectStates
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
FULL = "full"  # in an address: why and the history, too


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
    links: Links,
    *,
    states: ObjectStates,
    past: Past,
    unknown: str = "",
) -> ToldObject:
    """Return all that is known of one object.

    Args:
        revisions: The history of the repository.
        replay: What computes passes of it again.
        head: Full hex id of the commit that is looked at.
        world: Its files.
        key: What decisions about the object bear.
        links: Where views lead.
        states: How objects are.
        past: What the newest commits moved.
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
        copies=copy_lines(why.placed, why.copies, links),
        coming=why.later,
        faults=why.faults,
        then=why.then is not None,
        decided=None if why.event is None else history_line(why.event),
        shifts=why.shifts,
        history=[history_line(event) for event in events],
        events=told[::-1],
        note=note,
        **_around(world, key, links, states, past),
    )
    awaits = settings_in(world).assume_after_seconds is not None
    is_brief = awaits and any(one.status.report is Report.NONE for one in why.copies)
    return ToldObject(view, bool(depending), is_brief)


def object_outline(
    world: "World",
    key: "ObjectKey",
    links: Links,
    states: ObjectStates,
    past: Past,
    *,
    note: str = "",
) -> ObjectView:
    """Return what is known of one object without asking why it is where it is.

    With a `note` it is asked again by whoever wants to, without one it is asked next.

    Args:
        world: That has it.
        key: What decisions about the object bear.
        links: Where views lead.
        states: How objects are.
        past: What the newest commits moved.
        note: Why no more is told, `""` if it is asked next.
    """
    placed = placed_on(world, key)
    copies = CopiesOf(world, SystemClock().now(), only=(key,))(key)
    person = named(world, key)
    around = _around(world, key, links, states, past)
    around |= {"again": _more(person, links, "again")} if note else {}
    return object_view(
        key,
        _title(person),
        placed,
        None,
        copies=copy_lines(placed, copies, links),
        note=note,
        asks="" if note else _more(person, links, FULL),
        **around,
    )


def _more(person: "ObjectKey", links: Links, word: str) -> str:
    """Return where an object is asked about with a word more: once more, or in full."""
    found = links.object(person)
    return f"{found}&{word}=1" if found else ""


def _around(
    world: "World", key: "ObjectKey", links: Links, states: ObjectStates, past: Past
) -> dict[str, Any]:
    """Return what an object belongs to, how it is and was, and what a person may ask next."""
    person, output, dialect = named(world, key), world.outputs.get(key), dialect_of(key.group)
    policy = None
    if output is not None and dialect is not None:
        policy = dialect.view().policy_of(output.body)
    placed = placed_on(world, key)
    found = states.of(key, person, placed)
    steps = [
        Anchor("Rebalance it", links.ask("rebalance", person)),
        Anchor("Resume it" if SUSPENDED in found else "Suspend it", links.ask("suspend", person)),
    ]
    steps += [
        Anchor(f"What if {name} fails?", links.view("what-if", fail=str(name)))
        for name, _ in placed[:3]
    ]
    return {
        "named": person,
        "states": found,
        "why": states.why(key),
        "policy": None if policy is None else Anchor(called(policy), links.manifest(policy)),
        "manifest": Anchor("its manifest and outputs", links.manifest(person)),
        "steps_on": [one for one in steps if one.href],
        "again": links.object(person),
        "past": past.of_object(key, placed),
        "past_note": past.reading,
        "moved": past.moves_of(key),
    }


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
