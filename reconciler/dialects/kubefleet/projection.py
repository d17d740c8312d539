"""How KubeFleet speaks of clusters: `MemberCluster`.

Source: kubefleet@e160c1c apis/cluster/v1beta1/membercluster_types.go `MemberClusterSpec`,
`MemberClusterStatus`; apis/placement/v1beta1/commons.go for the names of properties.
"""

from collections.abc import Mapping

from reconciler.dialects.kubefleet.api.names import CLUSTER, CLUSTER_GROUP
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.projection.project import (
    APIS,
    BEGINNING,
    CLAIMS,
    EVERY_API,
    METADATA,
    NODES,
    READINESS,
    REGION,
    REGION_LABEL,
    ROOM,
    TAINTS,
    ZONE_LABEL,
    ZONES,
    ClusterReadiness,
    FactRow,
    Force,
    Language,
    Room,
    amounts,
    condition,
    labelled,
    labelled_zone,
    read_taints,
    readiness_by,
    region_by_label,
    status_of,
    write_taints,
    zones_by_label,
)

AGENT = "MemberAgent"
JOINED, HEALTHY = "Joined", "Healthy"
NODE_COUNT = "kubernetes-fleet.io/node-count"


def _agent(body: Body) -> Body | None:
    listed = fields.bodies(status_of(body), "agentStatus")
    return next((one for one in listed if fields.text(one, "type") == AGENT), None)


def _readiness(body: Body) -> ClusterReadiness | None:
    """Return whether a cluster is healthy; one that has not joined is not."""
    agent = _agent(body)
    if agent is None:
        return None
    conditions = fields.bodies(agent, "conditions")
    joined = readiness_by(conditions, JOINED)
    if joined is None or joined.status != "True":
        since = "" if joined is None else joined.since
        return ClusterReadiness("False", since, "NotJoined", "its agent has not joined")
    return readiness_by(conditions, HEALTHY)


def _agents(readiness: ClusterReadiness) -> Body:
    joined = condition(JOINED, ClusterReadiness("True", readiness.since, "", ""))
    agent = {"type": AGENT, "conditions": [joined, condition(HEALTHY, readiness)]}
    return {"status": {"agentStatus": [agent]}}


def _properties(body: Body) -> Mapping[str, str]:
    properties = fields.mapping(status_of(body), "properties")
    return {name: fields.text(fields.mapping(properties, name), "value") for name in properties}


def _with_properties(properties: Mapping[str, str]) -> Body:
    listed = {
        name: {"value": value, "observationTime": BEGINNING}
        for name, value in sorted(properties.items())
    }
    return {"status": {"properties": listed}} if listed else {}


def _claims(body: Body) -> Mapping[str, str] | None:
    properties = _properties(body)
    return {name: properties[name] for name in properties.keys() - {NODE_COUNT}} or None


def _nodes(body: Body) -> int | None:
    text = _properties(body).get(NODE_COUNT, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def _room(body: Body) -> Room | None:
    usage = fields.mapping(status_of(body), "resourceUsage")
    allocatable = amounts(usage, "allocatable")
    if allocatable is None:
        return None
    return Room(amounts(usage, "capacity"), allocatable, amounts(usage, "available"))


def _usage(room: Room) -> Body:
    parts = zip(Room._fields, room, strict=True)
    usage = {name: found for name, found in parts if found is not None}
    return {"status": {"resourceUsage": usage}}


CLUSTERS = Language(
    name="KubeFleet",
    kind=CLUSTER,
    api_version=f"{CLUSTER_GROUP}/v1beta1",
    bare={"spec": {"identity": {"kind": "ServiceAccount", "name": "projected"}}},
    rows=(
        FactRow(
            REGION,
            f"label {REGION_LABEL}",
            region_by_label,
            lambda one: labelled(**{REGION_LABEL: one}),
        ),
        FactRow(
            ZONES,
            f"label {ZONE_LABEL}",
            zones_by_label,
            labelled_zone,
            "a single zone; of several none is told.",
        ),
        FactRow(
            TAINTS,
            "spec.taints",
            read_taints({"NoSchedule": Force.NEW}),
            write_taints({Force.NEW: "NoSchedule", Force.OUT: "NoSchedule"}, dated=False),
            "NoSchedule alone, without timeAdded: what drives out elsewhere keeps new ones away "
            "here, and what is to be avoided is not told.",
        ),
        FactRow(
            READINESS,
            f"status.agentStatus of {AGENT}, {HEALTHY}",
            _readiness,
            _agents,
            "one that has not joined counts as not ready.",
        ),
        FactRow(
            ROOM,
            "status.resourceUsage",
            _room,
            _usage,
            "capacity, allocatable and available, as far as they are told.",
        ),
        FactRow(
            NODES,
            f"property {NODE_COUNT}",
            _nodes,
            lambda one: _with_properties({NODE_COUNT: str(one)}),
        ),
        FactRow(CLAIMS, "status.properties", _claims, _with_properties),
        FactRow(
            APIS,
            "not told",
            lambda body: EVERY_API if status_of(body) else None,
            None,
            "every API counts as enabled.",
        ),
        *METADATA,
    ),
    alone=(
        ("heartbeat of the agent", "status.agentStatus, lastReceivedHeartbeat"),
        ("namespaces that are there", "status.namespaces"),
    ),
)
