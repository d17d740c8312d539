"""The status of a placement of either scope: cluster by cluster, how far it is."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.resource_snapshot import RESOURCES
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.known_kinds import Kind

NOTHING: Body = {}


class ClusterStatus(NamedTuple):
    """How far a placement is in one cluster.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PerClusterPlacementStatus`.

    Attributes:
        cluster: Its name.
        conditions: As written.
        resource_index: Of the snapshot that it is about, `None` for a cluster not selected.
        problems: Lists that name resources which failed, drifted or differ, as a binding has them.
        overrides: Lists that name the overrides in force.
    """

    cluster: str
    conditions: Sequence[Body]
    resource_index: str | None = None
    problems: Body = NOTHING
    overrides: Body = NOTHING


class PlacementStatus(NamedTuple):
    """The status of a placement; `None` stands for an absent field.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementStatus`.

    Attributes:
        conditions: As written.
        resource_index: Of the latest resource snapshot.
        clusters: Those selected, then as many of the others as it lacks.
        resources: What it selects, in the order of application, each as its identity.
        body: The status as read; other fields of it stay.
    """

    conditions: Sequence[Body] | None = None
    resource_index: str | None = None
    clusters: tuple[ClusterStatus, ...] | None = None
    resources: Sequence[Body] | None = None
    body: Body = NOTHING

    @property
    def by_cluster(self) -> dict[str, ClusterStatus]:
        """How far it is, by cluster."""
        return {one.cluster: one for one in self.clusters or ()}


def decode_placement_status(manifest: Body) -> PlacementStatus:
    """Return the status of a placement's status file.

    Raises:
        UserError: A field has the wrong type.
    """
    status = fields.mapping(manifest, "status")
    listed = fields.bodies_or_none(status, "placementStatuses")
    index = status.get("observedResourceIndex")
    return PlacementStatus(
        conditions=fields.bodies_or_none(status, "conditions"),
        resource_index=None if index is None else fields.as_text(index, "observedResourceIndex"),
        clusters=None if listed is None else tuple(map(_decode_cluster, listed)),
        resources=fields.bodies_or_none(status, RESOURCES),
        body=status,
    )


def selected_kinds(manifest: Body) -> Iterator[Kind]:
    """Yield group and kind of all that the status of a placement lists as selected.

    Raises:
        UserError: A field has the wrong type.
    """
    for one in decode_placement_status(manifest).resources or ():
        yield fields.text(one, "group"), fields.text(one, "kind")


def encode_placement_status(status: PlacementStatus) -> Body:
    """Return the status of a placement as it is written; unknown fields stay as read."""
    body = dict(status.body)
    if status.conditions is not None:
        body["conditions"] = list(status.conditions)
    if status.resource_index is not None:
        body["observedResourceIndex"] = status.resource_index
    if status.clusters is not None:
        body["placementStatuses"] = list(map(_encode_cluster, status.clusters))
    if status.resources is not None:
        body[RESOURCES] = list(status.resources)
    return body


PROBLEMS = ("failedPlacements", "driftedPlacements", "diffedPlacements")
FAILED, DRIFTED, DIFFED = PROBLEMS
OVERRIDES = {
    "applicableClusterResourceOverrides": "clusterResourceOverrideSnapshots",
    "applicableResourceOverrides": "resourceOverrideSnapshots",
}
"""The lists of overrides that an entry has, and those of a binding's spec that they come from."""
"""The lists of resources that a binding's status has, and an entry of a placement's."""


def _decode_cluster(body: Body) -> ClusterStatus:
    index = body.get("observedResourceIndex")
    return ClusterStatus(
        cluster=fields.text(body, "clusterName"),
        conditions=fields.bodies(body, "conditions"),
        resource_index=None if index is None else fields.as_text(index, "observedResourceIndex"),
        problems={name: body[name] for name in PROBLEMS if name in body},
        overrides={name: body[name] for name in OVERRIDES if name in body},
    )


def _encode_cluster(status: ClusterStatus) -> Body:
    entry: dict[str, object] = {"clusterName": status.cluster}
    if status.resource_index is not None:
        entry["observedResourceIndex"] = status.resource_index
    entry["conditions"] = list(status.conditions)
    return {**entry, **status.problems, **status.overrides}
