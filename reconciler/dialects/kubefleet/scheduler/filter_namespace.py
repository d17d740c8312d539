"""NamespaceAffinity: a namespaced placement goes only where its namespace exists."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Rejection, mask_of


@dataclass(frozen=True, slots=True)
class NoNamespace:
    """The namespace is not there, or the cluster does not tell which it has."""

    known: bool

    def __str__(self) -> str:
        if self.known:
            return "target namespace does not exist on cluster"
        return "cluster has no namespace information available"


def reject_namespace(request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters without the placement's namespace; a cluster-scoped placement needs none.

    A cluster that does not gather its namespaces is trusted to have it.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/namespaceaffinity/filtering.go
    `Filter`.
    """
    if not request.namespace:
        return
    views = list(enumerate(members.views))
    untold = mask_of(i for i, view in views if view.namespaces == frozenset())
    missing = mask_of(
        i for i, view in views if view.namespaces and request.namespace not in view.namespaces
    )
    remedy = f"have the namespace {request.namespace}, and report it"
    yield Rejection(untold, NoNamespace(known=False), remedy)
    yield Rejection(missing, NoNamespace(known=True), remedy)
