"""What was decided about an object over time."""

from itertools import islice
from pathlib import Path

import click

from reconciler.audit.history.decisions import Event
from reconciler.audit.json_shapes import moved_json, object_json
from reconciler.cli.printing import print_json
from reconciler.cli.progress import HISTORY, doing
from reconciler.cli.selection import SEVERAL, AskedObject, open_subject
from reconciler.cli.tables import print_table
from reconciler.cli.world import by_whom, nothing_said, placed_text
from reconciler.model.moments import format_moment
from reconciler.model.text import printable, short_id


def run(directory: Path, asked: AskedObject, *, limit: int) -> int:
    """Print the decisions about an object."""
    subject = open_subject(directory, asked)
    events = subject.events(first=min(limit or SEVERAL, SEVERAL))
    with doing(HISTORY):
        found = list(islice(events, limit or None))
    if asked.output == "json":
        decisions = [moved_json(event) for event in found]
        print_json({"object": object_json(subject.key), "decisions": decisions})
    else:
        _print(found)
    if not found:
        click.echo(nothing_said(subject, asked.at), err=True)
        return 1
    if limit and len(found) == limit and next(events, None) is not None:
        click.echo(f"showing the newest {limit} decisions; --limit 0 shows all", err=True)
    return 0


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
