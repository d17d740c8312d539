"""`reconciler events`: what upstream's controllers would have recorded, told from commits."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.objects import complete
from reconciler.cli.objects.object_words import object_argument
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.options import (
    output_option,
    poll_option,
    read_branch_option,
)
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.audit.history.upstream_events import Happening
    from reconciler.audit.previews.foresight import Coming
    from reconciler.cli.objects.event_reader import EventReader
    from reconciler.library.subject import Subject
    from reconciler.model.identity import ObjectKey
    from reconciler.shell.reading.revisions import GitRevisions


@click.command(name="events")
@object_argument(required=False)
@namespace_option
@output_option("text", "json", says="How to print them; with --watch json is one object a line.")
@click.option("-w", "--watch", is_flag=True, help="Go on with what the branch brings.")
@click.option(
    "--since",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Only commits after this revision.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="How many at most, the newest; 0 shows all.",
)
@click.option("--warnings", is_flag=True, help="Only what is of type Warning.")
@read_branch_option
@poll_option
@layout_options
@click.pass_obj
def command(
    directory: Path,
    *,
    word: str | None,
    namespace: str,
    output: str,
    watch: bool,
    since: str | None,
    limit: int,
    warnings: bool,
    branch: str | None,
    poll_seconds: float,
    layout: RepositoryLayout,
) -> int:
    r"""Print events as upstream's controllers record them, the newest last.

    They are told from the commits of passes: what each changed in the outputs. OBJECT is kind/name;
    a workload stands for its binding, a rebalancer or trigger for itself. Edits of outputs by hand
    are told, too. What passes will do by themselves is told below, but with --watch or
    --since.

    \b
    Examples:
      reconciler events
      reconciler events deployment/shop --since HEAD~20
      reconciler events --watch --warnings -o json
    \b
    Exit codes: 0 told, 1 the history cannot be read, 2 no such object or revision, 130 interrupted.
    """
    from reconciler.audit.json_shapes import coming_json
    from reconciler.cli.objects.event_reader import EventReader
    from reconciler.cli.objects.world import note_if_empty, open_revisions
    from reconciler.cli.printing.print_json import print_json
    from reconciler.core.dialects import KINDS
    from reconciler.library.subject import subject_at
    from reconciler.shell.git.revisions import resolve_revision

    revisions = open_revisions(directory, layout)
    repository = revisions.repository
    name = branch or (repository.head_branch() if watch else None)
    head = resolve_revision(repository, "HEAD") if name is None else repository.resolve(name)
    after = None if since is None else resolve_revision(repository, since)
    also = KINDS.removable
    subject = None if word is None else subject_at(revisions, head, word, namespace, also=also)
    key = None if subject is None else subject.key
    reader = EventReader(revisions, key, warnings=warnings)
    found, older = reader.read(head, after, limit)
    if older:
        click.echo(f"older events exist; --limit 0 shows all, not only {limit}", err=True)
    coming = () if watch or since else _coming(revisions, head, key)
    lines = watch and output == "json"
    if output == "text" or lines:
        _print(found, lines=lines, headers=True)
    else:
        told = [coming_json(one) for one in coming]
        print_json({"events": [_as_json(item) for item in found], "coming": told})
    if output == "text":
        _print_coming(coming)
    if not found and not watch:
        if subject is not None:
            _refuse_unknown(subject)
        note_if_empty(directory, revisions.loader.load(head))
        click.echo("no event", err=True)
    if watch and name is not None:
        sys.stdout.flush()
        _follow(reader, name, head, lines=lines, poll_seconds=poll_seconds, headers=not found)
    return 0


def _coming(revisions: "GitRevisions", head: str, key: "ObjectKey | None") -> "tuple[Coming, ...]":
    """Return what is coming for an object, for all if none is named."""
    from reconciler.cli.printing.coming import about, coming_in

    found = coming_in(revisions.loader.load(head))
    return found if key is None else about(found, {key})


def _print_coming(found: "Sequence[Coming]") -> None:
    """Print what is coming, below the events."""
    from reconciler.cli.printing.coming import coming_lines

    if found:
        click.echo("\n".join(("", *coming_lines(found))))


def _refuse_unknown(subject: "Subject") -> None:
    """Raise if an object without events is not there, nor ever was."""
    from reconciler.audit.named_object import near, spelled

    world, named = subject.world, subject.named
    present = world.inputs.keys() | world.outputs.keys()
    if {named, subject.key} & present or any(subject.touching(whole=False)):
        return
    raise UsageError(f"there is no {spelled(named)}, and there never was{near(world, named)}")


def _follow(
    reader: "EventReader",
    branch: str,
    head: str,
    *,
    lines: bool,
    poll_seconds: float,
    headers: bool,
) -> None:
    """Print the events of each commit that comes, until interrupted."""
    from reconciler.shell.daemon.watch import Wakeups

    with Wakeups(reader.repository.common_dir, poll_seconds=poll_seconds) as wakeups:
        while True:
            new = reader.repository.resolve(branch)
            if new != head:
                found, _ = reader.read(new, head)
                head = new
                _print(found, lines=lines, headers=headers)
                headers = headers and not found
                sys.stdout.flush()
            if not wakeups.wait():
                return


def _print(found: "Sequence[Happening]", *, lines: bool, headers: bool) -> None:
    """Print events as a table, or one a line for machines."""
    from reconciler.cli.printing.print_json import print_json_line
    from reconciler.cli.printing.table import print_table
    from reconciler.shell.clock import SystemClock

    if lines:
        for item in found:
            print_json_line(_as_json(item))
    elif found:
        now = SystemClock().now()
        titles = ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE", "COMMIT"]
        print_table(titles, [_row(item, now) for item in found], headers=headers)


def _row(item: "Happening", now: datetime) -> list[str]:
    """Return one event."""
    from reconciler.audit.short_id import short_id
    from reconciler.manifests.columns import duration

    scope = f"{item.key.namespace}/" if item.key.namespace else ""
    return [
        duration(now - item.at),
        item.told.type,
        item.told.reason,
        f"{scope}{item.key.name}",
        item.told.message,
        short_id(item.commit.revision),
    ]


def _as_json(item: "Happening") -> dict[str, object]:
    """Return one event for machines."""
    from reconciler.audit.json_shapes import object_json
    from reconciler.model.moments import format_moment

    return {
        "at": format_moment(item.at),
        "type": item.told.type,
        "reason": item.told.reason,
        "object": object_json(item.key),
        "message": item.told.message,
        "commit": item.commit.revision,
    }
