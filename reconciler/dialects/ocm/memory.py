"""What OCM's part remembers between rounds and passes; it only saves work."""

from dataclasses import dataclass, field

from reconciler.dialects.cluster_inventory import InventoryCache
from reconciler.dialects.object_pass import Part
from reconciler.dialects.ocm.api.cluster_sets import ClusterSet, SetBinding
from reconciler.dialects.ocm.api.clusters import ManagedCluster, Members
from reconciler.dialects.ocm.decisions.placement_decisions import DecisionObject, DecisionsSoFar
from reconciler.dialects.ocm.decisions.placement_draft import Draft
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.scheduler.request import PluginReport
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, UnchangedUntil, forget


@dataclass(slots=True, eq=False)
class OcmMemory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as the hub has it.
        fleet: The clusters indexed, under one name.
        sets: Cluster set decoded.
        bindings: Binding of a set decoded.
        reports: Score decoded.
        hub: All of these, under one name.
        drafts: Placement with its files.
        decisions: PlacementDecision decoded.
        standing: All decisions indexed, under one name.
        balanced: Whether a placement looks at the decisions of others.
        rests: The part that leaves a placement as it is, and how long.
    """

    clusters: InventoryCache[ManagedCluster] = field(default_factory=InventoryCache)
    fleet: AnswerCache[None, Members] = field(default_factory=AnswerCache)
    sets: AnswerCache[ObjectKey, ClusterSet] = field(default_factory=AnswerCache)
    bindings: AnswerCache[ObjectKey, SetBinding] = field(default_factory=AnswerCache)
    reports: AnswerCache[ObjectKey, PluginReport] = field(default_factory=AnswerCache)
    hub: AnswerCache[None, Hub] = field(default_factory=AnswerCache)
    drafts: AnswerCache[ObjectKey, Draft] = field(default_factory=AnswerCache)
    decisions: AnswerCache[ObjectKey, DecisionObject] = field(default_factory=AnswerCache)
    standing: AnswerCache[None, DecisionsSoFar] = field(default_factory=AnswerCache)
    balanced: AnswerCache[ObjectKey, bool] = field(default_factory=AnswerCache)
    rests: AnswerCache[ObjectKey, tuple[UnchangedUntil, Part]] = field(default_factory=AnswerCache)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
