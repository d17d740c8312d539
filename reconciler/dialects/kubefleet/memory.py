"""What KubeFleet's part remembers between rounds and passes; it only saves work."""

from dataclasses import dataclass, field

from reconciler.dialects.contract import Plan
from reconciler.dialects.kubefleet.api.clusters import Member
from reconciler.dialects.kubefleet.snapshots.resource_selection import SelectedResources
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, UnchangedUntil, forget


@dataclass(slots=True, eq=False)
class KubeFleetMemory:
    """Tables by what they answer.

    Attributes:
        views: Cluster as the scheduler reads it.
        fleet: All of them, under one name.
        owners: The placement that an output belongs to.
        selections: What a placement selects.
        rests: Placements whose files are as they should be.
    """

    views: AnswerCache[ObjectKey, Member] = field(default_factory=AnswerCache)
    fleet: AnswerCache[None, tuple[Member, ...]] = field(default_factory=AnswerCache)
    owners: AnswerCache[ObjectKey, str] = field(default_factory=AnswerCache)
    selections: AnswerCache[ObjectKey, SelectedResources] = field(default_factory=AnswerCache)
    rests: AnswerCache[ObjectKey, tuple[UnchangedUntil, Plan]] = field(default_factory=AnswerCache)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
