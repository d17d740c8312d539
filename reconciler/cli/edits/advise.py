"""The words of `advise`: what is asked for, where the rebalancer goes, how advice is printed."""

from collections.abc import Sequence
from pathlib import Path

import click

from reconciler.audit.advice.advice import Advice
from reconciler.audit.advice.adviser import advise
from reconciler.audit.advice.as_json import advice_json
from reconciler.audit.advice.gains import Goal
from reconciler.audit.advice.request import AdviceRequest, ScoreFamily
from reconciler.audit.advice.weighing import scores_of
from reconciler.cli.edits.delivery import commit_subject
from reconciler.cli.edits.demand import check_name, free_name, path_of
from reconciler.cli.edits.new_manifest import check_read, open_base
from reconciler.cli.edits.what_if import moment_in
from reconciler.cli.printing.advice import print_advice
from reconciler.cli.printing.print_json import print_json
from reconciler.cli.printing.progress import PASSES, doing
from reconciler.dialects.scores.reports import ScoreName
from reconciler.errors import UsageError
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey
from reconciler.model.message_text import shown
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.world import World
from reconciler.rebalance.kinds import REBALANCER

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
    name: str | None,
    base: str,
    output: str,
    branch: str | None,
    author: str | None,
    layout: RepositoryLayout,
) -> int:
    """Advise, and write the rebalancer onto a branch if one is named; return the exit code."""
    family = _family(score, lower_is_better=lower_is_better)
    delivery, world = open_base(directory, base, branch, author, layout)
    key = ObjectKey(*REBALANCER, "", name or free_name(world, STEM))
    check_name(world, key)
    request = AdviceRequest(
        goals=_goals(goals, family),
        max_moves=max_moves,
        min_points=min_gain,
        family=family,
        batch_moves=batch,
        name=key.name,
    )
    path = path_of(key)
    check_read(world, path)
    if branch is not None:
        delivery.check()
    with doing(PASSES):
        advice = _advised(world, request)
    said = f"nothing is written; --branch NAME commits {path} on a new branch"
    if advice.body is None:
        said = "nothing is advised, so nothing is written"
    elif branch is not None:
        said = delivery.deliver({path: encode(advice.body).encode()}, _subject(advice))
    _print(output, advice, path)
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
        raise UsageError(f"--goal {named} needs the scores of clusters that count: --score")
    if family is not None and not by_scores:
        raise UsageError("--score is for --goal score or cost")
    return frozenset(goals)


def _family(score: str | None, *, lower_is_better: bool) -> ScoreFamily | None:
    """Read `NAME/SCORE`.

    Raises:
        UsageError: It is not that.
    """
    if score is None:
        if lower_is_better:
            raise UsageError("--lower-is-better is about a --score")
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
