"""Printing how the switch from a live hub stands: a table for people, an answer for machines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reconciler.audit.printable import printable
from reconciler.cli.printing.print_json import print_json
from reconciler.cli.printing.table import print_table
from reconciler.model.decision import placed_text

if TYPE_CHECKING:
    from reconciler.cli.edits.import_source import Export
    from reconciler.dialects.hub_switch import SwitchStep
    from reconciler.imports.shadow import MovedOnHub
    from reconciler.imports.switch_check import SwitchCheck

MOST_LISTED = 20  # of what moved; the rest is counted
NOTHING_FOUND = "there is nothing of a hub in it"


def print_check(checks: "Sequence[SwitchCheck]", export: "Export", *, output: str) -> None:
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
    click.echo(f"{len(moved)} are otherwise on the hub:")
    for one in moved[:MOST_LISTED]:
        scope = f"{one.key.namespace}/" if one.key.namespace else ""
        places = ", ".join(
            f"{who} {placed_text(where)}"
            for who, where in (("hub", one.live), ("here", one.ours), ("next pass", one.would))
        )
        click.echo(f"  {printable(f'{scope}{one.key.name}: {places}')}")
    if len(moved) > MOST_LISTED:
        click.echo(f"  and {len(moved) - MOST_LISTED} more; -o json has them all")


def _check_json(checks: "Sequence[SwitchCheck]", export: "Export") -> Mapping[str, object]:
    """Return the answer for machines."""
    from reconciler.audit.json_shapes import object_json, placed_json
    from reconciler.dialects.hub_switch import StepState

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
