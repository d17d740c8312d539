"""What one round of a run looks at, and what it has made of it so far."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.api.updates.approval_request import ApprovalRequest
from reconciler.dialects.kubefleet.api.updates.update_run import RunStatus, StageStatus, UpdateRun
from reconciler.dialects.kubefleet.snapshots.revision import SnapshotRevisions
from reconciler.dialects.kubefleet.updaterun.marks import Words, marked
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.moments import stamp

OverridesOf = Callable[[ClusterName], Body]
"""Returns the lists of overrides of a cluster, as the spec of a binding has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What one round of a run looks at.

    Attributes:
        run: What is asked.
        generation: Of the run.
        now: Aware UTC.
        placement: The one that it names, `None` if there is none.
        policies: Policy snapshots of the placement.
        resources: Its resource snapshots, by name.
        clusters: Labels of every cluster that there is.
        strategy: Spec of the strategy that it names, `None` if there is none.
        select: Takes a snapshot of what is selected now, where there is none of it yet.
        overrides: Returns the overrides of each cluster, given the resource snapshots of an index.
    """

    run: UpdateRun
    generation: int
    now: datetime
    placement: Placement | None
    policies: Iterable[Body]
    resources: Mapping[str, Body]
    clusters: Mapping[ClusterName, Mapping[str, str]]
    strategy: Body | None
    select: Callable[[], SnapshotRevisions]
    overrides: Callable[[list[Body]], OverridesOf]

    @property
    def place(self) -> str:
        """The placement, as upstream's messages name it: after its namespace and a slash."""
        return f"{self.run.namespace}/{self.run.placement}"


@dataclass(slots=True, eq=False)
class RunDraft:
    """What a round has made so far; it is changed in place, and lives no longer than the round.

    Attributes:
        view: What it looks at.
        status: The status of the run.
        bindings: Of the placement, by name.
        requests: Approval requests, by name.
        deleted: Names of the bindings whose deletion starts.
        made: Resource snapshots that it made, by name.
        asked: Names of the approval requests that it looked at.
    """

    view: RunView
    status: RunStatus
    bindings: dict[str, Binding]
    requests: dict[str, ApprovalRequest]
    deleted: list[str] = field(default_factory=list)
    made: dict[str, Body] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def mark(self, *told: Words) -> None:
        """Set conditions of the run."""
        conditions = marked(self.status.conditions, self, *told)
        self.status = self.status._replace(conditions=conditions)

    @property
    def generation(self) -> int:
        """That of the run, which every condition of its status observes."""
        return self.view.generation

    @property
    def at(self) -> str:
        """Text of the present moment."""
        return stamp(self.view.now)

    @property
    def stages(self) -> tuple[StageStatus, ...]:
        """The stages but for the one that deletes."""
        return self.status.stages or ()

    def stage(self, index: int) -> StageStatus:
        """Return a stage; the one behind the last is that which deletes."""
        if index < len(self.stages):
            return self.stages[index]
        return self.status.deletion or StageStatus("")

    def put(self, index: int, stage: StageStatus) -> None:
        """Replace a stage."""
        if index < len(self.stages):
            stages = (*self.stages[:index], stage, *self.stages[index + 1 :])
            self.status = self.status._replace(stages=stages)
        else:
            self.status = self.status._replace(deletion=stage)
