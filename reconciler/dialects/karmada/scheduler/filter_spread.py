"""SpreadConstraint: the cluster must have the property by which the workload is spread."""

from collections.abc import Iterator
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection

REMEDY = "name in its spec the property by which it spreads"


def reject_without_topology(
    request: Request, members: Members, _now: datetime, /
) -> Iterator[Rejection]:
    """Reject clusters without the provider, region or zones that a constraint groups by.

    It does so even where the strategy ignores the constraint; the deprecated `zone` does not count.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/spreadconstraint/spread_constraint.go
    `Filter`.
    """
    everyone, seen = members.fleet.all, NO_CLUSTERS
    for constraint in request.placement.spread_constraints or ():
        field = constraint.spread_by_field
        if field in ("provider", "region"):
            having, name = members.by_field[field].having, field
        elif field == "zone":
            having, name = members.zoned, "zones"
        else:
            continue
        lacking = Mask(everyone & ~having & ~seen)
        seen = Mask(seen | lacking)
        yield Rejection(lacking, f"cluster(s) did not have {name} property", REMEDY)
