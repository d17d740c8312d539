"""The hub as its controllers leave it, and what is remembered of it between rounds and passes.

On the hub are clusters with their taints, and what stands beside them. That of the last pass is
drawn only where it differs, and only for causes: no decision looks at it. Placements and sets are
followed from world to world, each with the outputs that are its own; memory only saves work.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial

from reconciler.dialects.inventory import (
    AdmittedCluster,
    ClusterInventory,
    Earlier,
    InventoryCache,
    views_before,
)
from reconciler.dialects.object_pass import CreatedParts, Part, has_news
from reconciler.dialects.ocm.api.cluster import (
    DEFAULT_SET,
    SET_BINDINGS,
    SET_LABEL,
    SETS,
    HubObjects,
    ManagedCluster,
    Members,
    bindings_of,
    condition_taints,
    decode_cluster,
    members_of,
    sets_of,
)
from reconciler.dialects.ocm.api.placement import (
    CLUSTER,
    CLUSTER_GROUP,
    PLACEMENT,
    WORK_GROUP,
    decode_decision,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import REPLICA_SET
from reconciler.dialects.ocm.placement_files import DECISION, Draft
from reconciler.dialects.ocm.scheduler.schedule import DecisionsSoFar, Hub
from reconciler.dialects.reads import Followed, FollowedObjects, Ownership, ReadTable
from reconciler.dialects.scores import Reports, scores_before
from reconciler.manifests.admission import dated, first_seen, taint_record
from reconciler.model.body import Body, keep_present
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache, CacheKey, forget
from reconciler.model.world import Manifest, World
from reconciler.rebalance.workload_rebalancer import MovedInParts


def placement_key(owner: tuple[str, str]) -> ObjectKey:
    """Return the key of a placement by namespace and name."""
    return ObjectKey(CLUSTER_GROUP, PLACEMENT, *owner)


def _owner_of(key: ObjectKey, body: Body) -> ObjectKey:
    """Return the placement of a PlacementDecision, with the name `""` if no label names one."""
    return placement_key(decode_decision(body).owner or (key.namespace, ""))


PLACEMENT_FILES = Ownership(
    kinds=frozenset({(CLUSTER_GROUP, PLACEMENT)}),
    owned=frozenset({(CLUSTER_GROUP, DECISION)}),
    owner_of=_owner_of,
)
SET_FILES = Ownership(kinds=frozenset({(WORK_GROUP, REPLICA_SET)}))


@dataclass(slots=True, eq=False)
class OcmMemory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as the hub has it.
        members: The clusters indexed, as the last round had them.
        fleet: The same, under one name.
        objects: What stands on the hub beside them.
        hub: All of these, under one name.
        followed: The placements, and what is left of each.
        followed_sets: The sets of ManifestWorks, likewise.
        feedback: What clusters reported in the last round.
        drafts: Placement with its files.
        standing: All decisions.
        decided: The placements whose decisions in `standing` may not be those of the files.
        parts: The parts that leave placements as they are, with what they were decided from.
        set_parts: Likewise those of sets.
        moving: What limited rebalances are still moving.
        created: The placements that the last round created.
    """

    clusters: InventoryCache[ManagedCluster] = field(default_factory=InventoryCache)
    members: Members | None = None
    fleet: AnswerCache[None, Members] = field(default_factory=AnswerCache)
    objects: HubObjects = field(default_factory=HubObjects)
    hub: AnswerCache[None, Hub] = field(default_factory=AnswerCache)
    followed: FollowedObjects = field(default_factory=partial(FollowedObjects, PLACEMENT_FILES))
    followed_sets: FollowedObjects = field(default_factory=partial(FollowedObjects, SET_FILES))
    feedback: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    drafts: AnswerCache[ObjectKey, Draft] = field(default_factory=AnswerCache)
    standing: DecisionsSoFar = field(default_factory=DecisionsSoFar)
    decided: set[ObjectKey] = field(default_factory=set)
    parts: ReadTable[Part] = field(default_factory=partial(ReadTable, tells=has_news))
    set_parts: ReadTable[Part] = field(default_factory=partial(ReadTable, tells=has_news))
    moving: MovedInParts = field(default_factory=MovedInParts)
    created: CreatedParts = field(default_factory=CreatedParts)
    _under: CacheKey = ()

    def is_otherwise(self, under: CacheKey) -> bool:
        """Return whether what all objects depend on differs from the last round."""
        before, self._under = self._under, under
        return before != under

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)


