"""Printing what an import came to: a table for people, an answer for machines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reconciler.audit.printable import printable
from reconciler.cli.printing.table import print_table
from reconciler.model.decision import Decision, placed_text
from reconciler.model.moments import format_moment

if TYPE_CHECKING:
    from reconciler.cli.edits.import_source import Export
    from reconciler.imports.adoption import Adoption
    from reconciler.imports.plan import ImportedObject
    from reconciler.model.identity import ObjectKey

MOST_LISTED = 20  # of what is skipped or differs; the rest is counted


def print_text(
    objects: "Sequence[ImportedObject]", adoption: "Adoption | None", export: "Export"
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
        click.echo(printable(f"left out what a control plane has for itself: {listed}"))
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
        f"the first pass moves {len(adoption.moves)}, and places {len(adoption.new)} anew; "
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
        click.echo(f"{len(adoption.otherwise)} would be placed otherwise if they were new:")
    for one in adoption.otherwise[:MOST_LISTED]:
        shift = f"{placed_text(one.live)}, afresh {placed_text(one.afresh)}"
        click.echo(f"  {printable(f'{one.subject}: {shift}')}")
        for name, why in one.why.items():
            click.echo(f"    {printable(f'{name}: {why}')}")
    more = len(adoption.otherwise) - MOST_LISTED
    if more > 0:
        click.echo(f"  and {more} more; -o json has them all")


def import_json(
    objects: "Sequence[ImportedObject]",
    adoption: "Adoption | None",
    export: "Export",
    written: Sequence[str],
) -> dict[str, object]:
    """Return the answer for machines."""
    from reconciler.audit.json_shapes import object_json
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


def _adoption_json(adoption: "Adoption") -> Mapping[str, object]:
    from reconciler.audit.json_shapes import object_json, placed_json

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
                "reasons": dict(one.why),
            }
            for one in adoption.otherwise
        ],
    }


def _move_json(move: "Decision") -> Mapping[str, object]:
    from reconciler.audit.json_shapes import object_json, placed_json

    return {
        "object": object_json(move.key),
        "before": placed_json(move.before),
        "after": placed_json(move.after),
        "cause": str(move.cause),
    }


def _name(key: "ObjectKey") -> str:
    """Return an object as a table shows it."""
    scope = f"{key.namespace}/" if key.namespace else ""
    told = f" of {key.reporter}" if key.reporter else ""
    return f"{key.kind} {scope}{key.name}{told}"
