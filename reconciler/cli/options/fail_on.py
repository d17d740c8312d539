"""`plan --fail-on`: what a pipeline does not let through, and whether a preview has it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview

EXIT_FORBIDDEN = 3
"""Exit code of a preview that has what it must not have."""

LAZY_PLACES = "lazy-places"
_MOVES = re.compile(r"moves>(\d{1,9})", re.ASCII)
REMOVED, STUCK, LAZY = "removed", "unschedulable", "lazy"
_ONE_LAZY = "policy that is newly Lazy and places"


@dataclass(frozen=True, slots=True)
class Forbidden:
    """One condition as it was written; `moves` is the most that may move, `None` of the others."""

    text: str
    moves: int | None = None

    def found_in(self, preview: "Preview") -> str:
        """Return what a preview has of it, `""` if nothing."""
        from reconciler.audit.previews.preview import moves_in

        if self.moves is not None:
            count = moves_in(preview.entries)
            return _counted(count, "move") if count > self.moves else ""
        if self.text == LAZY:
            count = sum(one.rule == LAZY_PLACES for one in preview.warnings)
            what = "policies that are newly Lazy and place" if count != 1 else _ONE_LAZY
            return f"{count} {what} workloads at once" if count else ""
        counts = preview.counts
        count = counts.removed if self.text == REMOVED else counts.stuck
        if self.text == REMOVED and not count and _is_braked(preview):
            return "removals that are held back"
        return f"{_counted(count, 'object')} {self.text}" if count else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def _is_braked(preview: "Preview") -> bool:
    """Return whether a pass would remove so much that it does not, until it is allowed."""
    from reconciler.core.brake import REMOVAL_BRAKED

    return any(fault.rule == REMOVAL_BRAKED for fault in preview.faults)


class ForbiddenType(click.ParamType[Forbidden]):
    """A condition of `--fail-on`."""

    name = "condition"

    def convert(
        self, value: str | Forbidden, param: click.Parameter | None, ctx: click.Context | None
    ) -> Forbidden:
        """Read it."""
        if isinstance(value, Forbidden):
            return value
        from reconciler.model.message_text import shown

        plain = value.replace(" ", "")
        if plain in (REMOVED, STUCK, LAZY):
            return Forbidden(plain)
        match = _MOVES.fullmatch(plain)
        if match is None:
            self.fail(f"{shown(value)} must be moves>N, {STUCK}, {REMOVED} or {LAZY}", param, ctx)
        return Forbidden(plain, int(match[1]))


def report_forbidden(preview: "Preview", conditions: Sequence[Forbidden]) -> bool:
    """Say on standard error which conditions a preview meets; return whether it meets any."""
    met = [(one, one.found_in(preview)) for one in dict.fromkeys(conditions)]
    for one, count in met:
        if count:
            click.echo(f"reconciler: --fail-on {one.text}: the plan has {count}", err=True)
    return any(count for _, count in met)
