"""Printing an import and its check: a table for users, JSON for machines.

`reconciler import --check` says what of the switch from a live hub is not done yet.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import click

from reconciler.audit.json_shapes import Moment, ObjectJson, PlacementJson, object_json, placed_json
from reconciler.cli.delivery import Delivery
from reconciler.cli.edits import world_on_disk
from reconciler.cli.import_manifests import export_of, next_moment, wanted_of
from reconciler.cli.import_source import Export, ImportOptions
from reconciler.cli.printing import print_json
from reconciler.cli.tables import print_table
from reconciler.model.decision import Decision, placed_text
from reconciler.model.moments import format_moment
from reconciler.model.text import printable
from reconciler.shell.git.repository import Repository

if TYPE_CHECKING:
    from reconciler.cli.edits import Files
    from reconciler.dialects.importer import SwitchStep
    from reconciler.imports.adoption import Adoption
    from reconciler.imports.export import LiveObject
    from reconciler.imports.plan import ImportedObject
    from reconciler.imports.switch_check import MovedOnHub, SwitchCheck
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


MOST_LISTED = 20  # of what is skipped or differs; the rest is counted


def print_text(
    objects: "Sequence[ImportedObject]", adoption: "Adoption | None", export: Export
) -> None:
    """Print a table of what changed, and what was skipped, by kind and reason."""
    from reconciler.imports.importers import NOISE
    from reconciler.imports.plan import Became

    quiet = (Became.UNCHANGED, Became.SKIPPED)
    rows = [
        (one.became.upper(), _name(one.key), one.path if not one.why else one.why)
        for one in objects
        if one.became not in quiet
    ]
    if rows:
        print_table(("RESULT", "OBJECT", "FILE"), rows)
    skipped = Counter((one.key.kind, one.why) for one in objects if one.became is Became.SKIPPED)
    noise: Counter[str] = Counter()
    for (kind, why), count in sorted(skipped.items()):
        if why in NOISE:
            noise[kind] += count
        else:
            click.echo(printable(f"skipped {count} {kind}: {why}"))
    if noise:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(noise.items()))
        click.echo(printable(f"skipped internal objects of the control plane: {listed}"))
    counts = Counter(one.became for one in objects)
    click.echo(", ".join(f"{counts[one]} {one}" for one in Became if counts[one]) or "0 objects")
    if adoption is not None:
        _print_adoption(adoption)
    for problem in export.problems:
        click.echo(printable(f"warning: {problem}"), err=True)


def _print_adoption(adoption: "Adoption") -> None:
    """Print what was taken over, and what would be decided otherwise."""
    click.echo(
        f"\nadopted {len(adoption.outputs)} objects of state, {len(adoption.kept)} are state"
    )
    reasons = Counter((key.kind, why) for key, why in adoption.left.items())
    for (kind, why), count in list(reasons.items())[:MOST_LISTED]:
        click.echo(printable(f"left {count} {kind}: {why}"))
    click.echo(
        f"the first pass moves {len(adoption.moves)} and places {len(adoption.new)} new ones; "
        f"{len(adoption.coming)} more move within the hour"
    )
    for move in (*adoption.moves, *adoption.new)[:MOST_LISTED]:
        shift = f"{placed_text(move.before)} -> {placed_text(move.after)}"
        click.echo(f"  {printable(f'{move.subject}: {shift}: {move.cause}')}")
    for coming in adoption.coming[:MOST_LISTED]:
        shift = f"{placed_text(coming.before or ())} -> {placed_text(coming.after or ())}"
        at = format_moment(coming.at)
        click.echo(f"  {printable(f'{coming.subject} at {at}: {shift}: {coming.why}')}")
    if adoption.otherwise:
        click.echo(
            f"{len(adoption.otherwise)} would be placed differently if scheduled from scratch:"
        )
    for adopted in adoption.otherwise[:MOST_LISTED]:
        shift = f"{placed_text(adopted.live)}, from scratch {placed_text(adopted.afresh)}"
        click.echo(f"  {printable(f'{adopted.subject}: {shift}')}")
        for name, why in adopted.why.items():
            click.echo(f"    {printable(f'{name}: {why}')}")
    more = len(adoption.otherwise) - MOST_LISTED
    if more > 0:
        click.echo(f"  and {more} more; -o json lists all")


class ImportedJson(TypedDict):
    """An object of the export."""

    object: ObjectJson
    result: Annotated[
        str,
        "`created`, `updated`, `unchanged`, `skipped`, `failed`, or `gone`: it has a file, and "
        "is no longer there.",
    ]
    path: Annotated[str | None, "Its file, `null` if it has none."]
    reason: Annotated[str | None, "Why it has none."]


class LeftJson(TypedDict):
    """A live decision that is not taken over."""

    object: ObjectJson
    reason: Annotated[str, "Why it is not taken over."]


class AdoptedMoveJson(TypedDict):
    """What the first pass moves or places."""

    object: Annotated[ObjectJson, "The output that the decision is about."]
    before: Annotated[list[PlacementJson], "Where it is."]
    after: Annotated[list[PlacementJson], "Where it would be."]
    cause: Annotated[str, "Why."]


class ComingMoveJson(TypedDict):
    """What moves as time passes."""

    object: Annotated[ObjectJson, "The output that the decision is about."]
    at: Annotated[Moment, "When, if nothing but time goes by."]
    before: Annotated[list[PlacementJson], "Where it is until then."]
    after: Annotated[list[PlacementJson], "Where it would be."]
    reason: Annotated[str, "Why."]


class OtherwiseJson(TypedDict):
    """What would be placed otherwise if it were new."""

    object: Annotated[ObjectJson, "The output that the decision is about."]
    live: Annotated[list[PlacementJson], "Where it is, and stays."]
    afresh: Annotated[list[PlacementJson], "Where it would be placed."]
    reasons: Annotated[dict[str, str], "Cluster that differs to what scheduling says of it."]


class AdoptionJson(TypedDict):
    """What became of live decisions."""

    adopted: Annotated[list[ObjectJson], "What became state."]
    left: Annotated[list[LeftJson], "What did not."]
    moves: Annotated[list[AdoptedMoveJson], "What the first pass moves all the same."]
    new: Annotated[list[AdoptedMoveJson], "What it places that has no live decision."]
    coming: Annotated[
        list[ComingMoveJson],
        "What moves within the hour after it, in the order of time.",
    ]
    otherwise: Annotated[list[OtherwiseJson], "What would be placed otherwise if it were new."]


class ImportJson(TypedDict):
    """What came of an export."""

    summary: Annotated[Mapping[str, int], "Result to how many objects have it."]
    objects: Annotated[list[ImportedJson], "Sorted; live decisions are in `adoption` instead."]
    written: Annotated[list[str], "Paths."]
    notServed: Annotated[list[str], "Resources that the server of `--context` does not have."]
    problems: Annotated[list[str], "What it refused to list."]
    adoption: Annotated[AdoptionJson | None, "`null` without `--adopt`."]


def import_json(
    objects: "Sequence[ImportedObject]",
    adoption: "Adoption | None",
    export: Export,
    written: Sequence[str],
) -> ImportJson:
    """Return the answer for machines."""
    from reconciler.imports.plan import Became

    counts = Counter(one.became for one in objects)
    return {
        "summary": {str(one): counts[one] for one in Became},
        "objects": [
            {
                "object": object_json(one.key),
                "result": str(one.became),
                "path": one.path or None,
                "reason": one.why or None,
            }
            for one in objects
        ],
        "written": list(written),
        "notServed": export.not_served,
        "problems": export.problems,
        "adoption": None if adoption is None else _adoption_json(adoption),
    }


def _adoption_json(adoption: "Adoption") -> AdoptionJson:

    return {
        "adopted": [object_json(key) for key in adoption.outputs],
        "left": [{"object": object_json(k), "reason": why} for k, why in adoption.left.items()],
        "moves": [_move_json(move) for move in adoption.moves],
        "new": [_move_json(move) for move in adoption.new],
        "coming": [
            {
                "object": object_json(one.key),
                "at": format_moment(one.at),
                "before": placed_json(one.before or ()),
                "after": placed_json(one.after or ()),
                "reason": one.why,
            }
            for one in adoption.coming
        ],
        "otherwise": [
            {
                "object": object_json(one.key),
                "live": placed_json(one.live),
                "afresh": placed_json(one.afresh),
                "reasons": {str(name): why for name, why in one.why.items()},
            }
            for one in adoption.otherwise
        ],
    }


def _move_json(move: "Decision") -> AdoptedMoveJson:

    return {
        "object": object_json(move.key),
        "before": placed_json(move.before),
        "after": placed_json(move.after),
        "cause": str(move.cause),
    }


def _name(key: "ObjectKey") -> str:
    """Return an object as a table shows it."""
    scope = f"{key.namespace}/" if key.namespace else ""
    reporter = f" of {key.reporter}" if key.reporter else ""
    return f"{key.kind} {scope}{key.name}{reporter}"


DEPLOYMENTS = "deployments.apps"


def check_here(directory: Path, options: ImportOptions) -> int:
    """Tell what is not done yet, of the files of the checkout; return the exit code."""
    repository = Repository.open(directory)
    delivery = Delivery(
        directory=directory,
        repository=repository,
        base=repository.find(repository.head_branch()) or "",
        branch=None,
        author=None,
    )
    world, content = world_on_disk(delivery, options.layout)
    export = export_of(options, world)
    checks = _checks(options, world, content, export)
    print_check(checks, export, output=options.output)
    is_ready = bool(checks) and all(one.ready for one in checks)
    return 0 if is_ready and not export.problems else 1


def _checks(
    options: ImportOptions, world: "World", content: "Files", export: Export
) -> "tuple[SwitchCheck, ...]":
    """Return how the switch stands, API by API."""
    from reconciler.core.dialects import KINDS
    from reconciler.core.inputs.admissions import ADMISSIONS
    from reconciler.core.inputs.validation import Rules
    from reconciler.imports.plan import plan_import
    from reconciler.imports.switch_check import DEPLOYMENT, HubSeen, check_switch
    from reconciler.shell.resources import load_schemas

    wanted = wanted_of(options, export.live, export)
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    plan = plan_import(world, content, export.live, wanted, rules)
    seen = HubSeen(
        live=export.live,
        host=None if options.host_context is None else _on_host(options, world),
        whole=DEPLOYMENT in export.listed,
    )
    return check_switch(world, plan, seen, wanted, next_moment(world))


def _on_host(options: ImportOptions, world: "World") -> "Sequence[LiveObject]":
    """Return the Deployments of the cluster that runs the control plane."""
    from reconciler.imports.export import read_export
    from reconciler.shell.processes.kubectl import Kubectl

    kubectl = Kubectl(
        context=options.host_context or "",
        kubeconfig=options.kubeconfig,
        timeout_seconds=options.timeout_seconds,
    )
    name = f"kubectl get {DEPLOYMENTS}"
    return read_export(kubectl.get(DEPLOYMENTS), name, world.known, world.known.scopes)


NOTHING_FOUND = "no objects of a hub were found"


def print_check(checks: "Sequence[SwitchCheck]", export: Export, *, output: str) -> None:
    """Print how the switch stands, of every API that was found."""
    if output == "json":
        print_json(_check_json(checks, export))
        return
    for number, check in enumerate(checks):
        click.echo(f"{'' if number == 0 else chr(10)}{check.api}")
        print_table(("STEP", "STATE", "WHAT NOW"), [_row(step) for step in check.steps])
        _print_moved(check.moved)
    if not checks:
        click.echo(NOTHING_FOUND)
    for problem in export.problems:
        click.echo(printable(f"warning: {problem}"), err=True)


def _row(step: "SwitchStep") -> tuple[str, str, str]:
    """Return the line of a step, with how many objects it is open for."""
    count = f" ({len(step.objects)})" if step.objects else ""
    return step.name, f"{step.state}{count}", step.now


def _print_moved(moved: "Sequence[MovedOnHub]") -> None:
    """Print what the hub has otherwise than our state, and what we would have."""
    if not moved:
        return
    verb = "differs" if len(moved) == 1 else "differ"
    click.echo(f"{len(moved)} {verb} on the hub:")
    for moved_object in moved[:MOST_LISTED]:
        scope = f"{moved_object.key.namespace}/" if moved_object.key.namespace else ""
        places = ", ".join(
            f"{who} {placed_text(where)}"
            for who, where in (
                ("hub", moved_object.live),
                ("here", moved_object.ours),
                ("next pass", moved_object.would),
            )
        )
        click.echo(f"  {printable(f'{scope}{moved_object.key.name}: {places}')}")
    if len(moved) > MOST_LISTED:
        click.echo(f"  and {len(moved) - MOST_LISTED} more; -o json lists all")


class StepJson(TypedDict):
    """A step of the switch."""

    step: Annotated[
        str,
        "`import`, `workloads`, `adopt`, `compare`, `keep`, `scheduler`, `controllers`, "
        "`agents` or `delivery`.",
    ]
    state: Annotated[
        str,
        "`done`, `open`, `unseen`: it was not shown, `members`: look at it in the member clusters.",
    ]
    now: Annotated[str | None, "What to do about it."]
    objects: Annotated[list[ObjectJson], "Those that it is open for."]


class ShadowJson(TypedDict):
    """What the hub has otherwise than our state."""

    object: Annotated[ObjectJson, "The output that the decision is about."]
    live: Annotated[list[PlacementJson], "Where the hub has it."]
    ours: Annotated[list[PlacementJson], "Where our state has it."]
    would: Annotated[
        list[PlacementJson],
        "Where the next pass has it, with what the hub has for inputs now.",
    ]


class SwitchJson(TypedDict):
    """How the switch from one API's control plane stands."""

    api: Annotated[str, "Its name."]
    steps: Annotated[list[StepJson], "In the order in which they are taken."]
    moved: Annotated[list[ShadowJson], "What the hub has otherwise than our state."]


