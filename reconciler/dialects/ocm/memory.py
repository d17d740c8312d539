"""What OCM's part remembers between rounds and passes; it only saves work."""

from dataclasses import dataclass, field
from functools import partial

from reconciler.dialects.cluster_inventory import InventoryCache
from reconciler.dialects.followed_index import Followed
from reconciler.dialects.followed_objects import FollowedObjects
from reconciler.dialects.object_pass import Part, has_news
from reconciler.dialects.ocm.api.clusters import ManagedCluster, Members
from reconciler.dialects.ocm.api.hub_objects import HubObjects
from reconciler.dialects.ocm.decisions.placement_decisions import DecisionsSoFar
from reconciler.dialects.ocm.decisions.placement_draft import Draft
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.followed import PLACEMENT_FILES, SET_FILES
from reconciler.dialects.read_table import ReadTable
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, CacheKey, forget
from reconciler.model.world import Manifest


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
