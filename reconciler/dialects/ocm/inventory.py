"""The hub as its controllers leave it: clusters with their taints, sets, bindings, scores.

Upstream writes taints and the label of the default set into the ManagedCluster. Here a person's
file is never rewritten: both are derived at each pass, and a taint without `timeAdded` is dated
once, in the cluster's status file.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from reconciler.dialects.ocm.clusters import decode_cluster, members_of
from reconciler.dialects.ocm.placement import GROUP
from reconciler.dialects.ocm.request import decode_report
from reconciler.dialects.ocm.sets import (
    DEFAULT_SET,
    IMPLICIT,
    SET_LABEL,
    decode_set,
    decode_set_binding,
)
from reconciler.dialects.ocm.verdict import Hub
from reconciler.manifests.taint_dates import dated, first_seen, taint_id, taint_record
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest, World

T = TypeVar("T")

UNREACHABLE = f"{GROUP}/unreachable"
UNAVAILABLE = f"{GROUP}/unavailable"
AVAILABLE = "ManagedClusterConditionAvailable"
NO_SELECT = "NoSelect"


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hub of the repository, and the status files that date taints."""

    hub: Hub
    records: Mapping[ObjectKey, Body]


def take_inventory(world: World, *, declared: bool, now: datetime) -> Inventory:
    """Return the hub of the repository.

    Args:
        world: Its inputs hold the hub's objects, its outputs the dates of taints.
        declared: Whether a cluster without any status is available.
        now: Moment that dates taints first seen in this pass.
    """
    views = []
    records: dict[ObjectKey, Body] = {}
    for manifest in _of_kind(world, "ManagedCluster"):
        taints = [
            *bodies(mapping(manifest.body, "spec"), "taints"),
            *_condition_taints(manifest.body, declared=declared),
        ]
        added_at = first_seen(taints, world.outputs.get(manifest.key), now)
        if added_at:
            records[manifest.key] = taint_record(manifest, added_at)
        views.append(decode_cluster(_registered(manifest.body, dated(taints, added_at))))
    sets = {item.name: item for item in _decoded(world, "ManagedClusterSet", decode_set)}
    hub = Hub(
        members=members_of(views),
        sets={**IMPLICIT, **sets},
        bindings=tuple(
            decode_set_binding(_placed(manifest))
            for manifest in _of_kind(world, "ManagedClusterSetBinding")
        ),
        reports={
            (manifest.key.namespace, manifest.key.name): decode_report(manifest.body)
            for manifest in _of_kind(world, "AddOnPlacementScore")
        },
    )
    return Inventory(hub, records)


def _of_kind(world: World, kind: str) -> Iterator[Manifest]:
    """Yield the inputs of one kind, sorted by key."""
    for key in sorted(world.inputs):
        if (key.group, key.kind) == (GROUP, kind):
            yield world.inputs[key]


def _decoded(world: World, kind: str, decode: Callable[[Body], T]) -> Iterator[T]:
    """Yield the inputs of one kind, decoded."""
    return (decode(manifest.body) for manifest in _of_kind(world, kind))


def _placed(manifest: Manifest) -> Body:
    """Return a body with the namespace that it has, written or not."""
    metadata = mapping(manifest.body, "metadata")
    return {**manifest.body, "metadata": {**metadata, "namespace": manifest.key.namespace}}


def _registered(body: Body, taints: list[Body]) -> Body:
    """Return a cluster as the hub admits it: with all its taints, in the default set if in none.

    Source: ocm@00f84c3 pkg/registration/webhook/v1/managedcluster_mutating.go `Default`.
    """
    metadata = mapping(body, "metadata")
    labels = mapping(metadata, "labels")
    if not labels.get(SET_LABEL):
        metadata = {**metadata, "labels": {**labels, SET_LABEL: DEFAULT_SET}}
    return {**body, "metadata": metadata, "spec": {**mapping(body, "spec"), "taints": taints}}


def _condition_taints(body: Body, *, declared: bool) -> list[Body]:
    """Return the taint that follows from the Available condition, if any.

    A condition that is missing or Unknown makes a cluster unreachable, False unavailable. A
    cluster without a status is a declaration, and available.

    Source: ocm@00f84c3 pkg/registration/hub/taint/controller.go `sync`.
    """
    status = mapping(body, "status")
    if not status and declared:
        return []
    conditions = bodies(status, "conditions")
    available: Body = next((c for c in conditions if c.get("type") == AVAILABLE), {})
    verdict = text(available, "status")
    if verdict == "True":
        return []
    key = UNAVAILABLE if verdict == "False" else UNREACHABLE
    derived: dict[str, object] = {"key": key, "effect": NO_SELECT}
    since = text(available, "lastTransitionTime")
    if since:
        derived["timeAdded"] = since
    written = {taint_id(taint) for taint in bodies(mapping(body, "spec"), "taints")}
    return [] if taint_id(derived) in written else [derived]
