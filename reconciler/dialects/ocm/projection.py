"""How Open Cluster Management speaks of clusters: `ManagedCluster`.

Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1/types.go `ManagedClusterSpec`,
`ManagedClusterStatus`; the names of claims are those that its klusterlet reserves.
"""

from collections.abc import Mapping

from reconciler.dialects.ocm.api.cluster import SET_LABEL
from reconciler.dialects.ocm.api.placement import CLUSTER, CLUSTER_GROUP
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.projection.project import (
    APIS,
    CLAIMS,
    CLUSTER_SET,
    EVERY_API,
    METADATA,
    PROVIDER,
    READINESS,
    REGION,
    REGION_LABEL,
    ROOM,
    TAINTS,
    VERSION,
    ZONE_LABEL,
    ZONES,
    ClusterReadiness,
    FactRow,
    Force,
    Language,
    Room,
    amounts,
    condition,
    label_of,
    labelled,
    labelled_zone,
    read_taints,
    readiness_by,
    region_by_label,
    status_of,
    write_taints,
    zones_by_label,
)

EFFECTS = {
    Force.NEW: "NoSelectIfNew",
    Force.PREFER: "PreferNoSelect",
    Force.OUT: "NoSelect",
}
ACCEPTED, JOINED, AVAILABLE = (
    "HubAcceptedManagedCluster",
    "ManagedClusterJoined",
    "ManagedClusterConditionAvailable",
)
REGION_CLAIM = "region.open-cluster-management.io"
PLATFORM_CLAIM = "platform.open-cluster-management.io"
VERSION_CLAIM = "kubeversion.open-cluster-management.io"
OF_FACTS = frozenset({REGION_CLAIM, PLATFORM_CLAIM, VERSION_CLAIM})
"""Claims that say what other facts say, too."""


def _claims(body: Body) -> Mapping[str, str]:
    listed = fields.bodies(status_of(body), "clusterClaims")
    return {fields.text(one, "name"): fields.text(one, "value") for one in listed}


def _claimed(claims: Mapping[str, str]) -> Body:
    listed = [{"name": name, "value": value} for name, value in sorted(claims.items()) if value]
    return {"status": {"clusterClaims": listed}} if listed else {}


def _others(body: Body) -> Mapping[str, str] | None:
    claims = _claims(body)
    return {name: claims[name] for name in claims.keys() - OF_FACTS} or None


def _region(body: Body) -> str | None:
    return _claims(body).get(REGION_CLAIM) or region_by_label(body)


def _at_region(region: str) -> Body:
    return {**_claimed({REGION_CLAIM: region}), **labelled(**{REGION_LABEL: region})}


def _version(body: Body) -> str | None:
    version = fields.mapping(status_of(body), "version")
    return fields.text(version, "kubernetes") or _claims(body).get(VERSION_CLAIM)


def _versioned(version: str) -> Body:
    claim = {"name": VERSION_CLAIM, "value": version}
    return {"status": {"version": {"kubernetes": version}, "clusterClaims": [claim]}}


def _readiness(body: Body) -> ClusterReadiness | None:
    return readiness_by(fields.bodies(status_of(body), "conditions"), AVAILABLE)


def _conditions(readiness: ClusterReadiness) -> Body:
    """Return the conditions: a cluster that reports was accepted, and has joined."""
    there = ClusterReadiness("True", readiness.since, "", "")
    listed = [condition(ACCEPTED, there), condition(JOINED, there), condition(AVAILABLE, readiness)]
    return {"status": {"conditions": listed}}


def _room(body: Body) -> Room | None:
    status = status_of(body)
    allocatable = amounts(status, "allocatable")
    return None if allocatable is None else Room(amounts(status, "capacity"), allocatable, None)


def _capacities(room: Room) -> Body:
    """Return what can be given away; without the whole capacity, scores would not count it."""
    capacity = room.allocatable if room.capacity is None else room.capacity
    return {"status": {"allocatable": room.allocatable, "capacity": capacity}}


CLUSTERS = Language(
    name="Open Cluster Management",
    kind=CLUSTER,
    api_version=f"{CLUSTER_GROUP}/v1",
    bare={"spec": {"hubAcceptsClient": True}},
    well=_conditions(ClusterReadiness("True", "", "", "it is declared")),
    rows=(
        FactRow(
            REGION,
            f"claim {REGION_CLAIM}",
            _region,
            _at_region,
            f"the label {REGION_LABEL} is written beside it, and read where there is no claim.",
        ),
        FactRow(
            ZONES,
            f"label {ZONE_LABEL}",
            zones_by_label,
            labelled_zone,
            "a single zone; of several none is told.",
        ),
        FactRow(
            PROVIDER,
            f"claim {PLATFORM_CLAIM}",
            lambda body: _claims(body).get(PLATFORM_CLAIM) or None,
            lambda one: _claimed({PLATFORM_CLAIM: one}),
        ),
        FactRow(
            TAINTS,
            "spec.taints",
            read_taints({effect: force for force, effect in EFFECTS.items()}),
            write_taints(EFFECTS, dated=True),
            "NoSelectIfNew (as NoSchedule), PreferNoSelect and NoSelect (as NoExecute), with "
            "timeAdded.",
        ),
        FactRow(READINESS, f"status.conditions, {AVAILABLE}", _readiness, _conditions),
        FactRow(
            ROOM,
            "status.allocatable, status.capacity",
            _room,
            _capacities,
            "what is available is not told; without a capacity, allocatable stands for it.",
        ),
        FactRow(CLAIMS, "status.clusterClaims", _others, _claimed),
        FactRow(
            APIS,
            "not told",
            lambda body: EVERY_API if status_of(body) else None,
            None,
            "every API counts as enabled.",
        ),
        FactRow(
            CLUSTER_SET,
            f"label {SET_LABEL}",
            lambda body: label_of(body, SET_LABEL) or None,
            lambda one: labelled(**{SET_LABEL: one}),
            "a label of the cluster itself counts first.",
        ),
        FactRow(VERSION, f"status.version.kubernetes, claim {VERSION_CLAIM}", _version, _versioned),
        *METADATA,
    ),
)
