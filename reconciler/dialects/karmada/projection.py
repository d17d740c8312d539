"""How Karmada speaks of clusters: `Cluster` of cluster.karmada.io.

Source: karmada@f8fdd02 pkg/apis/cluster/v1alpha1/types.go `ClusterSpec`, `ClusterStatus`.
"""

from reconciler.dialects.karmada.api.cluster_taints import READY
from reconciler.dialects.karmada.api.names import CLUSTER, CLUSTER_GROUP
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.quantity import Quantity, canonical_like, parse_quantity
from reconciler.projection.project import (
    APIS,
    METADATA,
    NODES,
    PROVIDER,
    READINESS,
    REGION,
    ROOM,
    TAINTS,
    VERSION,
    ZONES,
    Amounts,
    ClusterReadiness,
    FactRow,
    Force,
    Language,
    Room,
    amounts,
    condition,
    read_taints,
    readiness_by,
    region_by_label,
    spec_of,
    status_of,
    write_taints,
    zones_by_label,
)

EFFECTS = {
    Force.NEW: "NoSchedule",
    Force.PREFER: "PreferNoSchedule",
    Force.OUT: "NoExecute",
}


def _region(body: Body) -> str | None:
    return fields.text(spec_of(body), "region") or region_by_label(body)


def _zones(body: Body) -> tuple[str, ...] | None:
    zone = fields.text(spec_of(body), "zone")
    written = fields.strings(spec_of(body), "zones") or ((zone,) if zone else ())
    return written or zones_by_label(body)


def _readiness(body: Body) -> ClusterReadiness | None:
    return readiness_by(fields.bodies(status_of(body), "conditions"), READY)


def _apis(body: Body) -> tuple[Body, ...] | None:
    return fields.bodies_or_none(status_of(body), "apiEnablements")


def _room(body: Body) -> Room | None:
    """Return what is allocatable, and of each resource what is left."""
    summary = fields.mapping(status_of(body), "resourceSummary")
    allocatable = amounts(summary, "allocatable")
    if allocatable is None:
        return None
    taken = [amounts(summary, name) or {} for name in ("allocated", "allocating")]
    available = {}
    for name, text in allocatable.items():
        amount = parse_quantity(text) - sum(parse_quantity(one.get(name, "0")) for one in taken)
        available[name] = canonical_like(Quantity(max(0, amount)), text)
    return Room(None, allocatable, available)


def _summary(room: Room) -> Body:
    """Return the summary: what is not available any more is allocated."""
    summary: dict[str, Amounts] = {"allocatable": room.allocatable}
    if room.available is not None:
        summary["allocated"] = {
            name: canonical_like(
                Quantity(max(0, parse_quantity(text) - parse_quantity(room.available[name]))), text
            )
            for name, text in room.allocatable.items()
            if name in room.available
        }
    return {"status": {"resourceSummary": summary}}


def _nodes(body: Body) -> int | None:
    return fields.number_or_none(fields.mapping(status_of(body), "nodeSummary"), "totalNum")


CLUSTERS = Language(
    name="Karmada",
    kind=CLUSTER,
    api_version=f"{CLUSTER_GROUP}/v1alpha1",
    bare={"spec": {"syncMode": "Push"}},
    rows=(
        FactRow(REGION, "spec.region", _region, lambda one: {"spec": {"region": one}}),
        FactRow(ZONES, "spec.zones", _zones, lambda one: {"spec": {"zones": list(one)}}),
        FactRow(
            PROVIDER,
            "spec.provider",
            lambda body: fields.text(spec_of(body), "provider") or None,
            lambda one: {"spec": {"provider": one}},
        ),
        FactRow(
            TAINTS,
            "spec.taints",
            read_taints({effect: force for force, effect in EFFECTS.items()}),
            write_taints(EFFECTS, dated=True),
            "NoSchedule, PreferNoSchedule and NoExecute, with timeAdded; what follows from "
            "conditions or from a ClusterTaintPolicy is not carried over, as each API makes its "
            "own of conditions.",
        ),
        FactRow(
            READINESS,
            "status.conditions, Ready",
            _readiness,
            lambda one: {"status": {"conditions": [condition(READY, one)]}},
        ),
        FactRow(
            ROOM,
            "status.resourceSummary",
            _room,
            _summary,
            "allocatable; available is what is neither allocated nor being allocated.",
        ),
        FactRow(
            APIS,
            "status.apiEnablements",
            _apis,
            lambda one: {"status": {"apiEnablements": list(one)}},
            "of a cluster whose own API cannot say what it serves, every API counts as enabled.",
        ),
        FactRow(
            VERSION,
            "status.kubernetesVersion",
            lambda body: fields.text(status_of(body), "kubernetesVersion") or None,
            lambda one: {"status": {"kubernetesVersion": one}},
        ),
        FactRow(
            NODES,
            "status.nodeSummary.totalNum",
            _nodes,
            lambda one: {"status": {"nodeSummary": {"totalNum": one}}},
        ),
        *METADATA,
    ),
    alone=(
        ("resource models", "spec.resourceModels, status.resourceSummary.allocatableModelings"),
    ),
)
