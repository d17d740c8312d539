"""AddOn: scores that someone reports in AddOnPlacementScores, one object a cluster."""

from dataclasses import dataclass
from datetime import datetime
from itertools import repeat

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement import AddOnScore
from reconciler.dialects.ocm.scheduler.request import Reported, Reports, Request, Scores
from reconciler.model.same import Same
from reconciler.schedule.columns import column_of, of_clusters
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, mask_of, mask_where, positions_of

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
            return _read(self.score, members, reports, now)

        question = (self.score, Same(reports), now)
        return remember(members.reported, question, read, limit=MOST_COLUMNS)


def _read(score: AddOnScore, members: Members, reports: Reports, now: datetime) -> Reported:
    """Return one score of every cluster."""
    keys = zip(members.fleet.names, repeat(score.resource_name))
    found = [reports.get(key) for key in keys]
    values = [None if report is None else report.values.get(score.score_name) for report in found]
    limited = [
        (position, report.valid_until)
        for position, report in enumerate(found)
        if report is not None and report.valid_until is not None
    ]
    expired = [position for position, until in limited if now > until]
    for position in expired:
        values[position] = 0
    missing = mask_where([value is None for value in values])
    return Reported(column_of([value or 0 for value in values]), missing, mask_of(expired))
