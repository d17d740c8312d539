"""SamePlacementAffinity: a cluster takes a placement once, and keeps it rather than another."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.schedule.framework import Rejection


@dataclass(frozen=True, slots=True)
class AlreadySelected:
    """The placement is there; the cluster is neither picked again nor reported as rejected."""

    def __str__(self) -> str:
        return "cluster is already selected"


def reject_placed(request: Request, _members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Set clusters aside where the present policy is at work already.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/sameplacementaffinity/filtering.go
    `Filter`, status ClusterAlreadySelected.
    """
    yield Rejection(request.placed, AlreadySelected(), "")
