"""TaintToleration: the placement must tolerate each taint of a cluster, whatever its effect."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.model.taints import Taint, Toleration
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection


@dataclass(frozen=True, slots=True)
class IntolerableTaint:
    """The first taint of a cluster that no toleration covers."""

    taint: Taint

    def __str__(self) -> str:
        taint = self.taint
        return (
            f"taint &{{Key:{taint.key} Value:{taint.value} Effect:{taint.effect}}} "
            "cannot be tolerated"
        )


@dataclass(frozen=True, slots=True)
class ToleratedTaint:
    """What would help against a taint."""

    taint: Taint

    def __str__(self) -> str:
        value = f"={self.taint.value}" if self.taint.value else ""
        return f"tolerate {self.taint.key}{value}:{self.taint.effect}"


def reject_taints(request: Request, members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that carry a taint the placement does not tolerate.

    Clusters where the placement is already are no exception.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/tainttoleration/filtering.go
    `findIntolerableTaint`.
    """
    tolerations = request.policy.tolerations
    return remember(members.untolerated, tolerations, lambda: _untolerated(tolerations, members))


def _untolerated(tolerations: tuple[Toleration, ...], members: Members) -> tuple[Rejection, ...]:
    carriers: dict[Taint, Mask] = {}
    for taints, clusters in members.fleet.by_taints.items():
        for taint in taints:
            if not any(covers(toleration, taint) for toleration in tolerations):
                carriers[taint] = Mask(carriers.get(taint, NO_CLUSTERS) | clusters)
                break
    return tuple(
        Rejection(clusters, IntolerableTaint(taint), ToleratedTaint(taint))
        for taint, clusters in carriers.items()
    )


def covers(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration covers a taint.

    Unlike Kubernetes: without an operator it covers nothing (the CRD's default is Equal, applied
    where a placement is decoded), and with Equal an empty key fits an empty key only.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/tainttoleration/filtering.go
    `canTolerationTolerateTaint`.
    """
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.operator == "Equal" and (toleration.key, toleration.value) == (
        taint.key,
        taint.value,
    )
