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


@dataclass(slots=True, eq=False)
class Replay:
    """Computes passes of one repository again; neighbours in history share most of their work.

    Attributes:
        revisions: Where worlds come from.
        memo: What earlier passes remember; it only saves work.
        past: The same of passes of the history, `None` for the same memory; with one of its own,
            questions about the present stay quick between them.
        most_kept: How many passes of the history are kept as they were computed.
    """

    revisions: Revisions
    memo: Memo = field(default_factory=Memo)
    past: Memo | None = None
    most_kept: int = 0
    _kept: dict[str, Run] = field(default_factory=dict)

    def run(
        self, inputs: str, outputs: str | None, now: datetime, *, reports: str | None = None
    ) -> Run | UnreadableRevision:
        """Compute the pass over the inputs of one commit and the outputs of another.

        See `Provable.world`.
        """
        world = self.revisions.world(inputs, outputs, reports=reports)
        if isinstance(world, UnreadableRevision):
            return world
        return Run(world, reconcile(world, now, memo=self.past or self.memo))

    def run_again(self, commit: Commit) -> Run | UnreadableRevision:
        """Compute the pass again that made a commit."""
        read = pass_of(commit)
        if read is None:
            return UnreadableRevision(f"{commit.revision[:12]} is no pass")
        found = self._kept.pop(commit.revision, None) or self.run(
            read.inputs, read.outputs, read.at, reports=read.reports
        )
        if isinstance(found, Run) and self.most_kept:
            self._kept[commit.revision] = found  # the newest comes last
            if len(self._kept) > self.most_kept:
                del self._kept[next(iter(self._kept))]
        return found

    def explain(
        self, world: World, key: ObjectKey, now: datetime, *, past: bool = False
    ) -> tuple[Explanation | None, Decision | None]:
        """Ask a pass about one object: why it would decide so, and what it would move.

        Args:
            world: What the pass looks at.
            key: What decisions about the object bear.
            now: Moment of the pass.
            past: Whether it is a pass of the history.

        Returns:
            Both are `None` where passes are suspended or the object is wanted nowhere, the
            second one also where it stays.
        """
        memo = (self.past if past else None) or self.memo
        outcome = reconcile(world, now, asked=frozenset({key}), memo=memo)
        explain = outcome.explanations.get(key)
        told = None if explain is None else _with_down(explain(), world)
        return told, Run(world, outcome).decision_on(key)


def _with_down(explanation: Explanation, world: World) -> Explanation:
    """Return an explanation that says which clusters are down, beside what follows from it."""
    group = explanation.key.group
    down = clusters_down(world, [group])[group]
    answers = (replace(item, down=down.get(item.cluster, "")) for item in explanation.clusters)
    return replace(explanation, clusters=tuple(answers)) if down else explanation
