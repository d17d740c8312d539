"""Passes computed again: what a pass decided, or would have decided from other inputs."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from reconciler.audit.fleet.cluster_health import clusters_down
from reconciler.audit.history.revisions import Commit, Revisions, UnreadableRevision, pass_of
from reconciler.audit.short_id import short_id
from reconciler.core.changes import Outcome
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explanation
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World

Name = TypeVar("Name")
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Run:
    """A pass: what it looked at, and what came of it."""

    world: World
    outcome: Outcome

    def decision_on(self, key: ObjectKey) -> Decision | None:
        """Return what the pass decided about an object, `None` if nothing."""
        return next((found for found in self.outcome.decisions if found.key == key), None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A pass that was asked about some objects."""

    keys: frozenset[ObjectKey]
    run: Run

    def explanation_of(self, key: ObjectKey) -> Explanation | None:
        """Return why it decides so on one of them, `None` where it says nothing."""
        explain = self.run.outcome.explanations.get(key)
        return None if explain is None else _with_down(explain(), self.run.world)


@dataclass(slots=True, eq=False)
class Replay:
    """Computes passes of one repository again; neighbours in history share most of their work.

    Attributes:
        revisions: Where worlds come from.
        memo: What earlier passes remember; it only saves work.
        past: The same of passes of the history, `None` for the same memory; with one of its own,
            questions about the present stay quick between them.
        most_kept: How many passes of the history are kept as they were computed.
        together: Objects that will be asked about: a pass of the history is asked about all of them
            at once.
    """

    revisions: Revisions
    memo: Memo = field(default_factory=Memo)
    past: Memo | None = None
    most_kept: int = 0
    together: frozenset[ObjectKey] = frozenset()
    _kept: dict[tuple[object, ...], Run] = field(default_factory=dict)
    _asked: dict[str, Asked] = field(default_factory=dict)

    def run(
        self, inputs: str, outputs: str | None, now: datetime, *, reports: str | None = None
    ) -> Run | UnreadableRevision:
        """Compute the pass over the inputs of one commit and the outputs of another.

        See `Provable.world`.
        """
        asked = (inputs, outputs, now, reports)
        if asked in self._kept:
            return self._kept[asked]
        world = self.revisions.world(inputs, outputs, reports=reports)
        if isinstance(world, UnreadableRevision):
            return world
        run = Run(world, reconcile(world, now, memo=self.past or self.memo))
        self._keep(self._kept, asked, run)
        return run

    def run_again(self, commit: Commit) -> Run | UnreadableRevision:
        """Compute the pass again that made a commit."""
        read = pass_of(commit)
        if read is None:
            return UnreadableRevision(f"{short_id(commit.revision)} is no pass")
        return self.run(read.inputs, read.outputs, read.at, reports=read.reports)

    def explain(
        self, world: World, key: ObjectKey, now: datetime
    ) -> tuple[Explanation | None, Decision | None]:
        """Ask a pass about one object: why it would decide so, and what it would move.

        Returns:
            Both are `None` where passes are suspended or the object is wanted nowhere, the
            second one also where it stays.
        """
        keys = frozenset({key})
        run = Run(world, reconcile(world, now, asked=keys, memo=self.memo))
        return Asked(keys, run).explanation_of(key), run.decision_on(key)

    def explain_again(self, commit: Commit, key: ObjectKey) -> Explanation | None:
        """Compute the pass again that made a commit, and ask it about one object.

        Returns:
            `None` where it said nothing of the object, or cannot be computed again.
        """
        known = self._asked.get(commit.revision)
        if known is not None and key in known.keys:
            return known.explanation_of(key)
        read = pass_of(commit)
        if read is None:
            return None
        world = self.revisions.world(read.inputs, read.outputs, reports=read.reports)
        if isinstance(world, UnreadableRevision):
            return None
        keys = self.together | {key}
        outcome = reconcile(world, read.at, asked=keys, memo=self.past or self.memo)
        found = Asked(keys, Run(world, outcome))
        self._keep(self._asked, commit.revision, found)
        return found.explanation_of(key)

    def _keep(self, table: dict[Name, Kept], name: Name, found: Kept) -> None:
        """Keep what was computed, as the newest; the oldest goes where there are too many."""
        table.pop(name, None)
        if self.most_kept:
            table[name] = found
        if len(table) > self.most_kept:
            del table[next(iter(table))]


def _with_down(explanation: Explanation, world: World) -> Explanation:
    """Return an explanation that says which clusters are down, beside what follows from it."""
    group = explanation.key.group
    down = clusters_down(world, [group])[group]
    answers = (replace(item, down=down.get(item.cluster, "")) for item in explanation.clusters)
    return replace(explanation, clusters=tuple(answers)) if down else explanation
