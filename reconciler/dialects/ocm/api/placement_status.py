"""The status of a Placement: how many clusters it has, in which groups of decisions."""

from dataclasses import dataclass

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, strings, text


@dataclass(frozen=True, slots=True)
class StatusGroup:
    """A decision group: its index, its name, its PlacementDecisions, how many clusters it has."""

    index: int
    name: str
    objects: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class DecidedStatus:
    """What a status file says of a placement.

    Attributes:
        selected: How many clusters it has.
        groups: Its decision groups, in order.
        conditions: As they are written.
    """

    selected: int = 0
    groups: tuple[StatusGroup, ...] = ()
    conditions: tuple[Body, ...] = ()


def decode_status(body: Body | None) -> DecidedStatus:
    """Return the status that a file holds; what is not there counts as none."""
    status = mapping(body or {}, "status")
    return DecidedStatus(
        selected=number(status, "numberOfSelectedClusters"),
        groups=tuple(
            StatusGroup(
                number(one, "decisionGroupIndex"),
                text(one, "decisionGroupName"),
                strings(one, "decisions"),
                number(one, "clusterCount"),
            )
            for one in bodies(status, "decisionGroups")
        ),
        conditions=bodies(status, "conditions"),
    )


def encode_status(status: DecidedStatus) -> Body:
    """Return a status as a file has it.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `updateStatus`.
    """
    return {
        "numberOfSelectedClusters": status.selected,
        "decisionGroups": [
            {
                "decisionGroupIndex": one.index,
                "decisionGroupName": one.name,
                "decisions": list(one.objects),
                "clusterCount": one.count,
            }
            for one in status.groups
        ],
        "conditions": list(status.conditions),
    }


def live_status(body: Body) -> Body:
    """Return what of the status of a live placement is ours to keep, as it is written there."""
    status = mapping(body, "status")
    kept = ("numberOfSelectedClusters", "decisionGroups", "conditions")
    return {name: status[name] for name in kept if name in status}
