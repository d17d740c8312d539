"""What there is to be weighed of an object's places: groups, spread, crowded clusters, scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.advice.gains import Change, Goal, may_gain
from reconciler.audit.advice.request import AdviceRequest
from reconciler.audit.fleet.usage import usage_of
from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.dialects.placement_wishes import SpreadWishes
from reconciler.dialects.scores.reports import SCORES, ScoreName, read_score, reports_of
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import World
from reconciler.rebalance.target import FreshPlace, PresentPlace
from reconciler.schedule.columns import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """What counts in a world.

    Attributes:
        request: What is asked for.
        spread: By the name of an API, what says how its objects want to be spread.
        crowded: The clusters that have given away more than they have, each with of what.
        scores: Cluster to score, where a family of them is named.
    """

    request: AdviceRequest
    spread: Mapping[str, SpreadWishes]
    crowded: Mapping[str, str]
    scores: Mapping[str, int]

    def may_gain(self, key: ObjectKey, present: PresentPlace) -> bool:
        """Return whether an object could gain anything by being elsewhere.

        Args:
            key: What decisions about it bear.
            present: Where it is.
        """
        goals, dialect = self.request.goals, dialect_of(key.group)
        wished = dialect is not None and Goal.SPREAD in goals
        spread = self.spread[dialect.name](key) if dialect is not None and wished else ()
        return may_gain(present, goals, spread=spread, crowded=self.crowded)

    def change(self, key: ObjectKey, place: FreshPlace) -> Change:
        """Return an object in two places, with what is to be said of them.

        Args:
            key: What decisions about it bear.
            place: Where it is and where it would be.
        """
        dialect = dialect_of(key.group)
        if dialect is None or place.before == place.after:
            return Change(before=place.before, after=place.after, lacks=place.problem)
        family = self.request.family
        return Change(
            before=place.before,
            after=place.after,
            lacks=place.problem,
            groups=place.groups,
            spread=self.spread[dialect.name](key),
            crowded=self.crowded,
            scores=self.scores,
            called="" if family is None else str(family.score),
            lower_is_better=family is not None and family.lower_is_better,
        )


def weighing_in(world: World, now: datetime, request: AdviceRequest) -> Weighing:
    """Return what counts in a world at a moment."""
    spread = {dialect.name: dialect.view().spread(world) for dialect in DIALECTS}
    family = request.family
    return Weighing(
        request=request,
        spread=spread,
        crowded=_crowded(world) if Goal.ROOM in request.goals else {},
        scores={} if family is None else scores_of(world, now, family.score),
    )


def _crowded(world: World) -> dict[str, str]:
    """Return the clusters that have given away more than they have, whatever API has them."""
    return {one.key.name: ", ".join(sorted(one.over)) for one in usage_of(world) if one.over}


def scores_of(world: World, now: datetime, name: ScoreName) -> dict[str, int]:
    """Return a score by cluster, of those that are reported and have not run out."""
    reports = reports_of(world.of_kind(*SCORES))
    clusters = [ClusterName(one) for one, resource in sorted(reports) if resource == name.resource]
    found = read_score(name, clusters, reports, now)
    silent = found.missing | found.expired
    values = enumerate(listed(found.values))
    return {str(clusters[at]): value for at, value in values if not silent >> at & 1}