def admit_cluster(
    manifest: Manifest, output: Manifest | None, *, declared: bool, now: datetime
) -> AdmittedCluster[ManagedCluster]:
    """Date the taints of one cluster, among them those that follow from its conditions.

    Args:
        manifest: The cluster.
        output: Its status file, `None` if there is none.
        declared: Whether a cluster without any status is available.
        now: Moment that dates taints first seen in this pass.
    """
    taints = [
        *bodies(mapping(manifest.body, "spec"), "taints"),
        *condition_taints(manifest.body, declared=declared),
    ]
    added_at = first_seen(taints, output, now)
    present = output.body if output is not None else None
    record = keep_present(taint_record(manifest, added_at), present) if added_at else None
    view = decode_cluster(_registered(manifest.body, dated(taints, added_at)))
    return AdmittedCluster(view, record)


def hub_of(views: Collection[ManagedCluster], objects: HubObjects, memory: OcmMemory) -> Hub:
    """Return the hub with these clusters, the same one as before if nothing of it differs."""
    members = memory.fleet.recall(None, tuple(views), partial(members_of, views))
    parts = (members, objects.sets, objects.bindings, objects.reports)
    return memory.hub.recall(None, parts, partial(Hub, *parts))


def _registered(body: Body, taints: list[Body]) -> Body:
    """Return a cluster as the hub admits it: with all its taints, in the default set if in none.

    Source: ocm@00f84c3 pkg/registration/webhook/v1/managedcluster_mutating.go `Default`.
    """
    metadata = mapping(body, "metadata")
    labels = mapping(metadata, "labels")
    if not labels.get(SET_LABEL):
        metadata = {**metadata, "labels": {**labels, SET_LABEL: DEFAULT_SET}}
    return {**body, "metadata": metadata, "spec": {**mapping(body, "spec"), "taints": taints}}


Admit = Callable[[Manifest, Manifest | None], AdmittedCluster[ManagedCluster]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubBefore:
    """The hub of the last pass: its clusters and sets, and its scores; `None` for the same."""

    clusters: Earlier[Hub] | None = None
    scores: Earlier[Reports] | None = None


def hub_before(
    world: World, hub: Hub, inventory: ClusterInventory[ManagedCluster], admit: Admit
) -> HubBefore:
    """Return what of the hub is not as it was.

    Args:
        world: Its `earlier` tells what differs.
        hub: As it is.
        inventory: Its clusters.
        admit: Makes a view of a cluster and its status file.
    """
    clusters = tuple(world.earlier_of([CLUSTER, SETS, SET_BINDINGS]))

    def draw() -> Hub:
        views = views_before(world, CLUSTER, inventory.views, admit)
        return Hub(
            members=members_of(views.values()),
            sets=sets_of(_before(world, SETS)),
            bindings=bindings_of(_before(world, SET_BINDINGS)),
            reports=hub.reports,
        )

    return HubBefore(
        clusters=Earlier(clusters, draw) if clusters else None,
        scores=scores_before(world),
    )


def _before(world: World, kind: Kind) -> tuple[Manifest, ...]:
    """Return the manifests of a kind as they were at the last pass, sorted."""
    manifests = {one.key: one for one in world.of_kind(*kind)}
    for key, manifest in world.earlier_of([kind]).items():
        manifests.pop(key, None)
        if manifest is not None:
            manifests[key] = manifest
    return tuple(manifests[key] for key in sorted(manifests))
