"""A rebalancer that a person asks for: its manifest, where it is put, and what it would move."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from reconciler.audit.previews.as_json import preview_json
from reconciler.audit.previews.edits import put
from reconciler.audit.previews.look_ahead import look_ahead
from reconciler.audit.previews.preview import Preview
from reconciler.audit.previews.wording import Heading
from reconciler.audit.printable import printable
from reconciler.cli.edits.delivery import Delivery, commit_subject
from reconciler.cli.edits.demand import RebalanceWords, path_of, rebalancer_of
from reconciler.cli.objects.object_words import all_objects
from reconciler.cli.objects.world import note_if_empty, open_loader
from reconciler.cli.printing.preview import print_preview
from reconciler.cli.printing.print_json import print_json
from reconciler.cli.printing.progress import PASSES, doing
from reconciler.core.changes import Change, WriteFile
from reconciler.core.inputs.input_files import inputs_in
from reconciler.core.reconcile import reconcile
from reconciler.core.record import last_pass
from reconciler.errors import UsageError
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.world import World
from reconciler.rebalance.rebalancer_status import decode_record
from reconciler.shell.clock import SystemClock
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.revisions import resolve_revision


def run(
    directory: Path,
    /,
    *,
    base: str,
    branch: str | None,
    author: str | None,
    dry_run: bool,
    output: str,
    layout: RepositoryLayout,
    **asked: Any,
) -> int:
    """Write a rebalancer, or show it; return the exit code."""
    delivery, world = _open(directory, base, branch, author, layout)
    asked["targets"] = all_objects(asked["targets"])
    key, body = rebalancer_of(world, RebalanceWords(**asked))
    path = path_of(key)
    _check_readable(world, path)
    if not dry_run:
        delivery.check()
        if branch is None and (directory / path).exists():
            raise UsageError(f'"{path}" exists; give another --name')
    preview, unmatched = _plan(world, key, body)
    said = "nothing is written (--dry-run)"
    if not dry_run:
        said = delivery.deliver({path: encode(body).encode()}, _subject(asked))
    _print(output, body, path, preview, base)
    for line in (*unmatched, said):
        click.echo(line, err=True)
    return 0


def _open(
    directory: Path, base: str, branch: str | None, author: str | None, layout: RepositoryLayout
) -> tuple[Delivery, World]:
    """Load the world that the rebalancer is written for."""
    repository = Repository.open(directory)
    head = resolve_revision(repository, base)
    loader = open_loader(repository, layout)
    delivery = Delivery(
        directory=directory, repository=repository, base=head, branch=branch, author=author
    )
    world = loader.load(head)
    note_if_empty(directory, world)
    return delivery, world


def _check_readable(world: World, path: str) -> None:
    """Refuse to write a file that no pass would read."""
    if not inputs_in(world)(path):
        raise UsageError(
            f'"{path}" would not be read, since include and exclude in reconciler.yaml leave it '
            "out, or it is in a folder that passes write to; print the manifest with -o yaml "
            "--dry-run and put it where it is read"
        )


def _plan(world: World, key: ObjectKey, body: Body) -> tuple[Preview, list[str]]:
    """Return what the rebalancer would move, and what it would not find."""
    changed = put(world, {key: body})
    last, clock = last_pass(world.outputs), SystemClock().now()
    now: datetime = clock if last is None else max(clock, add(last.at))
    path = output_path(world.output_root, key)
    with doing(PASSES):
        found = look_ahead(world, changed, now)
        return found, _unmatched(reconcile(changed, now).changes, path)


def _unmatched(changes: Sequence[Change], path: str) -> list[str]:
    """Return which workloads no policy has placed, as the rebalancer's status would."""
    written = [c.content for c in changes if isinstance(c, WriteFile) and c.path == path]
    if not written:
        return []
    observed = decode_record(read(written[0].encode(), path).documents[0].body).workloads
    if not observed:
        return ["warning: it selects nothing that is placed"]
    told = []
    for one in observed:
        name = f"{one.reference.kind} {one.reference.name}"
        if one.reason:
            told.append(printable(f"warning: {name} is placed by nothing"))
        elif one.waits_for:
            told.append(printable(f"warning: {name} has to wait: {one.waits_for}"))
    return told


def _print(output: str, body: Body, path: str, preview: Preview, base: str) -> None:
    """Print the manifest and the plan."""
    heading = Heading("plan", f"{path} merged into {base}")
    if output == "json":
        plan = preview_json(preview, heading)
        print_json({"path": path, "manifest": body, "plan": plan})
        return
    click.echo(encode(body), nl=False)
    if output == "text":
        click.echo()
        print_preview(preview, heading, "text")


def _subject(asked: dict[str, Any]) -> str:
    """Return the subject of the commit, as a log shows it."""
    what = [*asked["targets"]]
    if asked["policy"]:
        what.append(f"what {asked['policy']} placed")
    elif asked["selector"]:
        what.append(f"what has {asked['selector']}")
    return commit_subject(f"Rebalance {', '.join(what)}")
