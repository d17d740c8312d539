"""One object as the page shows it, asked as `why`, `history` and `events` ask.

Its texts are shown as they are, or as what a pass changed. Rebalancers have a view of all: their
columns, their progress, and what comes of them.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.audit.fleet.placed import named, parts_of, placed_on
from reconciler.audit.fleet.problems import lacking_text
from reconciler.audit.history.revisions import UnreadableRevision
from reconciler.audit.named_object import near, spelled
from reconciler.cli.event_reader import EventReader
from reconciler.cli.page.views import ComingView, PageViews
from reconciler.cli.printing import coming_cell
from reconciler.cli.tables import Layout, rows_of, suspended_kinds, table_of
from reconciler.core.dialects import KINDS, decision_on, dialect_of
from reconciler.core.own_outputs import own_outputs
from reconciler.dialects.view import Report
from reconciler.errors import UsageError
from reconciler.library.subject import Subject
from reconciler.manifests.text.emitter import encode
from reconciler.model.fields import mapping
from reconciler.model.moments import format_moment
from reconciler.model.records import replace
from reconciler.model.settings import settings_in
from reconciler.page.links import Anchor, Links
from reconciler.page.lists import SUSPENDED, UNPLACED, ObjectStates, State, called
from reconciler.page.objects import (
    ManifestView,
    ObjectView,
    ShownText,
    copy_lines,
    history_line,
    move_lines,
    object_view,
    shown_difference,
    shown_text,
)
from reconciler.page.pictures import Past
from reconciler.rebalance.surge import surge_in
from reconciler.shell.reading.sources import branch_files
from reconciler.shell.resources import SystemClock

if TYPE_CHECKING:
    from reconciler.audit.history.decisions import Event
    from reconciler.audit.previews.foresight import Coming
    from reconciler.audit.reasons import Why
    from reconciler.audit.replay import Replay
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.reading.revisions import GitRevisions


EVENTS, HISTORY = 20, 8
MOST_FAILING = 3  # clusters of which each has a button; on more, each has its own page
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
    reader = EventReader(revisions, key, replay=replay)
    happenings, _ = reader.read(head, None, EVENTS)
    note = f"it depends on others ({depending[0]}); {unknown}" if depending else why.note
    around = _around(world, key, links, states, past)
    is_so: Sequence[State] = around["states"]
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
        rollout=() if (told_now := why.now or why.then) is None else told_now.rollout,
        decided=None if why.event is None else history_line(why.event),
        shifts=why.shifts,
        history=[history_line(event) for event in events],
        events=happenings[::-1],
        note=note,
        cause=lacking_text(why.explanation) if UNPLACED in is_so and why.explanation else "",
        **around,
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
    address = links.object(person)
    return f"{address}&{word}=1" if address else ""


def _around(
    world: "World", key: "ObjectKey", links: Links, states: ObjectStates, past: Past
) -> dict[str, Any]:
    """Return what an object belongs to, how it is and was, and what a person may ask next."""
    person, output, dialect = named(world, key), world.outputs.get(key), dialect_of(key.group)
    policy = None
    if output is not None and dialect is not None:
        policy = dialect.view().outputs.policy_of(output.body)
    placed = placed_on(world, key)
    nearby = states.of(key, person, placed)
    steps = [
        Anchor("Rebalance it", links.ask("rebalance", person)),
        Anchor("Resume it" if SUSPENDED in nearby else "Suspend it", links.ask("suspend", person)),
    ]
    steps += [
        Anchor(f"What if {name} fails?", links.view("what-if", fail=str(name)))
        for name, _ in (placed if len(placed) <= MOST_FAILING else ())
    ]
    return {
        "named": person,
        "states": nearby,
        "why": states.why(key, placed),
        "policy": None if policy is None else Anchor(called(policy), links.manifest(policy)),
        "manifest": Anchor("its manifest and outputs", links.manifest(person)),
        "steps_on": [one for one in steps if one.href],
        "again": links.object(person),
        "past": past.of_object(key, placed),
        "past_note": past.reading,
        "moved": past.moves_of(key),
        "move": move_lines(placed, None if output is None else surge_in(output.body)),
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


PASSES = 5  # whose changes can be chosen


def manifest_view(views: "PageViews", key: "ObjectKey", at: str) -> ManifestView:
    """Return the view.

    Args:
        views: What is known of the commit.
        key: What a person wrote, or what is decided about it.
        at: Full hex id of the pass of which the change is shown, `""` for the present files.

    Raises:
        UsageError: There is no such object, or no such pass.
    """
    world = views.world
    decided = decision_on(key)
    outputs = () if decided is None else parts_of(world, decided)
    own = world.outputs.get(decided or key)
    if key not in world.inputs and own is None and not outputs:
        raise UsageError(f"there is no {spelled(key)} at this commit{near(world, key)}")
    texts: list[ShownText] = []
    if at:
        texts = list(_changes(views, decided or key, at))
    else:
        documents = [world.inputs.get(key), world.outputs.get(key), own, *outputs]
        seen = {one.origin: one for one in documents if one is not None}
        texts = [
            shown_text(
                one.origin.path, one.body, is_here=not world.apart or one.key in world.inputs
            )
            for one in seen.values()
        ]
    is_output = decided is not None and decided in world.outputs
    return ManifestView(
        key=key,
        texts=texts,
        object=Anchor(called(key), views.links.object(key)) if is_output else None,
        passes=[*_passes(views, key, decided)] if decided is not None else [],
        chosen=at,
    )


def _passes(
    views: "PageViews", key: "ObjectKey", decided: "ObjectKey"
) -> Iterator[tuple[Anchor, str]]:
    """Yield the newest passes that moved the object, with when."""
    for step in views.passes.newest(PASSES):
        if any(one.key == decided for one in step.every):
            anchor = Anchor(step.subject, views.links.manifest(key, step.revision))
            yield anchor, format_moment(step.at)


def _changes(views: "PageViews", key: "ObjectKey", at: str) -> Iterator[ShownText]:
    """Yield what a pass changed in the outputs of an object, file by file."""
    revisions = views.revisions
    views.passes.check("at", at)
    commit = revisions.commit_at(at)
    only = own_outputs(key, revisions.layout.output_root)
    sides: list[dict[str, Body]] = []
    for revision in (commit.parent, commit.revision):
        world = None if revision is None else revisions.world_at(revision, only=only)
        if isinstance(world, UnreadableRevision):
            raise UsageError(world.reason)
        sides.append({} if world is None else dict(_outputs(world, key)))
    before, after = sides
    for path in sorted({*before, *after}):
        difference = shown_difference(path, before.get(path), after.get(path))
        if difference is not None:
            yield difference


def _outputs(world: "World", key: "ObjectKey") -> "Iterator[tuple[str, Body]]":
    """Yield the outputs of an object by path."""
    own = world.outputs.get(key)
    for one in (*(() if own is None else (own,)), *parts_of(world, key)):
        yield one.origin.path, one.body


UNKNOWN = "not computed yet"


class RebalancerRow(NamedTuple):
    """One rebalancer: its columns, its name, the lines of its status."""

    cells: Sequence[str]
    name: str
    status: Sequence[str]


class RebalancersView(NamedTuple):
    """All of them, a table each kind, and what comes of them."""

    tables: Sequence[tuple[str, Sequence[str], Sequence[RebalancerRow]]]
    coming: ComingView


def rebalancers_view(views: PageViews, problem: str = "") -> RebalancersView:
    """Return every rebalancer with its progress, and its next run.

    Args:
        views: What is known of the commit.
        problem: As for `PageViews.unknown`.
    """
    world = views.world
    kinds: dict[tuple[str, str], list[ObjectKey]] = {}
    for key in sorted(key for key in world.inputs if key[:2] in KINDS.removable):
        kinds.setdefault((key.group, key.kind), []).append(key)
    every = [key for keys in kinds.values() for key in keys]
    coming = views.coming(problem) if every else ComingView(())
    comes: dict[ObjectKey, list[Coming]] = {key: [] for key in every}
    for move in coming.found:
        comes.get(move.key, []).append(move)
    found = rows_of(world, every, SystemClock().now(), suspensions=views.suspensions)
    rows = {
        key: replace(row, coming=UNKNOWN if coming.note else coming_cell(comes[key]))
        for key, row in found.items()
    }
    tables = []
    for kind, keys in kinds.items():
        namespaced = any(key.namespace for key in keys)
        layout = Layout(wide=True, namespaces=True, suspended=suspended_kinds(rows))
        table = table_of(kind, layout, namespaced=namespaced)
        listed = [
            RebalancerRow(table.cells(key, rows[key]), key.name, _progress(world, key))
            for key in keys
        ]
        tables.append((kind[1], table.titles, listed))
    announced = [move for move in coming.found if move.key in comes]
    return RebalancersView(tables, ComingView(announced, coming.note))


def _progress(world: "World", key: "ObjectKey") -> list[str]:
    """Return the status of a rebalancer, line by line, `[]` if no pass has seen it."""
    ours = world.outputs.get(key)
    status = {} if ours is None else mapping(ours.body, "status")
    return encode(dict(status)).splitlines() if status else []
