"""What is to be told of clusters that weigh by a score."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import WEIGHT_POINTER, policy_weight, score_in
from reconciler.dialects.karmada.scheduler.divide_by_score import scores_asked
from reconciler.dialects.karmada.scheduler.division import Mode
from reconciler.dialects.karmada.scheduler.schedule_result import Attempt
from reconciler.dialects.scores.references import ExtendedScores
from reconciler.dialects.scores.reports import Reported
from reconciler.manifests.references import Dangling
from reconciler.model.world import Manifest

BY_SCORES = (Mode.FRESH, Mode.SCALE_UP)


def weighing_note(attempt: Attempt, position: int, scored: Reported | None) -> str:
    """Return by which score a cluster weighs, `""` where it weighs by none."""
    name = attempt.request.placement.weighing_score
    return "" if scored is None or name is None else scored.told(name, position)


def weightless(attempt: Attempt, members: Members, now: datetime) -> Mapping[int, str]:
    """Return why selected clusters get none of what was divided: their score is not above 0."""
    name, division = attempt.request.placement.weighing_score, attempt.division
    steps = () if division is None else division.steps
    if name is None or any(step.mode not in BY_SCORES for step in steps):
        return {}
    scored = scores_asked(attempt.request.placement, members, now)
    if scored is None:
        return {}
    selected = attempt.selected or ()
    return {i: scored.told(name, i) for i in selected if scored.values[i] <= 0}


def doubts_of_weight(policy: Manifest, scores: ExtendedScores) -> Iterator[Dangling]:
    """Yield that no cluster has the score that a policy weighs by, or that a hub refuses it."""
    weight = policy_weight(policy.body)
    name = score_in(weight)
    if name is not None:
        yield from scores.doubts(policy.key, WEIGHT_POINTER, name, "refuses", weight)
