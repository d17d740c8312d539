"""What KubeFleet's part remembers between sweeps and passes; it only saves work."""

from dataclasses import dataclass, field

from reconciler.dialects.base import Plan
from reconciler.dialects.kubefleet.api.clusters import Member
from reconciler.dialects.kubefleet.snapshots.resource_selection import Selection
from reconciler.model.identity import ObjectKey
from reconciler.model.memory import Rest, Table, forget


@dataclass(frozen=True, slots=True)
class Memory:
    """Tables by what they answer.

    Attributes:
        views: Cluster as the scheduler reads it.
        fleet: All of them, under one name.
        owners: The placement that an output belongs to.
        selections: What a placement selects.
        rests: Placements whose files are as they should be.
    """

    views: Table[ObjectKey, Member] = field(default_factory=Table)
    fleet: Table[None, tuple[Member, ...]] = field(default_factory=Table)
    owners: Table[ObjectKey, str] = field(default_factory=Table)
    selections: Table[ObjectKey, Selection] = field(default_factory=Table)
    rests: Table[ObjectKey, tuple[Rest, Plan]] = field(default_factory=Table)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
