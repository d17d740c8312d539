"""TaintToleration: the workload must tolerate the taints that keep others away."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.scheduler.request import Request
from reconciler.model.taints import Taint, TaintEffect, Toleration, UntoleratedTaint, tolerates
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection

REPELLING = frozenset({TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE})


@dataclass(frozen=True, slots=True)
class ToleratedTaint:
    """What would help against a taint."""

    taint: Taint

    def __str__(self) -> str:
        return f"lose the taint {self.taint}, or be tolerated (placement.clusterTolerations)"


def reject_taints(request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters with an untolerated taint, unless the workload is there already.

    Seconds of tolerations do not matter here: a limited toleration lets the workload in.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
    `Filter`.
    """
    tolerations = request.placement.cluster_tolerations or ()
    for rejection in remember(
        members.untolerated, tolerations, lambda: _untolerated(tolerations, members)
    ):
        if rejection.clusters & request.targets:
            yield replace(rejection, clusters=Mask(rejection.clusters & ~request.targets))
        else:
            yield rejection


def _untolerated(tolerations: tuple[Toleration, ...], members: Members) -> tuple[Rejection, ...]:
    carriers: dict[Taint, Mask] = {}
    for taints, clusters in members.fleet.by_taints.items():
        taint = first_untolerated(taints, tolerations)
        if taint is not None:
            carriers[taint] = Mask(carriers.get(taint, NO_CLUSTERS) | clusters)
    return tuple(
        Rejection(clusters, UntoleratedTaint(taint), ToleratedTaint(taint))
        for taint, clusters in carriers.items()
    )


def first_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]
) -> Taint | None:
    """Return the first repelling taint that no toleration fits, without its moment."""
    for taint in taints:
        if taint.effect in REPELLING and not any(tolerates(item, taint) for item in tolerations):
            return taint if taint.time_added is None else replace(taint, time_added=None)
    return None
