"""What KubeFleet's part remembers between rounds and passes; it only saves work."""

from dataclasses import dataclass, field

from reconciler.dialects.cluster_inventory import InventoryCache
from reconciler.dialects.copy_reports import CopyTable
from reconciler.dialects.kubefleet.api.clusters import Member
from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.rollout.work_table import WorkTable
from reconciler.dialects.kubefleet.snapshots.selection_table import SelectionTable
from reconciler.dialects.object_pass import Part
from reconciler.dialects.report_marks import ReportMarks
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, UnchangedUntil, forget


@dataclass(slots=True, eq=False)
class KubeFleetMemory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as the scheduler reads it.
        fleet: All of them, under one name.
        owners: The placement that an output belongs to.
        placements: Placement decoded.
        selections: What a placement selects.
        copies: What clusters report.
        marks: Of the reports on each object.
        works: The Works among them.
        rests: The part that leaves a placement as it is, and how long.
    """

    clusters: InventoryCache[Member] = field(default_factory=InventoryCache)
    fleet: AnswerCache[None, tuple[Member, ...]] = field(default_factory=AnswerCache)
    owners: AnswerCache[ObjectKey, ObjectKey] = field(default_factory=AnswerCache)
    placements: AnswerCache[ObjectKey, Placement] = field(default_factory=AnswerCache)
    selections: SelectionTable = field(default_factory=SelectionTable)
    copies: CopyTable = field(default_factory=CopyTable)
    marks: ReportMarks = field(default_factory=ReportMarks)
    works: WorkTable = field(default_factory=WorkTable)
    rests: AnswerCache[ObjectKey, tuple[UnchangedUntil, Part]] = field(default_factory=AnswerCache)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
