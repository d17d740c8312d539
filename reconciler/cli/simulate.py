"""What would move if something happened: its answer, and the ranking of clusters that fail."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.json_shapes import Moment, ObjectJson, object_json
from reconciler.audit.previews.edits import Impact, clusters_of, ranked
from reconciler.audit.previews.preview import look_ahead
from reconciler.audit.previews.wording import Heading, MergedJson
from reconciler.cli.previews import AFTER_FAILURE_SECONDS, WhatIf, edited, moment_in, print_preview
from reconciler.cli.printing import print_json
from reconciler.cli.progress import PASSES, doing, tracked
from reconciler.cli.tables import print_table
from reconciler.cli.workers import AskedWorkers
from reconciler.cli.world import load_world
from reconciler.core.reconcile import reconcile
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.model.moments import add, format_moment, span
from reconciler.model.text import enumerated, short_id
from reconciler.model.world import World
from reconciler.shell.work.failures import ENOUGH, assess_all

NAMED = 3
LEGEND = """
UNSCHEDULABLE: objects that would get fewer clusters than they ask for; WHO names them
LOST: replicas that would run nowhere. MOVING: replicas that would run elsewhere
CHANGED: objects that the failure changes at all"""
EXIT_CHANGES = 2


class SimulatedJson(TypedDict):
    """What is simulated."""

    commit: Annotated[str, "Full hex id of what is simulated on."]
    edits: Annotated[list[str], "What happens."]
    afterSeconds: Annotated[int, "How long after it is decided."]


class SimulateJson(SimulatedJson, MergedJson):
    """What an event would move."""


def run(
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
    asked: WhatIf,
) -> int:
    """Show what would move; return the exit code."""
    is_asked = fail_each or asked != WhatIf()
    waits = after is not None and not is_asked
    if not waits and not is_asked:
        raise UsageError("nothing to simulate; give --fail, --scale, --after or another option")
    if fail_each and (asked.fail or output in ("markdown", "html", "svg")):
        raise UsageError("--fail-each excludes --fail, and needs -o text or json")
    world = load_world(directory, at, layout)
    happens = moment_in(world, now)
    default = AFTER_FAILURE_SECONDS if asked.fail or fail_each else 0
    later = default if after is None else after
    decided = add(happens, span(seconds=later))
    changed, said = edited(world, asked, namespace, happens)
    place = f"at {at} ({short_id(world.revision)})"
    if fail_each:
        edits = [place, *said]
        return _fail_each(changed, world.revision, edits, happens, decided, output, workers)
    with doing(PASSES):
        baseline = reconcile(world, happens) if waits else None
        preview = look_ahead(world, changed, decided, baseline=baseline)
    elapsed = f"{later} seconds later" if later or waits else ""
    conditions = ", ".join(filter(None, ("; ".join(said), elapsed)))
    heading = Heading("simulation", f"{place}: {conditions}")
    facts: SimulatedJson = {"commit": world.revision, "edits": said, "afterSeconds": later}
    print_preview(preview, heading, output, facts)
    return EXIT_CHANGES if detailed_exitcode and preview.changes else 0


class ImpactJson(TypedDict):
    """What one cluster's failure would move."""

    cluster: Annotated[str, "The one that fails."]
    object: Annotated[ObjectJson, "Its manifest."]
    unschedulable: Annotated[list[str], "Objects that find no place, as people call them."]
    replicasLost: Annotated[int, "Replicas that find no place."]
    replicasMoving: Annotated[int, "Replicas that move elsewhere."]
    objectsChanged: Annotated[int, "Objects that are placed otherwise."]


class SimulateFailEachJson(TypedDict):
    """What each cluster's failure would move."""

    of: Annotated[str, "What is simulated on, in a line."]
    commit: Annotated[str, "Full hex id of it."]
    failedAt: Annotated[Moment, "When each cluster fails."]
    at: Annotated[Moment, "The moment that is decided for."]
    clusters: Annotated[list[ImpactJson], "The worst first."]


def _fail_each(
    world: World,
    revision: str,
    said: list[str],
    failed_at: datetime,
    now: datetime,
    output: str,
    asked: AskedWorkers,
) -> int:
    """Let each cluster fail by itself, and print the worst first."""
    clusters = clusters_of(world)
    with asked.open(len(clusters), ENOUGH) as workers:
        impacts = assess_all(world, clusters, failed_at=failed_at, now=now, workers=workers)
        impacts_in_order = ranked(tracked(impacts, len(clusters), what="Failing clusters"))
    if output == "json":
        answer: SimulateFailEachJson = {
            "of": "; ".join(said),
            "commit": revision,
            "failedAt": format_moment(failed_at),
            "at": format_moment(now),
            "clusters": [_impact_json(impact) for impact in impacts_in_order],
        }
        print_json(answer)
    else:
        _print(impacts_in_order)
    return 0


def _print(impacts: list[Impact]) -> None:
    """Print a table, the worst first."""
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
            enumerated(impact.short, NAMED) or "<none>",
        ]
        for impact in impacts
    ]
    titles = ["CLUSTER", "KIND", "UNSCHEDULABLE", "LOST", "MOVING", "CHANGED", "WHO"]
    print_table(titles, rows)
    click.echo(LEGEND)


def _impact_json(impact: Impact) -> ImpactJson:
    return {
        "cluster": impact.cluster.name,
        "object": object_json(impact.cluster),
        "unschedulable": list(impact.short),
        "replicasLost": impact.lost,
        "replicasMoving": impact.moving,
        "objectsChanged": impact.objects,
    }
