"""What is told of a pass: as little as observers ask for, so that it can be sent by a worker."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.core.changes import Outcome
from reconciler.core.next_world import next_world
from reconciler.manifests.paths import folder_of
from reconciler.model.decision import Decision
from reconciler.model.fields import mapping
from reconciler.model.moments import earliest
from reconciler.model.settings import settings_in
from reconciler.model.world import Fault, Trace, World
from reconciler.rebalance.kinds import REBALANCE_KINDS
from reconciler.rebalance.rebalancer_status import decode_record
from reconciler.rebalance.trigger_status import decode_trigger_status
from reconciler.shell.git.checkout.kept_edits import KeptEdit
from reconciler.shell.passes.branch_delivery import BranchDelivered
from reconciler.shell.passes.contest import Contested
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.passes.trust import RefusedCommit
from reconciler.shell.reading.sources import Heads

REBALANCER_STATES = ("pending", "finished", "recurring")  # what recurs never finishes


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSummary:
    """What one pass did, without the world that it looked at; see `PassReport` and `Outcome`.

    Attributes:
        now: Moment of the pass.
        heads: Where the branches were that it read.
        left: Where it left them.
        revision: Full hex id of the commit of people that it decided about.
        commit: Full hex id of what it committed, `None` for nothing.
        changed: How many files that commit writes and deletes.
        decisions: What moved and why, and what could not be placed, sorted by key.
        faults: What a person must edit, sorted.
        traces: Of the unforeseen exceptions among them.
        warnings: What a person should know, one sentence each.
        allow: The digest that lets removals go that are held, `""` if none are.
        recheck_at: The next moment at which time alone could change the answer.
        waiting: The files of which something is over, and that a person is editing.
        races: How often the branch moved meanwhile.
        editors: The outputs whose decision was edited by hand, and who did it.
        contested: What is not written for now, since others undo it again and again.
        beside: The other branches that were delivered to, or could not be.
        refused: The commits that are not accepted.
        kept: The files of checkouts that are not as it wrote them.
        mended: Of which checkouts the index was mended, a sentence each.
        steps: What each step took, in seconds.
        rebalancers: How many rebalancers and triggers are in each state after it.
        suspended: Whether the configuration suspends everything.
        feedback_branch: The branch that clusters report on, `""` for none of their own.
        worker: Who computed it, `""` for this process.
    """

    now: datetime
    heads: Heads
    left: Heads
    revision: str
    commit: str | None
    changed: int
    decisions: tuple[Decision, ...]
    faults: tuple[Fault, ...]
    traces: tuple[Trace, ...]
    warnings: tuple[str, ...]
    allow: str
    recheck_at: datetime | None
    waiting: frozenset[str]
    races: int
    editors: tuple[tuple[str, str], ...]
    contested: Contested | None
    beside: tuple[BranchDelivered, ...]
    refused: tuple[RefusedCommit, ...]
    kept: tuple[KeptEdit, ...]
    mended: tuple[str, ...]
    steps: Mapping[str, float]
    rebalancers: Mapping[str, int]
    suspended: bool
    feedback_branch: str
    worker: str = ""

    @property
    def due_at(self) -> datetime | None:
        """When a pass is due though nothing moves, `None` if no such moment is known."""
        contested = self.contested
        return earliest(self.recheck_at, None if contested is None else contested.until)


def summary_of(report: PassReport) -> PassSummary:
    """Return what is told of a pass."""
    world, outcome = report.world, report.outcome
    settings = settings_in(world)
    return PassSummary(
        now=report.now,
        heads=report.heads,
        left=report.left,
        revision=world.revision,
        commit=report.commit,
        changed=len(outcome.files),
        decisions=outcome.decisions,
        faults=outcome.faults,
        traces=outcome.traces,
        warnings=outcome.warnings,
        allow=outcome.allow,
        recheck_at=outcome.recheck_at,
        waiting=report.waiting,
        races=report.races,
        editors=report.editors,
        contested=report.contested,
        beside=report.beside,
        refused=report.refused,
        kept=report.kept,
        mended=report.mended,
        steps=report.steps,
        rebalancers=_rebalancer_states(_rebalancers_after(world, outcome)),
        suspended=settings.suspend,
        feedback_branch=settings.feedback_branch,
    )


def _rebalancers_after(world: World, outcome: Outcome) -> World:
    """Return the world as a pass leaves it, as far as rebalancers and triggers matter."""
    ours = f"{world.output_root}/"
    folders = tuple(f"{ours}{folder_of(one.group, one.kind)}/" for one in REBALANCE_KINDS)
    about = [
        change
        for change in outcome.changes
        if change.path.startswith(folders) or not change.path.startswith(ours)
    ]
    return next_world(world, replace(outcome, changes=tuple(about), delivered=()))


def _rebalancer_states(world: World) -> Counter[str]:
    """Return how many rebalancers and triggers there are in each state."""
    found: Counter[str] = Counter()
    for kind in REBALANCE_KINDS:
        for manifest in world.of_kind(kind.group, kind.kind):
            output = world.outputs.get(manifest.key)
            record = output.body if output is not None else {}
            is_done = decode_trigger_status(record).succeeded
            over = decode_record(record).finish_time or is_done
            once = "finished" if over else "pending"
            recurs = "schedule" in mapping(manifest.body, "spec")
            found["recurring" if recurs else once] += 1
    return found
