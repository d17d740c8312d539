"""`reconciler events`: what upstream's controllers would have recorded, told from commits."""

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.object_words import object_argument
from reconciler.cli.objects import namespace_option
from reconciler.cli.options import (
    output_option,
    output_root_option,
    poll_option,
    read_branch_option,
)
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.audit.foresight import Coming
    from reconciler.audit.revisions import Commit
    from reconciler.audit.upstream_events import Happening
    from reconciler.cli.subject import Subject
    from reconciler.core.changes import Outcome
    from reconciler.model.identity import ObjectKey
    from reconciler.shell.revisions import GitRevisions

SHORT_ID = 12
PIECE = 64  # commits whose files are read together


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
@output_root_option
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
    output_root: str,
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
    from reconciler.cli.print_json import print_json
    from reconciler.cli.subject import subject_at
    from reconciler.cli.world import note_if_empty
    from reconciler.core.dialects import KINDS
    from reconciler.shell.git.revisions import resolve_revision
    from reconciler.shell.revisions import GitRevisions

    revisions = GitRevisions.open(directory, output_root=output_root)
    repository = revisions.repository
    name = branch or (repository.head_branch() if watch else None)
    head = resolve_revision(repository, "HEAD") if name is None else repository.resolve(name)
    after = None if since is None else resolve_revision(repository, since)
    also = KINDS.removable
    subject = None if word is None else subject_at(revisions, head, word, namespace, also=also)
    key = None if subject is None else subject.key
    reader = EventReader(revisions, output_root, key, warnings=warnings)
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
    from reconciler.cli.coming import about, coming_in

    found = coming_in(revisions.loader.load(head))
    return found if key is None else about(found, {key})


def _print_coming(found: "Sequence[Coming]") -> None:
    """Print what is coming, below the events."""
    from reconciler.cli.coming import coming_lines

    if found:
        click.echo("\n".join(("", *coming_lines(found))))


def _refuse_unknown(subject: "Subject") -> None:
    """Raise if an object without events is not there, nor ever was."""
    from reconciler.cli.objects import near, spelled

    world, named = subject.world, subject.named
    present = world.inputs.keys() | world.outputs.keys()
    if {named, subject.key} & present or any(subject.touching(whole=False)):
        return
    raise UsageError(f"there is no {spelled(named)}, and there never was{near(world, named)}")


class EventReader:
    """Reads events of commits that are asked for."""

    def __init__(
        self,
        revisions: "GitRevisions",
        output_root: str,
        key: "ObjectKey | None",
        *,
        warnings: bool,
    ) -> None:
        from reconciler.audit.replay import Replay

        self.repository = revisions.repository
        self._revisions = revisions
        self._replay = Replay(revisions)
        self._output_root = output_root
        self._key = key
        self._warnings = warnings
        self._names: set[str] = set()

    def read(self, head: str, after: str | None, limit: int = 0) -> "tuple[list[Happening], bool]":
        """Return the newest events, the newest last, and whether there are older ones.

        Args:
            head: Full hex id of the commit to begin at.
            after: One whose history is left out, `None` for none.
            limit: How many at most, 0 for all.
        """
        found: list[Happening] = []
        for happening in self._newest_first(head, after):
            if limit and len(found) == limit:
                return found[::-1], True
            found.append(happening)
        return found[::-1], False

    def _newest_first(self, head: str, after: str | None) -> "Iterator[Happening]":
        """Yield the events that are asked for."""
        from reconciler.audit.commit_events import chronicle

        for commits in self._pieces(head, after):
            texts = self._texts(commits)
            for commit in commits:
                changes = self._revisions.changes(commit)
                again = partial(self._again, commit)
                events = chronicle(
                    commit, changes, texts, self._output_root, again, names=self._names
                )
                yield from (event for event in reversed(events) if self._is_asked(event))

    def _again(self, commit: "Commit") -> "Outcome | None":
        """Compute a pass again, if its inputs and the outputs before it can be had."""
        from reconciler.audit.replay import Run
        from reconciler.audit.revisions import pass_of

        found = pass_of(commit)
        if found is None or commit.parent is None:
            return None
        run = self._replay.run(found[0], commit.parent, found[1])
        return run.outcome if isinstance(run, Run) else None

    def _is_asked(self, event: "Happening") -> bool:
        if self._warnings and event.told.type == "Normal":
            return False
        return self._key is None or event.key == self._key

    def _pieces(self, head: str, after: str | None) -> "Iterator[list[Commit]]":
        """Yield the commits in pieces, without those of which a shallow clone has half."""
        from reconciler.audit.revisions import pass_of
        from reconciler.shell.git.revisions import cut_off

        ends = cut_off(self.repository)
        paths = [self._output_root]
        commits = self._revisions.commits(head, but=after, paths=paths, whole=False)
        if any(commit.revision in ends for commit in commits):
            click.echo("this clone is shallow; git fetch --unshallow for older events", err=True)
        whole = [commit for commit in commits if commit.revision not in ends]
        self._names.update(commit.author for commit in whole if pass_of(commit) is not None)
        for start in range(0, len(whole), PIECE):
            piece = whole[start : start + PIECE]
            self._revisions.prepare(piece)
            yield piece

    def _texts(self, commits: "Sequence[Commit]") -> dict[str, bytes]:
        """Return what the changed outputs held."""
        from reconciler.audit.commit_events import needed

        changes = (self._revisions.changes(commit) for commit in commits)
        blobs = (blob for listed in changes for blob in needed(listed, self._output_root))
        return self._revisions.texts(blobs)


def _follow(
    reader: EventReader, branch: str, head: str, *, lines: bool, poll_seconds: float, headers: bool
) -> None:
    """Print the events of each commit that comes, until interrupted."""
    from reconciler.shell.watch import Wakeups

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
    from reconciler.cli.print_json import print_json_line
    from reconciler.cli.table import print_table
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
    from reconciler.manifests.columns import duration

    scope = f"{item.key.namespace}/" if item.key.namespace else ""
    return [
        duration(now - item.at),
        item.told.type,
        item.told.reason,
        f"{scope}{item.key.name}",
        item.told.message,
        item.commit.revision[:SHORT_ID],
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
