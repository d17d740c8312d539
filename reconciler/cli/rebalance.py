"""A rebalancer that a person asks for: its manifest, where it is put, and what it would move."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from reconciler.audit.previews.edits import put
from reconciler.audit.previews.preview import Preview, look_ahead
from reconciler.cli.delivery import ManifestOptions, commit_subject
from reconciler.cli.new_manifests import (
    RebalanceWords,
    check_read,
    open_base,
    path_of,
    print_manifest,
    rebalancer_of,
    write_manifest,
)
from reconciler.cli.progress import PASSES, doing
from reconciler.cli.selection import all_objects
from reconciler.core.changes import Change, WriteFile
from reconciler.core.reconcile import reconcile
from reconciler.core.record import last_pass
from reconciler.errors import UsageError
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add
from reconciler.model.records import replace
from reconciler.model.text import printable
from reconciler.model.world import World
from reconciler.rebalance.rebalancer_files import NOT_FOUND, decode_record
from reconciler.shell.resources import SystemClock


def run(directory: Path, /, *, to: ManifestOptions, demand: RebalanceWords) -> int:
    """Write a rebalancer, or show it; return the exit code."""
    demand = replace(demand, targets=all_objects(demand.targets))
    delivery, world = open_base(directory, to)
    key, body = rebalancer_of(world, demand)
    path = path_of(key)
    check_read(world, path)
    if not to.dry_run:
        delivery.check()
        if to.branch is None and (directory / path).exists():
            raise UsageError(f'"{path}" already exists; give another --name')
    preview, unmatched = plan_rebalance(world, key, body)
    said = write_manifest(delivery, to, path, body, _subject(demand))
    print_manifest(to, body, path, preview)
    for line in (*unmatched, said):
        click.echo(line, err=True)
    return 0


def plan_rebalance(world: World, key: ObjectKey, body: Body) -> tuple[Preview, list[str]]:
    """Return what the rebalancer would move, and what it would not find."""
    changed = put(world, {key: body})
    last, clock = last_pass(world.outputs), SystemClock().now()
    now: datetime = clock if last is None else max(clock, add(last.at))
    path = output_path(world.output_root, key)
    with doing(PASSES):
        preview = look_ahead(world, changed, now)
        return preview, _unmatched(reconcile(changed, now).changes, path)


def _unmatched(changes: Sequence[Change], path: str) -> list[str]:
    """Return which workloads no policy has placed, as the rebalancer's status would."""
    written = [c.content for c in changes if isinstance(c, WriteFile) and c.path == path]
    if not written:
        return []
    observed = decode_record(read(written[0].encode(), path).documents[0].body).workloads
    if not observed:
        return ["warning: it selects nothing that is placed"]
    lines = []
    for observed_object in observed:
        name = f"{observed_object.reference.kind} {observed_object.reference.name}"
        if observed_object.reason == NOT_FOUND:
            lines.append(printable(f"warning: {name} is placed by nothing"))
        elif observed_object.waits_for:
            lines.append(printable(f"warning: {name} has to wait: {observed_object.waits_for}"))
    return lines


def _subject(demand: RebalanceWords) -> str:
    """Return the subject of the commit, as a log shows it."""
    what = [*demand.targets]
    if demand.policy:
        what.append(f"what {demand.policy} placed")
    elif demand.selector:
        what.append(f"what has {demand.selector}")
    if demand.on_cluster:
        what.append(f"what is on {demand.on_cluster}")
    if demand.state:
        what.append(f"what is {demand.state}")
    return commit_subject(f"Rebalance {', '.join(what)}")
