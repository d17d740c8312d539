"""What KubeFleet's part remembers between rounds and passes; it only saves work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import ClusterInventory, InventoryCache
from reconciler.dialects.copy_reports import CopyTable, ReportedObjects
from reconciler.dialects.followed_index import FollowedIndex
from reconciler.dialects.followed_objects import FollowedObjects
from reconciler.dialects.kubefleet.api.clusters import Member, Members, members_of
from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.eviction.evictions import Evictions
from reconciler.dialects.kubefleet.followed_placements import PLACEMENT_FILES
from reconciler.dialects.kubefleet.overrider.override_table import Overrides, OverrideTable
from reconciler.dialects.kubefleet.rollout.work_table import work_table
from reconciler.dialects.kubefleet.snapshots.selection_table import SelectionTable
from reconciler.dialects.kubefleet.updaterun.update_runs import UpdateRuns
from reconciler.dialects.object_pass import Part, has_news
from reconciler.dialects.read_table import ReadTable
from reconciler.dialects.scores.reports import FollowedScores
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, CacheKey, forget
from reconciler.model.world import Manifest


@dataclass(slots=True, eq=False)
class KubeFleetMemory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as the scheduler reads it.
        followed: The placements, and what is left of each.
        members: All clusters, as the last round had them.
        evictions: By the placement that they name, as the last round had them.
        runs: Staged update runs by the placement that they name, as the last round had them.
        overrides: Overrides decoded.
        overrides_before: All of them, as the last round had them.
        placements: Placement decoded.
        selections: What a placement selects.
        copies: What clusters report.
        reported: The objects that they are about.
        works: The Works among them.
        scores: What add-ons report of clusters.
        parts: The parts that leave placements as they are, with what they were decided from.
        reserved: What the last round found reserved of clusters.
        short: The placements that found too little room in this round.
    """

    clusters: InventoryCache[Member] = field(default_factory=InventoryCache)
    followed: FollowedObjects = field(default_factory=partial(FollowedObjects, PLACEMENT_FILES))
    members: Members | None = None
    evictions: Mapping[ObjectKey, Evictions] = field(default_factory=dict)
    runs: Mapping[ObjectKey, UpdateRuns] = field(default_factory=dict)
    overrides: OverrideTable = field(default_factory=OverrideTable)
    overrides_before: Overrides = ()
    placements: AnswerCache[ObjectKey, Placement] = field(default_factory=AnswerCache)
    selections: SelectionTable = field(default_factory=SelectionTable)
    copies: CopyTable = field(default_factory=CopyTable)
    reported: ReportedObjects = field(default_factory=ReportedObjects)
    works: FollowedIndex[ObjectKey, Manifest] = field(default_factory=work_table)
    scores: FollowedScores = field(default_factory=FollowedScores)
    parts: ReadTable[Part] = field(default_factory=partial(ReadTable, tells=has_news))
    reserved: CacheKey = ()
    short: set[ObjectKey] = field(default_factory=set)
    _inventory: object = None
    _under: CacheKey = ()

    def members_at(
        self, inventory: ClusterInventory[Member], now: datetime, *, heartbeats: bool
    ) -> Members:
        """Return the fleet at a moment, the very same while no cluster and no answer differs."""
        known = self.members
        if (
            known is not None
            and self._inventory is inventory
            and known.stays(now, heartbeats=heartbeats)
        ):
            return known
        self._inventory = inventory
        return members_of(inventory.views.values(), now, heartbeats=heartbeats)

    def is_otherwise(self, under: CacheKey) -> bool:
        """Return whether what all placements depend on differs from the last round."""
        before, self._under = self._under, under
        return before != under

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
