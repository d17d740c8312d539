"""What OCM's part remembers between rounds and passes; it only saves work.

Placements and sets are followed from world to world, each with the outputs that are its own.
"""

from dataclasses import dataclass, field
from functools import partial

from reconciler.dialects.inventory import InventoryCache
from reconciler.dialects.object_pass import Part, has_news
from reconciler.dialects.ocm.api.cluster import HubObjects, ManagedCluster, Members
from reconciler.dialects.ocm.api.placement import CLUSTER_GROUP, WORK_GROUP, decode_decision
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import REPLICA_SET
from reconciler.dialects.ocm.placement_files import DECISION, Draft
from reconciler.dialects.ocm.scheduler.schedule import DecisionsSoFar, Hub
from reconciler.dialects.reads import Followed, FollowedObjects, Ownership, ReadTable
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.remembered import AnswerCache, CacheKey, forget
from reconciler.model.world import Manifest

PLACEMENT = "Placement"


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
    _under: CacheKey = ()

    def is_otherwise(self, under: CacheKey) -> bool:
        """Return whether what all objects depend on differs from the last round."""
        before, self._under = self._under, under
        return before != under

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
