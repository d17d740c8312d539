"""What was decided about an object over time."""

from collections.abc import Callable
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.history.decisions import Event
from reconciler.audit.json_shapes import DecisionJson, ObjectJson, moved_json, object_json
from reconciler.cli.options import Since
from reconciler.cli.printing import print_json
from reconciler.cli.progress import HISTORY, doing
from reconciler.cli.selection import SEVERAL, AskedObject, open_subject
from reconciler.cli.tables import print_table
from reconciler.cli.world import by_whom, nothing_said, placed_text
from reconciler.library.subject import Subject
from reconciler.model.moments import format_moment
from reconciler.model.text import printable, short_id
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.resources import SystemClock


class HistoryJson(TypedDict):
    """What was decided about an object."""

    object: Annotated[ObjectJson, "What decisions about it bear: of a workload its binding."]
    decisions: Annotated[list[DecisionJson], "The newest first."]


def run(directory: Path, asked: AskedObject, *, limit: int, since: Since | None = None) -> int:
    """Print the decisions about an object."""
    subject = open_subject(directory, asked)
    events = subject.events(first=min(limit or SEVERAL, SEVERAL))
    if since is not None:
        events = takewhile(_is_since(subject, since), events)
    with doing(HISTORY):
        listed = list(islice(events, limit or None))
    if asked.output == "json":
        answer: HistoryJson = {
            "object": object_json(subject.key),
            "decisions": [moved_json(event) for event in listed],
        }
        print_json(answer)
    else:
        _print(listed)
    if not listed:
        click.echo(nothing_said(subject, asked.at), err=True)
        return 1
    if limit and len(listed) == limit and next(events, None) is not None:
        click.echo(f"showing the newest {limit} decisions; --limit 0 shows all", err=True)
    return 0


def _is_since(subject: Subject, since: Since) -> Callable[[Event], bool]:
    """Return what says whether a decision, of those newest first, is not too old."""
    begin = since.begin(SystemClock().now())
    if begin is not None:
        return lambda event: event.at >= begin
    after = resolve_revision(subject.revisions.repository, since.revision or "HEAD")
    return lambda event: not subject.revisions.leads_to(event.commit.revision, after)


def _print(events: list[Event]) -> None:
    """Print a table; the notes come below."""
    rows = [
        [
            short_id(event.commit.revision),
            format_moment(event.at),
            placed_text(event.before),
            placed_text(event.after),
            event.why,
            by_whom(event),
        ]
        for event in events
    ]
    if rows:
        print_table(["COMMIT", "WHEN", "FROM", "TO", "WHY", "BY"], rows)
    for event in events:
        place = short_id(event.commit.revision)
        if event.decision is not None and event.decision.problem:
            click.echo(printable(f"{place}: {event.decision.problem}"))
        if event.decision is not None and event.note:
            click.echo(printable(f"{place}: {event.note}"))
