"""The words of `advise`: what is asked for, where the rebalancer goes, how advice is printed.

For users, advice shows what moves and what that gains, then what is not advised, and why.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from reconciler.audit.advice import Advice, AdvisedMove, advice_json, advise
from reconciler.audit.gains import AdviceRequest, Goal, NotAdvised, ScoreFamily, WhyNot, scores_of
from reconciler.audit.previews.placement_moves import moves_of, parts_in
from reconciler.cli.delivery import ManifestOptions, commit_subject
from reconciler.cli.new_manifests import check_name, check_read, free_name, open_base, path_of
from reconciler.cli.previews import moment_in
from reconciler.cli.printing import print_json
from reconciler.cli.progress import PASSES, doing
from reconciler.cli.tables import print_table
from reconciler.dialects.scores import ScoreName
from reconciler.errors import UsageError
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.text import enumerated, printable, short_id, shown
from reconciler.model.world import World
from reconciler.rebalance.target import REBALANCER

STEM = "advice"
USUAL = frozenset({Goal.AFFINITY, Goal.SPREAD, Goal.ROOM})


def run(
    directory: Path,
    /,
    *,
    goals: Sequence[str],
    max_moves: int | None,
    min_gain: int,
    score: str | None,
    lower_is_better: bool,
    batch: int | None,
    preserve_available: bool,
    rest: int | None,
    name: str | None,
    to: ManifestOptions,
) -> int:
    """Advise, and write the rebalancer onto a branch if one is named; return the exit code."""
    family = _family(score, lower_is_better=lower_is_better)
    if preserve_available and (goals or family is not None or batch is not None):
        raise UsageError(
            "--preserve-available moves only what cannot be scheduled; omit --goal, --score and "
            "--batch"
        )
    delivery, world = open_base(directory, to)
    key = ObjectKey(*REBALANCER, "", name or free_name(world, STEM))
    check_name(world, key)
    request = AdviceRequest(
        goals=frozenset({Goal.RUN}) if preserve_available else _goals(goals, family),
        max_moves=max_moves,
        min_points=min_gain,
        family=family,
        batch_moves=batch,
        name=key.name,
        preserves=preserve_available,
        rest_seconds=rest,
    )
    path = path_of(key)
    check_read(world, path)
    if to.branch is not None:
        delivery.check()
    with doing(PASSES):
        advice = _advised(world, request)
    said = f"nothing is written; --branch NAME commits {path} on a new branch"
    if advice.body is None:
        said = "nothing is advised, so nothing is written"
    elif to.branch is not None:
        said = delivery.deliver({path: encode(advice.body).encode()}, _subject(advice))
    _print(to.output, advice, path)
    click.echo(said, err=True)
    return 0


def _advised(world: World, request: AdviceRequest) -> Advice:
    """Return the advice for a world now.

    Raises:
        UsageError: No cluster has the score that is named.
    """
    now = moment_in(world, None)
    if request.family is not None and not scores_of(world, now, request.family.score):
        raise UsageError(
            f"no cluster has the score {shown(str(request.family.score))}, or it has run out; "
            "NAME/SCORE is what `reconciler scores NAME` writes, and a score in that"
        )
    return advise(world, now, request)


def _print(output: str, advice: Advice, path: str) -> None:
    if output == "json":
        print_json(advice_json(advice, path))
    elif output == "text":
        print_advice(advice)
    elif advice.body is not None:
        click.echo(encode(advice.body), nl=False)


def _goals(words: Sequence[str], family: ScoreFamily | None) -> frozenset[Goal]:
    """Return the goals that are named; those that need no scores by default, and with them score.

    Raises:
        UsageError: Scores are to be weighed, and nobody says which, or the reverse.
    """
    goals = frozenset(map(Goal, words)) or (USUAL if family is None else {*USUAL, Goal.SCORE})
    by_scores = goals & {Goal.SCORE, Goal.COST}
    if by_scores and family is None:
        named = " and ".join(sorted(by_scores))
        raise UsageError(f"--goal {named} needs cluster scores: give --score")
    if family is not None and not by_scores:
        raise UsageError("--score requires --goal score or cost")
    return frozenset(goals)


def _family(score: str | None, *, lower_is_better: bool) -> ScoreFamily | None:
    """Read `NAME/SCORE`.

    Raises:
        UsageError: It is not that.
    """
    if score is None:
        if lower_is_better:
            raise UsageError("--lower-is-better requires --score")
        return None
    resource, _, name = score.partition("/")
    if not resource or not name:
        raise UsageError(f"--score {shown(score)} must be NAME/SCORE, such as prices/eur")
    return ScoreFamily(score=ScoreName(resource, name), lower_is_better=lower_is_better)


def _subject(advice: Advice) -> str:
    """Return the subject of the commit."""
    count = sum(one.reference is not None for one in advice.moves)
    goals = ", ".join(goal for goal in Goal if goal in advice.request.goals)
    return commit_subject(f"Rebalance {count} object{'' if count == 1 else 's'}: {goals}")


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
    WhyNot.UNKNOWN: "of which it is not known what runs",
    WhyNot.RESTS: "resting after a move",
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
    remaining = "; ".join(_left(advice))
    if remaining:
        click.echo()
        click.echo(printable(f"Not recommended: {remaining}."))
    if not advice.finished:
        click.echo(printable(f"After {advice.passes} passes the rebalancer has not finished."))


def _headline(advice: Advice) -> str:
    """Return what is advised, in a line."""
    named = sum(one.reference is not None for one in advice.moves)
    place = f"for {short_id(advice.revision)} at {format_moment(advice.now)}"
    if not named:
        return f"Advice {place}: nothing is worth a move"
    counts = f"{_counted(named, 'object')}, {_counted(advice.moved, 'move')}"
    batches = f", in {advice.passes} passes" if advice.passes > 1 else ""
    return f"Advice {place}: {counts}{batches}"


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
        omitted = [one for one in advice.others if one.why is why]
        if omitted:
            reason = said.format(min_points=request.min_points, max_moves=request.max_moves)
            names = enumerated(map(_named, omitted), MOST_NAMES)
            yield f"{len(omitted)} {reason}" + ("" if why in AT_REST else f" ({names})")


def _named(one: NotAdvised) -> str:
    """Return an object, with what keeps it."""
    return f"{one.subject}: {one.detail}" if one.detail else one.subject


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
