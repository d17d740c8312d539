"""ClusterAffinity, preferred terms: weights of the terms that a cluster fits."""

import math
from collections.abc import Iterable
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members, Unscorable
from reconciler.dialects.kubefleet.api.policy import Preference
from reconciler.dialects.kubefleet.api.score_property import scores_of
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.scheduler.properties import scale_of
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.model.same import Same
from reconciler.model.selectors import refusal_of
from reconciler.schedule.fleet import group_by, remember
from reconciler.schedule.framework import NO_CLUSTERS, Levels, Mask, positions_of

ASCENDING = "Ascending"
DESCENDING = "Descending"


def score_affinity(request: Request, members: Members, feasible: Mask, now: datetime, /) -> Levels:
    """Score by what the preferred terms give to each cluster of the fleet.

    A term of weight 0 gives nothing, but its sorter's property is read all the same. The property
    selector of a preferred term is not looked at.

    Raises:
        UnexpectedBehavior: A property cannot be read on some cluster, feasible or not; or a
            feasible cluster meets a term that cannot be judged.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/scoring.go
    `PreScore`, `Score`.
    """
    preferred = request.policy.preferred
    by_scores = members.scores is not None and bool(scores_of(request.policy))
    question = (preferred, Same(members.scores), now) if by_scores else preferred
    levels, unscorable = remember(
        members.affinities, question, lambda: _score_all(preferred, members, now)
    )
    for item in unscorable:
        if item.clusters & feasible:
            raise UnexpectedBehavior(f"failed to calculate score: {item.message}")
    return levels


def _score_all(
    preferred: tuple[Preference, ...], members: Members, now: datetime
) -> tuple[Levels, tuple[Unscorable, ...]]:
    """Return the sums of all terms, and what cannot be scored."""
    answers: list[Levels] = []
    unscorable = []
    for preference in preferred:
        sorter = preference.term.sorter
        if sorter is not None:
            scale_of(sorter.name, members, now)
    for preference in preferred:
        if not preference.weight:
            continue
        gained = _score_term(preference, members, now)
        if isinstance(gained, Unscorable):
            unscorable.append(gained)
        else:
            answers.append(gained)
    levels = answers[0] if len(answers) == 1 else _sums(answers, len(members.views))
    return levels, tuple(unscorable)


def _sums(answers: Iterable[Levels], size: int) -> Levels:
    """Return the sum of several scores; cluster by cluster, since most sums may differ."""
    total = [0] * size
    for levels in answers:
        for score, clusters in levels:
            for position in positions_of(clusters):
                total[position] += score
    return tuple(group_by(total, skip=0).items())


def _score_term(preference: Preference, members: Members, now: datetime) -> Levels | Unscorable:
    """Return what one term gives to the clusters, or the clusters that it cannot judge."""
    labels, sorter = preference.term.labels, preference.term.sorter
    matched = members.fleet.all
    if labels is not None:
        refusal = refusal_of(labels)
        if refusal:
            return Unscorable(matched, f"failed to parse label selector: {refusal}")
        matched = members.fleet.select(labels)
    if sorter is None:
        return ((preference.weight, matched),)
    scale = scale_of(sorter.name, members, now)
    if matched & scale.outside:
        outside = Mask(matched & scale.outside)
        return Unscorable(outside, f"cannot interpolate weight by {sorter.name}")
    if sorter.sort_order not in (ASCENDING, DESCENDING):
        meeting = Mask(matched & scale.having) if scale.ratios else NO_CLUSTERS
        return Unscorable(
            meeting, f"cannot interpolate weight as sort order {sorter.sort_order} is invalid"
        )
    weight, descending = preference.weight, sorter.sort_order == DESCENDING
    levels: dict[int, int] = {}
    for ratio, clusters in scale.ratios:
        score = round_half_away((ratio if descending else 1 - ratio) * weight)
        levels[score] = levels.get(score, 0) | clusters
    found = [(score, Mask(clusters & matched)) for score, clusters in levels.items()]
    return tuple(sorted([level for level in found if level[1] and level[0]], reverse=True))


def round_half_away(value: float) -> int:
    """Return the nearest integer, halves away from zero.

    Source: Go src/math/floor.go `Round`.

    >>> round_half_away(2.5), round_half_away(-2.5), round_half_away(0.49999999999999994)
    (3, -3, 0)
    """
    whole = math.trunc(value)
    return whole + int(math.copysign(1, value)) if abs(value - whole) >= 0.5 else whole
