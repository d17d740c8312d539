"""Advice as people read it: what moves and what that gains, then what is not advised, and why."""

from collections.abc import Iterator, Sequence

import click

from reconciler.audit.advice.advice import Advice, AdvisedMove
from reconciler.audit.advice.choice import NotAdvised, WhyNot
from reconciler.audit.advice.gains import Goal
from reconciler.audit.previews.placement_moves import moves_of, parts_in
from reconciler.audit.printable import printable
from reconciler.audit.short_id import short_id
from reconciler.cli.printing.table import print_table
from reconciler.model.enumeration import enumerated
from reconciler.model.moments import format_moment

TITLES = ("OBJECT", "FROM", "TO", "MOVES", "GAIN")
NOWHERE, ALONG = "-", "(goes along)"
MOST_NAMES = 3
SAID = {
    WhyNot.CONTENT: "well placed already",
    WhyNot.STAYS: "already where a schedule afresh puts them",
    WhyNot.NO_GAIN: "without a gain",
    WhyNot.BELOW: "below {min_points} points a move",
    WhyNot.BEYOND: "beyond --max-moves {max_moves}",
    WhyNot.WAITS: "waiting",
    WhyNot.ANYWAY: "moving in the next pass anyway",
    WhyNot.TOGETHER: "without a gain beside the others",
    WhyNot.UNDECIDED: "that cannot be decided",
}
AT_REST = (WhyNot.CONTENT, WhyNot.STAYS)
"""Of these nobody needs the names."""


def print_advice(advice: Advice) -> None:
    """Print advice to standard output."""
    click.echo(printable(_headline(advice)))
    click.echo(printable(_asked(advice)))
    if advice.moves:
        click.echo()
        print_table(TITLES, [_row(one) for one in advice.moves])
    left = "; ".join(_left(advice))
    if left:
        click.echo()
        click.echo(printable(f"Not advised: {left}."))
    if not advice.finished:
        click.echo(printable(f"After {advice.passes} passes the rebalancer is not done yet."))


def _headline(advice: Advice) -> str:
    """Return what is advised, in a line."""
    named = sum(one.reference is not None for one in advice.moves)
    place = f"for {short_id(advice.revision)} at {format_moment(advice.now)}"
    if not named:
        return f"Advice {place}: nothing is worth a move"
    told = f"{_counted(named, 'object')}, {_counted(advice.moved, 'move')}"
    batches = f", in {advice.passes} passes" if advice.passes > 1 else ""
    return f"Advice {place}: {told}{batches}"


def _asked(advice: Advice) -> str:
    """Return goals and limits, in a line."""
    request = advice.request
    parts = [", ".join(goal for goal in Goal if goal in request.goals)]
    if request.family is not None:
        best = ", the least is the best" if request.family.lower_is_better else ""
        parts.append(f"by {request.family.score}{best}")
    if request.max_moves is not None:
        parts.append(f"at most {_counted(request.max_moves, 'move')}")
    parts.append(f"at least {_counted(request.min_points, 'point')} a move")
    if request.batch_moves is not None:
        parts.append(f"{request.batch_moves} a batch")
    return f"Goals: {'; '.join(parts)}"


def _row(move: AdvisedMove) -> tuple[str, ...]:
    """Return a line of the table."""
    changed = [(one.cluster, one.before, one.after) for one in moves_of(move.before, move.after)]
    more = [(str(name), parts_in(then) - parts_in(was)) for name, was, then in changed]
    is_counted = any(count for _, count in (*move.before, *move.after))
    words = "; ".join(gain.words for gain in move.gains) or NOWHERE
    return (
        move.subject,
        _places([(name, -parts) for name, parts in more if parts < 0], counted=is_counted),
        _places([(name, parts) for name, parts in more if parts > 0], counted=is_counted),
        str(move.moves),
        words if move.reference is not None else f"{words} {ALONG}",
    )


def _places(parts: Sequence[tuple[str, int]], *, counted: bool) -> str:
    """Return clusters with the parts that leave them or come to them."""
    names = (f"{name}({count})" if counted else name for name, count in parts)
    return enumerated(names, MOST_NAMES) or NOWHERE


def _left(advice: Advice) -> Iterator[str]:
    """Yield what is not advised, a clause for each reason."""
    request = advice.request
    for why, said in SAID.items():
        found = [one for one in advice.others if one.why is why]
        if found:
            told = said.format(min_points=request.min_points, max_moves=request.max_moves)
            names = enumerated(map(_named, found), MOST_NAMES)
            yield f"{len(found)} {told}" + ("" if why in AT_REST else f" ({names})")


def _named(one: NotAdvised) -> str:
    """Return an object, with what keeps it."""
    return f"{one.subject}: {one.detail}" if one.detail else one.subject


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
