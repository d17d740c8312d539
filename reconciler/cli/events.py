"""Events of the objects of a repository, as a table or for machines."""

import sys
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol, Self, TypedDict

import click

from reconciler.audit.fleet.placed import is_present
from reconciler.audit.history.events import Happening
from reconciler.audit.json_shapes import ComingJson, Moment, ObjectJson, coming_json, object_json
from reconciler.audit.named_object import near, spelled
from reconciler.audit.previews.foresight import Coming
from reconciler.cli.event_reader import TYPES, EventReader
from reconciler.cli.options import Since
from reconciler.cli.printing import coming_at, coming_for, coming_lines, print_json, print_json_line
from reconciler.cli.progress import HISTORY, doing
from reconciler.cli.tables import print_table
from reconciler.cli.world import note_if_empty, open_fleet
from reconciler.core.dialects import KINDS, RUNS
from reconciler.errors import UsageError
from reconciler.library.fleet import FleetRepository
from reconciler.library.subject import Subject, subject_at
from reconciler.manifests.columns import duration
from reconciler.manifests.identity import DEFAULT_NAMESPACE
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass
from reconciler.model.text import short_id, shown
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.resources import SystemClock


@dataclass(frozen=True, slots=True)
class EventChoice:
    """Which events are asked for: of a namespace, `None` for any, and of some types."""

    namespace: str | None
    types: frozenset[str]

    @classmethod
    def of(cls, namespace: str | None, types: str | None, *, warnings: bool) -> Self:
        """Read what a person writes.

        Raises:
            UsageError: There is no such type.
        """
        named = [] if types is None else [one.strip().capitalize() for one in types.split(",")]
        for one in named:
            if one not in TYPES:
                raise UsageError(f"{shown(one)} is no type of events; there are Normal and Warning")
        return cls(namespace, frozenset(["Warning"] if warnings else named or TYPES))


class PrintEvents(Protocol):
    """Prints events as they come, below their titles or not."""

    def __call__(self, found: Sequence[Happening], *, headers: bool) -> None:
        """Print them."""


def run(
    directory: Path,
    *,
    word: str | None,
    namespace: str | None,
    all_namespaces: bool,
    types: str | None,
    warnings: bool,
    output: str,
    watch: bool,
    since: Since | None,
    limit: int,
    branch: str | None,
    poll_seconds: float,
    layout: RepositoryLayout,
) -> int:
    """Print events, and go on with those that come if that is asked for."""
    if all_namespaces and (namespace is not None or word is not None):
        raise UsageError("--all-namespaces excludes -n and OBJECT")
    choice = EventChoice.of(namespace, types, warnings=warnings)
    fleet = open_fleet(directory, layout)
    revisions, repository = fleet.revisions, fleet.repository
    name = branch or (repository.head_branch() if watch else None)
    head = resolve_revision(repository, "HEAD") if name is None else repository.resolve(name)
    revision = None if since is None else since.revision
    after = None if revision is None else resolve_revision(repository, revision)
    also, space = KINDS.removable | RUNS, choice.namespace or DEFAULT_NAMESPACE
    subject = None if word is None else subject_at(revisions, head, word, space, also=also)
    key = None if subject is None else subject.key
    asked = None if key is not None else choice.namespace
    begin = None if since is None else since.begin(SystemClock().now())
    reader = EventReader(revisions, key, types=choice.types, namespace=asked, since=begin)
    with doing(HISTORY):
        happenings, older = reader.read(head, after, limit)
    if older:
        click.echo(f"showing the newest {limit} events; --limit 0 shows all", err=True)
    coming = () if watch or since else _coming(fleet, head, key)
    coming = tuple(one for one in coming if asked in (None, one.key.namespace))
    lines = watch and output == "json"
    wide = output == "wide"
    if output != "json" or lines:
        _print(happenings, lines=lines, wide=wide, headers=True)
    else:
        answer: EventsJson = {
            "events": [_as_json(item) for item in happenings],
            "coming": [coming_json(one) for one in coming],
        }
        print_json(answer)
    if output != "json" and coming:
        click.echo("\n".join(("", *coming_lines(coming))))
    if not happenings and not coming and not watch:
        if subject is not None:
            _refuse_unknown(subject)
        note_if_empty(directory, revisions.loader.load(head))
        click.echo("no event", err=True)
    if watch and name is not None:
        sys.stdout.flush()
        print_new = partial(_print, lines=lines, wide=wide)
        _follow(reader, name, head, print_new, poll_seconds=poll_seconds, headers=not happenings)
    return 0


