"""AddOn: scores that someone reports in AddOnPlacementScores, one object a cluster."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement import AddOnScore
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.dialects.scores.reports import Reported, Reports, ScoreName, read_score
from reconciler.model.same import Same
from reconciler.schedule.columns import of_clusters
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, positions_of

MOST_COLUMNS = 64  # ours: distinct scores that a pass remembers


@dataclass(frozen=True, slots=True)
class ScoreAddOn:
    """The prioritizer of one reported score."""

    score: AddOnScore

    def __call__(
        self, request: Request, members: Members, feasible: Mask, now: datetime, /
    ) -> Scores:
        """Score what was reported, 0 where nothing was or where it has run out.

        A report is valid up to its validUntil, that moment included.

        Source: ocm@00f84c3 pkg/placement/plugins/addon/addon.go `Score`.
        """
        names, resource = members.fleet.names, self.score.resource_name
        found = self._reported(members, request.reports, now)
        expired = (f"{names[i]}/{resource}" for i in positions_of(Mask(found.expired & feasible)))
        return Scores(
            of_clusters(found.values, feasible),
            expired=tuple(sorted(expired)),
            missing=tuple(names[i] for i in positions_of(Mask(found.missing & feasible))),
        )

    def _reported(self, members: Members, reports: Reports, now: datetime) -> Reported:
        """Read the reports once for all placements that ask for this score."""

        def read() -> Reported:
            name = ScoreName(self.score.resource_name, self.score.score_name)
            return read_score(name, members.fleet.names, reports, now)

        question = (self.score, Same(reports), now)
        return remember(members.reported, question, read, limit=MOST_COLUMNS)