class ImportCheckJson(TypedDict):
    """How a switch from live control planes stands."""

    ready: Annotated[bool, "Whether nothing is left to do that can be seen from the hub."]
    summary: Annotated[Mapping[str, int], "State to how many steps have it."]
    apis: Annotated[list[SwitchJson], "One for each API of which the hub has something."]
    notServed: Annotated[list[str], "Resources that the server of `--context` does not have."]
    problems: Annotated[list[str], "What it refused to list."]


def _check_json(checks: "Sequence[SwitchCheck]", export: Export) -> ImportCheckJson:
    """Return the answer for machines."""
    from reconciler.dialects.importer import StepState

    counts = Counter(step.state for check in checks for step in check.steps)
    return {
        "ready": bool(checks) and all(check.ready for check in checks),
        "summary": {str(state): counts[state] for state in StepState},
        "apis": [
            {
                "api": check.api,
                "steps": [
                    {
                        "step": step.name,
                        "state": str(step.state),
                        "now": step.now or None,
                        "objects": [object_json(key) for key in step.objects],
                    }
                    for step in check.steps
                ],
                "moved": [
                    {
                        "object": object_json(one.key),
                        "live": placed_json(one.live),
                        "ours": placed_json(one.ours),
                        "would": placed_json(one.would),
                    }
                    for one in check.moved
                ],
            }
            for check in checks
        ],
        "notServed": export.not_served,
        "problems": export.problems,
    }