def _coming(fleet: FleetRepository, head: str, key: ObjectKey | None) -> tuple[Coming, ...]:
    """Return what is coming for an object, for all if none is named."""
    world = fleet.revisions.loader.load(head)
    return coming_at(fleet, world, head) if key is None else coming_for(world, {key})


def _refuse_unknown(subject: Subject) -> None:
    """Raise if an object without events is not there, nor ever was."""
    world, named = subject.world, subject.named
    if any(is_present(world, key) for key in (named, subject.key)) or any(
        subject.touching(whole=False)
    ):
        return
    raise UsageError(f"there is no {spelled(named)}, and never was one{near(world, named)}")


def _follow(
    reader: EventReader,
    branch: str,
    head: str,
    print_new: "PrintEvents",
    *,
    poll_seconds: float,
    headers: bool,
) -> None:
    """Print the events of each commit that comes, until interrupted."""
    from reconciler.shell.daemon.watch import Wakeups

    with Wakeups(reader.repository.common_dir, poll_seconds=poll_seconds) as wakeups:
        while True:
            new = reader.repository.resolve(branch)
            if new != head:
                happenings, _ = reader.read(new, head)
                head = new
                print_new(happenings, headers=headers)
                headers = headers and not happenings
                sys.stdout.flush()
            if not wakeups.wait():
                return


def _print(found: Sequence[Happening], *, lines: bool, wide: bool, headers: bool) -> None:
    """Print events as a table, or one a line for machines."""
    if lines:
        for happening in found:
            print_json_line(_as_json(happening))
    elif found:
        now = SystemClock().now()
        more = ["TIME", "SOURCE"] if wide else []
        titles = ["LAST SEEN", "TYPE", "REASON", "OBJECT", *more, "MESSAGE", "COMMIT"]
        rows = [_row(happening, now, wide=wide) for happening in found]
        print_table(titles, rows, headers=headers, fits=not wide)


def _row(item: Happening, now: datetime, *, wide: bool) -> list[str]:
    scope = f"{item.key.namespace}/" if item.key.namespace else ""
    return [
        duration(now - item.at),
        item.told.type,
        item.told.reason,
        f"{scope}{item.key.name}",
        *([format_moment(item.at), item.told.source] if wide else []),
        item.told.message,
        short_id(item.commit.revision),
    ]


class EventJson(TypedDict):
    """What upstream's controllers would record."""

    at: Annotated[Moment, "Of the pass."]
    type: Annotated[str, "`Normal` or `Warning`."]
    reason: Annotated[str, "As upstream's controllers record it."]
    object: Annotated[ObjectJson, "What it is about."]
    message: Annotated[str, "In upstream's words."]
    source: Annotated[
        str,
        "Upstream's component that records it; `reconciler` of what no upstream knows, such as "
        "edits by hand.",
    ]
    commit: Annotated[str, "Full hex id of the commit that it is told from."]


class EventsJson(TypedDict):
    """What happened to objects, and what will."""

    events: Annotated[list[EventJson], "The newest last."]
    coming: Annotated[list[ComingJson], "What passes will do by themselves; empty with `--since`."]


def _as_json(item: Happening) -> EventJson:
    """Return one event for machines."""
    return {
        "at": format_moment(item.at),
        "type": item.told.type,
        "reason": item.told.reason,
        "object": object_json(item.key),
        "message": item.told.message,
        "source": item.told.source,
        "commit": item.commit.revision,
    }
