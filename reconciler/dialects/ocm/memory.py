"""What OCM's part remembers between sweeps and passes; it only saves work."""

from dataclasses import dataclass, field

from reconciler.dialects.ocm.api.cluster_sets import ClusterSet, SetBinding
from reconciler.dialects.ocm.api.clusters import ManagedCluster, Members
from reconciler.dialects.ocm.decide import Outcome
from reconciler.dialects.ocm.decisions.placement_decisions import Decided, DecisionObject
from reconciler.dialects.ocm.decisions.placement_draft import Draft
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.scheduler.request import Report
from reconciler.model.identity import ObjectKey
from reconciler.model.memory import Rest, Table, forget
from reconciler.model.world import Body


@dataclass(frozen=True, slots=True)
class Taken:
    """A cluster as the hub has it; `record` is its status file, `None` without one."""

    view: ManagedCluster
    record: Body | None


@dataclass(frozen=True, slots=True)
class Memory:
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
        rests: Placements whose files are as they should be.
    """

    clusters: Table[str, Taken] = field(default_factory=Table)
    fleet: Table[None, Members] = field(default_factory=Table)
    sets: Table[ObjectKey, ClusterSet] = field(default_factory=Table)
    bindings: Table[ObjectKey, SetBinding] = field(default_factory=Table)
    reports: Table[ObjectKey, Report] = field(default_factory=Table)
    hub: Table[None, Hub] = field(default_factory=Table)
    drafts: Table[ObjectKey, Draft] = field(default_factory=Table)
    decisions: Table[ObjectKey, DecisionObject] = field(default_factory=Table)
    standing: Table[None, Decided] = field(default_factory=Table)
    balanced: Table[ObjectKey, bool] = field(default_factory=Table)
    rests: Table[ObjectKey, tuple[Rest, Outcome]] = field(default_factory=Table)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
