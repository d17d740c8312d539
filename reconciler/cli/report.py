"""The fleet as one page that needs no server, or as a picture."""

from collections.abc import Sequence
from pathlib import Path

import click

from reconciler.audit.previews.preview import Preview
from reconciler.audit.previews.wording import Heading
from reconciler.cli.page.one_object import object_detail, rebalancers_view
from reconciler.cli.page.plans import planned
from reconciler.cli.page.views import PageViews, new_memory
from reconciler.cli.progress import doing
from reconciler.cli.world import note_if_empty, open_fleet
from reconciler.errors import ShellError, UsageError
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.text import short_id
from reconciler.page.fleet import ClusterQuery
from reconciler.page.links import Anchor, ReportLinks
from reconciler.page.lists import ObjectStates, Page
from reconciler.page.matrix import MatrixQuery
from reconciler.page.rendering import Frame, PagePart, render, render_alone
from reconciler.page.timeline import TimelineView, passes_picture, plan_svg, plan_view
from reconciler.shell.git.history import resolve_revision

MOST_OBJECTS = 40  # that are told in full
ROWS, COLUMNS, CLUSTERS, PASSES = 500, 60, 1000, 20
VIEWS = ("fleet", "clusters", "matrix", "objects", "timeline", "coming", "rebalancers", "faults")
SVG = "svg"


def run(
    directory: Path, *, output: str, rev: str, branch: str | None, layout: RepositoryLayout
) -> int:
    """Write the page or the picture."""
    if output not in ("-", SVG) and not output.endswith((".html", ".htm")):
        raise UsageError(f'-o "{output}" must be a file such as fleet.html, - or svg')
    fleet = open_fleet(directory, layout)
    revisions = fleet.revisions
    head = resolve_revision(revisions.repository, rev)
    views = PageViews(revisions, head, ReportLinks(VIEWS), new_memory(revisions), is_kept=True)
    note_if_empty(directory, views.world)
    plan = None if branch is None else planned(fleet, (rev, head), branch)
    if output == SVG:
        click.echo(_picture(views, plan), nl=False)
        return 0
    with doing("Writing the page"):
        text = _page(views, rev, plan)
    if output == "-":
        click.echo(text, nl=False)
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ShellError(f'"{output}" cannot be written: {error.strerror or error}') from None
    return 0


def _picture(views: PageViews, plan: tuple[Preview, Heading] | None) -> str:
    """Return the moves as a picture: those of the plan, or those of the last pass."""
    if plan is not None:
        return plan_svg(plan[0])
    newest = views.passes.newest(1)
    return render_alone("picture.svg", {"drawing": newest[0].drawing if newest else None})


def _page(views: PageViews, rev: str, plan: tuple[Preview, Heading] | None) -> str:
    listed = list(views.placements)[:MOST_OBJECTS]
    shown = ("plan", *VIEWS) if plan is not None else VIEWS
    views.links = ReportLinks(shown, frozenset(listed))
    parts = [] if plan is None else [PagePart("plan", "plan.html", plan_view(*plan))]
    parts += _parts(views, listed)
    names = {name: name.capitalize() for name in shown}
    frame = Frame(
        title="Fleet report",
        line=f"as at {rev} ({short_id(views.head)})",
        menu=[(Anchor(text, f"#{name}"), False) for name, text in names.items()],
        wrong=views.wrong(),
        passed=views.passed_at,
        single=True,
        scripted=True,
    )
    return render(frame, parts)


def _parts(views: PageViews, told: Sequence[ObjectKey]) -> list[PagePart]:
    """Return the views of a report."""
    from reconciler.model.records import replace

    replay = views.memory.replay
    replay.together = frozenset(told)
    states = ObjectStates(views.trouble)
    objects = [
        object_detail(
            views.revisions,
            replay,
            views.head,
            views.world,
            k,
            views.links,
            states=states,
            past=views.past,
        ).view
        for k in told
    ]
    matrix = views.matrix(MatrixQuery(), rows=ROWS, columns=COLUMNS)
    steps = views.passes.window(views.head, PASSES)
    contents: dict[str, object] = {
        "fleet": views.fleet(),
        "clusters": replace(views.clusters(ClusterQuery(), size=CLUSTERS), form=False),
        "matrix": replace(matrix, form=False),
        "objects": Page(items=objects, first=1, total=len(views.placements)),
        "timeline": TimelineView(
            steps=steps,
            chosen=max(0, len(steps) - 1),
            moves=passes_picture(steps, len(steps) - 1) if steps else None,
        ),
        "coming": views.coming(),
        "rebalancers": rebalancers_view(views),
        "faults": views.fault_list()._replace(form=False),
    }
    return [PagePart(name, f"{name}.html", content) for name, content in contents.items()]
