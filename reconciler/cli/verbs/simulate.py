"""`reconciler simulate`: what if a cluster failed, a workload grew, a label changed?"""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.audit.short_id import short_id
from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.options import Moment, output_option
from reconciler.cli.options.workers import AskedWorkers, workers_options
from reconciler.errors import UsageError
from reconciler.model.enumeration import enumerated
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.audit.previews.resilience import Impact
    from reconciler.model.world import World

FEW = 10  # so many clusters fail before a bar has appeared
NAMED = 3
LEGEND = """
UNSCHEDULABLE: objects that would get fewer clusters than they ask for; WHO names them
LOST: replicas that would run nowhere. MOVING: replicas that would run elsewhere
CHANGED: objects that the failure changes at all"""
EXIT_CHANGES = 2


@click.command(name="simulate")
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    default="HEAD",
    show_default=True,
    help="Begin here.",
)
@click.option(
    "--fail",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="It cannot be reached any more.",
)
@click.option(
    "--cordon",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="It takes no new workload; one that is there may grow.",
)
@click.option(
    "--remove",
    multiple=True,
    metavar="CLUSTER",
    shell_complete=complete.clusters,
    help="Its manifest is gone.",
)
@click.option(
    "--add",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The objects of this file are there, instead of those of the same names.",
)
@click.option("--scale", multiple=True, metavar="KIND/NAME=N", help="It wants N replicas.")
@click.option(
    "--set",
    "assign",
    multiple=True,
    metavar="KIND/NAME:/POINTER=VALUE",
    help="A field has another value: JSON, or else text; null removes it.",
)
@click.option(
    "--rebalance",
    multiple=True,
    metavar="OBJECT",
    shell_complete=complete.objects,
    help="It is scheduled afresh.",
)
@click.option("--fail-each", is_flag=True, help="Let each cluster fail by itself; rank them.")
@workers_options
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="When it happens  [default: the clock]"
)
@click.option(
    "--after",
    metavar="SECONDS",
    type=click.IntRange(min=0, max=365 * 86400),
    help="Decide so long after it happened  [default: 3600 if a cluster fails, else 0]",
)
@namespace_option
@output_option("text", "markdown", "json", "html", "svg")
@click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if something moves, 0 if nothing does."
)
@layout_options
@click.pass_obj
def command(
    directory: Path,
    /,
    *,
    at: str,
    fail_each: bool,
    now: datetime | None,
    after: int | None,
    namespace: str,
    output: str,
    detailed_exitcode: bool,
    layout: RepositoryLayout,
    workers: AskedWorkers,
    **asked: Any,
) -> int:
    r"""Show what would move if something happened; nothing is written anywhere.

    Any revision can be asked. Options may be repeated and combined. One pass is decided --after
    seconds past --now: a cluster that fails does so at --now, and tolerations run from there.
    --after by itself shows what time alone moves.

    \b
    Examples:
      reconciler simulate --fail member1
      reconciler simulate --after 3600
      reconciler simulate --cordon member1 --scale deployment/shop=20
      reconciler simulate --set cluster/member2:/metadata/labels/env=prod
      reconciler simulate --add new-cluster.yaml --rebalance deployment/shop -o json
      reconciler simulate --fail-each
      reconciler simulate --fail-each --executor dask://127.0.0.1:8786
    """
    from reconciler.audit.previews.look_ahead import look_ahead
    from reconciler.audit.previews.wording import Heading
    from reconciler.cli.edits.what_if import AFTER_FAILURE_SECONDS, WhatIf, edited, moment_in
    from reconciler.cli.printing.preview import print_preview
    from reconciler.core.reconcile import reconcile
    from reconciler.model.moments import add, span

    waits = after is not None and not fail_each and not any(asked.values())
    if not fail_each and not waits and not any(asked.values()):
        raise UsageError("nothing is to happen; give --fail, --scale, --after or another one")
    if fail_each and (asked["fail"] or output in ("markdown", "html", "svg")):
        raise UsageError("--fail-each goes without --fail, and with -o text or json")
    revision, world = _world(directory, at, layout)
    happens = moment_in(world, now)
    default = AFTER_FAILURE_SECONDS if asked["fail"] or fail_each else 0
    later = default if after is None else after
    decided = add(happens, span(seconds=later))
    changed, said = edited(world, WhatIf(**asked), namespace, happens)
    place = f"at {at} ({short_id(revision)})"
    if fail_each:
        edits = [place, *said]
        return _fail_each(changed, revision, edits, happens, decided, output, workers)
    baseline = reconcile(world, happens) if waits else None
    found = look_ahead(world, changed, decided, baseline=baseline)
    elapsed = f"{later} seconds later" if later or waits else ""
    told = ", ".join(filter(None, ("; ".join(said), elapsed)))
    heading = Heading("simulation", f"{place}: {told}")
    facts = {"commit": revision, "edits": said, "afterSeconds": later}
    print_preview(found, heading, output, **facts)
    return EXIT_CHANGES if detailed_exitcode and found.changes else 0


def _world(directory: Path, at: str, layout: RepositoryLayout) -> "tuple[str, World]":
    """Load the world of a revision."""
    from reconciler.cli.objects.world import load_world

    world = load_world(directory, at, layout)
    return world.revision, world


def _fail_each(
    world: "World",
    revision: str,
    said: list[str],
    failed_at: datetime,
    now: datetime,
    output: str,
    asked: AskedWorkers,
) -> int:
    """Let each cluster fail by itself, and print the worst first."""
    from reconciler.audit.previews.resilience import clusters_of, ranked
    from reconciler.cli.printing.print_json import print_json
    from reconciler.cli.printing.progress import tracked
    from reconciler.model.moments import format_moment
    from reconciler.shell.work.failures import ENOUGH, assess_all

    clusters = clusters_of(world)
    with asked.open(len(clusters), ENOUGH) as workers:
        impacts = assess_all(world, clusters, failed_at=failed_at, now=now, workers=workers)
        found = ranked(tracked(impacts, len(clusters), what="Failing clusters", few=FEW))
    if output == "json":
        told = {
            "of": "; ".join(said),
            "commit": revision,
            "failedAt": format_moment(failed_at),
            "at": format_moment(now),
            "clusters": [_impact_json(impact) for impact in found],
        }
        print_json(told)
    else:
        _print(found)
    return 0


def _print(impacts: "list[Impact]") -> None:
    """Print a table, the worst first."""
    from reconciler.cli.printing.table import print_table

    if not impacts:
        click.echo("there is no cluster", err=True)
        return
    rows = [
        [
            impact.cluster.name,
            impact.cluster.kind,
            str(len(impact.short)),
            str(impact.lost),
            str(impact.moving),
            str(impact.objects),
            _named(impact.short),
        ]
        for impact in impacts
    ]
    titles = ["CLUSTER", "KIND", "UNSCHEDULABLE", "LOST", "MOVING", "CHANGED", "WHO"]
    print_table(titles, rows)
    click.echo(LEGEND)


def _named(subjects: tuple[str, ...]) -> str:
    return enumerated(subjects, NAMED) or "<none>"


def _impact_json(impact: "Impact") -> dict[str, object]:
    from reconciler.audit.json_shapes import object_json

    return {
        "cluster": impact.cluster.name,
        "object": object_json(impact.cluster),
        "unschedulable": list(impact.short),
        "replicasLost": impact.lost,
        "replicasMoving": impact.moving,
        "objectsChanged": impact.objects,
    }
