"""AddOn: scores that someone reports in AddOnPlacementScores, one object a cluster."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.ocm.clusters import Members
from reconciler.dialects.ocm.placement import AddOnScore
from reconciler.dialects.ocm.request import Request, Scores
from reconciler.schedule.framework import Mask, positions_of


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
        names, resource, score = (
            members.fleet.names,
            self.score.resource_name,
            self.score.score_name,
        )
        column: list[int] = []
        expired, missing = [], []
        find = request.reports.get
        for position in positions_of(feasible):
            report = find((names[position], resource))
            if report is None:
                column.append(0)
                missing.append(names[position])
            elif report.valid_until is not None and now > report.valid_until:
                column.append(0)
                expired.append(f"{names[position]}/{resource}")
            else:
                column.append(report.values.get(score, 0))
                if score not in report.values:
                    missing.append(names[position])
        return Scores(column, expired=tuple(sorted(expired)), missing=tuple(missing))
