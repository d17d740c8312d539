"""What merging a branch would move, and what if something happened: forms and their answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reconciler.errors import ReconcilerError, UsageError
from reconciler.page.rendering import PagePart

if TYPE_CHECKING:
    from reconciler.library.fleet import FleetRepository
    from reconciler.model.world import World

ASKED = ("fail", "cordon", "scale")


class AskPlan(NamedTuple):
    """The form that asks for a plan."""

    branch: str
    branches: Sequence[str]
    problem: str


class AskWhatIf(NamedTuple):
    """The form that asks what if."""

    fail: str
    cordon: str
    scale: str
    namespace: str
    clusters: Sequence[str]
    problem: str


def plan_parts(fleet: "FleetRepository", base: tuple[str, str], branch: str) -> list[PagePart]:
    """Return what merging a branch would move, or the form that asks for it.

    Args:
        fleet: The repository.
        base: What it is merged into: as people call it, and its full hex id.
        branch: What is merged, `""` for the form alone.
    """
    problem, parts = "", []
    if branch:
        try:
            parts = [PagePart("moves", "plan.html", _planned(fleet, base, branch))]
        except ReconcilerError as error:
            problem = str(error)
    form = AskPlan(branch, fleet.repository.branches(), problem)
    return [PagePart("plan", "ask_plan.html", form), *parts]


def what_if_parts(world: "World", query: Mapping[str, str]) -> list[PagePart]:
    """Return what would move if something happened, or the form that asks for it."""
    from reconciler.audit.previews.resilience import clusters_of

    asked = {name: query.get(name, "").strip() for name in ASKED}
    namespace = query.get("namespace", "") or "default"
    problem, parts = "", []
    if any(asked.values()):
        try:
            parts = [PagePart("moves", "plan.html", _simulated(world, asked, namespace))]
        except UsageError as error:
            problem = str(error)
    names = sorted({key.name for key in clusters_of(world)})
    form = AskWhatIf(**asked, namespace=namespace, clusters=names, problem=problem)
    return [PagePart("what-if", "ask_what_if.html", form), *parts]


def _planned(fleet: "FleetRepository", base: tuple[str, str], branch: str) -> object:
    from reconciler.cli.page.merges import planned
    from reconciler.page.plan import plan_view

    return plan_view(*planned(fleet, base, branch))


def _simulated(world: "World", asked: Mapping[str, str], namespace: str) -> object:
    """Return what would move, as `simulate` says it."""
    from reconciler.audit.previews.look_ahead import look_ahead
    from reconciler.audit.previews.wording import Heading
    from reconciler.cli.edits.what_if import AFTER_FAILURE_SECONDS, WhatIf, edited, moment_in
    from reconciler.model.moments import add, span
    from reconciler.page.plan import plan_view

    happens = moment_in(world, None)
    fail, cordon, scale = ([asked[name]] if asked[name] else [] for name in ASKED)
    what_if = WhatIf(fail=fail, cordon=cordon, scale=scale)
    changed, said = edited(world, what_if, namespace, happens)
    later = AFTER_FAILURE_SECONDS if asked["fail"] else 0
    found = look_ahead(world, changed, add(happens, span(seconds=later)))
    elapsed = [f"{later} seconds later"] if later else []
    return plan_view(found, Heading("simulation", ", ".join([*said, *elapsed])))
