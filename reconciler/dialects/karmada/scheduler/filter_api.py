"""APIEnablement: the cluster must serve the kind of the workload."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.schedule.framework import Mask, Rejection

REASON = "cluster(s) did not have the API resource"


@dataclass(frozen=True, slots=True)
class MissingApi:
    """What the cluster would have to serve."""

    api_version: str
    kind: str

    def __str__(self) -> str:
        return f"serve {self.kind} of {self.api_version} (status.apiEnablements)"


def reject_missing_apis(
    request: Request, members: Members, _now: datetime, /
) -> Iterator[Rejection]:
    """Reject clusters that do not list the workload's API, unless the workload is there already.

    A list that is known to be incomplete counts like a complete one.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/apienablement/api_enablement.go
    `Filter`.
    """
    api = (request.binding.api_version, request.binding.kind)
    serving = members.serving(api) | members.declared | request.targets
    yield Rejection(Mask(members.fleet.all & ~serving), REASON, MissingApi(*api))
