"""Passes computed again: what a pass decided, or would have decided from other inputs."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from reconciler.audit.cluster_health import clusters_down
from reconciler.audit.revisions import Commit, Revisions, UnreadableRevision, pass_of
from reconciler.core.changes import Outcome
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explanation
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


@dataclass(frozen=True, slots=True)
class Run:
    """A pass: what it looked at, and what came of it."""

    world: World
    outcome: Outcome

    def decision_on(self, key: ObjectKey) -> Decision | None:
        """Return what the pass decided about an object, `None` if nothing."""
        return next((found for found in self.outcome.decisions if found.key == key), None)


@dataclass(frozen=True, slots=True)
class Replay:
    """Computes passes of one repository again; neighbours in history share most of their work.

    Attributes:
        revisions: Where worlds come from.
        memo: What earlier passes remember; it only saves work.
    """

    revisions: Revisions
    memo: Memo = field(default_factory=Memo)

    def run(
        self, inputs: str, outputs: str | None, now: datetime, *, reports: str | None = None
    ) -> Run | UnreadableRevision:
        """Compute the pass over the inputs of one commit and the outputs of another.

        See `Provable.world`.
        """
        world = self.revisions.world(inputs, outputs, reports=reports)
        if isinstance(world, UnreadableRevision):
            return world
        return Run(world, reconcile(world, now, memo=self.memo))

    def run_again(self, commit: Commit) -> Run | UnreadableRevision:
        """Compute the pass again that made a commit."""
        read = pass_of(commit)
        if read is None:
            return UnreadableRevision(f"{commit.revision[:12]} is no pass")
        return self.run(read.inputs, read.outputs, read.at, reports=read.reports)

    def explain(
        self, world: World, key: ObjectKey, now: datetime
    ) -> tuple[Explanation | None, Decision | None]:
        """Ask a pass about one object: why it would decide so, and what it would move.

        Returns:
            Both are `None` where passes are suspended or the object is wanted nowhere, the
            second one also where it stays.
        """
        outcome = reconcile(world, now, asked=frozenset({key}), memo=self.memo)
        explain = outcome.explanations.get(key)
        told = None if explain is None else _with_down(explain(), world)
        return told, Run(world, outcome).decision_on(key)


def _with_down(explanation: Explanation, world: World) -> Explanation:
    """Return an explanation that says which clusters are down, beside what follows from it."""
    group = explanation.key.group
    down = clusters_down(world, [group])[group]
    answers = (replace(item, down=down.get(item.cluster, "")) for item in explanation.clusters)
    return replace(explanation, clusters=tuple(answers)) if down else explanation
