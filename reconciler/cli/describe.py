"""An object with all that is known of it."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.audit.fleet.placed import is_present, placed_on
from reconciler.audit.fleet.suspensions import suspenders_of
from reconciler.audit.named_object import find_object, near, spelled
from reconciler.cli import description
from reconciler.cli.description import Line, aligned, ruled
from reconciler.cli.event_reader import EventReader
from reconciler.cli.printing import suspender_sentences
from reconciler.cli.progress import HISTORY, doing
from reconciler.cli.tables import shown_body
from reconciler.cli.world import by_whom, note_if_empty, open_revisions, placed_text
from reconciler.core.dialects import RUNS
from reconciler.errors import UsageError
from reconciler.library.subject import Subject, subject_at
from reconciler.manifests.columns import duration
from reconciler.manifests.secrets import without_secrets
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.moments import format_moment
from reconciler.model.text import printable, short_id
from reconciler.model.world import World
from reconciler.shell.git.command import HistoryMissing
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.resources import SystemClock

NEWEST_EVENTS = 10


def run(
    directory: Path, word: str, *, namespace: str, at: str, events: bool, layout: RepositoryLayout
) -> int:
    """Print all that is known of an object."""
    revisions = open_revisions(directory, layout)
    head = resolve_revision(revisions.repository, at)
    world = revisions.loader.load(head)
    note_if_empty(directory, world)
    key = find_object(world, word, namespace)
    if not is_present(world, key):
        click.echo(f"there is no {spelled(key)}{near(world, key)}", err=True)
        return 1
    subject = _decided(revisions, head, word, namespace)
    with doing(HISTORY):
        lines = [*_object(world, key), *_suspended(world, key), *_decision(subject)]
        if events:
            lines += _events(revisions, head, key, subject)
    for line in aligned(lines):
        click.echo(line)
    return 0


def _object(world: World, key: ObjectKey) -> Iterator[Line]:
    """Yield what the files say of it."""
    now = SystemClock().now()
    body = without_secrets(shown_body(as_of(world, now), key))
    reported = world.reported.get(key)
    report = None if reported is None else reported.report
    places = {m.origin.path for m in (world.inputs.get(key), world.outputs.get(key), report) if m}
    yield from description.heading(body, key)
    yield from (("File:" if i == 0 else "", path) for i, path in enumerate(sorted(places)))
    yield from description.fields(body)
    yield from description.conditions(body, now)


def _suspended(world: World, key: ObjectKey) -> Iterator[Line]:
    """Yield what suspends it, each with its file and with what a resume would move."""
    sentences = suspender_sentences(world, suspenders_of(world, key), SystemClock().now())
    yield from (("Suspended:" if at == 0 else "", line) for at, line in enumerate(sentences))


def _decided(revisions: GitRevisions, head: str, word: str, namespace: str) -> Subject | None:
    """Return what decisions about it are asked of, `None` if nothing is decided about its kind."""
    try:
        return subject_at(revisions, head, word, namespace)
    except UsageError:
        return None


def _decision(subject: Subject | None) -> Iterator[Line]:
    """Yield where it is, since when, and by whose commit."""
    if subject is None:
        return
    placed = placed_on(subject.world, subject.key)
    if not placed and subject.key not in subject.world.outputs:
        carriers = subject.carriers()
        yield "Decision:", f"carried by {carriers}" if carriers else "<none>"
        return
    yield "Decision:", None
    yield "  Object:", f"{subject.key.kind}/{subject.key.name}"
    yield "  Clusters:", printable(placed_text(placed))
    try:
        event = next(subject.events(), None)
    except HistoryMissing as error:
        yield "  Decided:", printable(str(error))
        return
    if event is not None:
        commit = short_id(event.commit.revision)
        yield "  Decided:", printable(f"{format_moment(event.at)} in {commit}: {event.why}")
        yield "  Because:", printable(by_whom(event))


def _events(
    revisions: GitRevisions, head: str, key: ObjectKey, subject: Subject | None
) -> Iterator[Line]:
    """Yield the newest events, the newest last; what was computed for the decision serves them."""
    own = subject is None or key[:2] in RUNS
    asked, replay = (key, None) if own or subject is None else (subject.key, subject.replay)
    reader = EventReader(revisions, asked, replay=replay)
    happenings, older = reader.read(head, None, NEWEST_EVENTS)
    if not happenings:
        yield "Events:", "<none>"
        return
    now: datetime = SystemClock().now()
    rows = [
        (
            item.told.type,
            item.told.reason,
            duration(now - item.at),
            item.told.source,
            short_id(item.commit.revision),
            item.told.message,
        )
        for item in happenings
    ]
    yield "Events:" + (f"  (the newest {NEWEST_EVENTS})" if older else ""), None
    yield from ruled(("Type", "Reason", "Age", "From", "Commit", "Message"), rows)
