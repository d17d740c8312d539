"""Passes computed again: what a pass decided, or would have decided from other inputs.

They are computed by the present rules, whatever rules their commits name.
"""

from datetime import datetime
from typing import TypeVar

from reconciler.audit.fleet.usage import clusters_down
from reconciler.audit.history.revisions import (
    Commit,
    PassRead,
    Revisions,
    UnreadableRevision,
    pass_of,
)
from reconciler.audit.previews.foresight import Coming, foresee_alone, foresee_some
from reconciler.core.asked import AskedAlone
from reconciler.core.changes import Outcome
from reconciler.core.own_outputs import own_outputs
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.contract import DependsOnOthers
from reconciler.model.decision import Decision, Explanation
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.text import short_id
from reconciler.model.world import World

Name = TypeVar("Name")
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Run:
    """A pass: what it looked at, and what came of it; `of` is the only object that it is about."""

    world: World
    outcome: Outcome
    of: ObjectKey | None = None

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

    What is asked about one object is computed of that alone, and of all together where others have
    a say.

    Attributes:
        revisions: Where worlds come from.
        memo: What earlier passes remember; it only saves work.
        past: The same of passes of the history, `None` for the same memory; with one of its own,
            questions about the present stay quick between them.
        alone: What answers for single objects of the present.
        alone_then: The same of passes of the history, of which only what one object reads is read.
        most_kept: How many passes of the history are kept as they were computed, and how many of
            its worlds.
        together: Objects that will be asked about: a pass of the history is asked about all of them
            at once.
        depending: Why something that was asked depends on others, where whole passes are left to
            somebody else; `None` where they are computed.
    """

    revisions: Revisions
    memo: Memo = field(default_factory=Memo)
    past: Memo | None = None
    alone: AskedAlone = field(default_factory=AskedAlone)
    alone_then: AskedAlone = field(default_factory=AskedAlone)
    most_kept: int = 0
    together: frozenset[ObjectKey] = frozenset()
    depending: list[str] | None = None
    _kept: dict[tuple[object, ...], Run] = field(default_factory=dict)
    _asked: dict[str, Asked] = field(default_factory=dict)
    _pasts: dict[tuple[object, ...], World] = field(default_factory=dict)

    def run(
        self,
        inputs: str,
        outputs: str | None,
        now: datetime,
        *,
        reports: str | None = None,
        of: ObjectKey | None = None,
    ) -> Run | UnreadableRevision:
        """Compute the pass over the inputs of one commit and the outputs of another.

        See `Provable.world`. `of` is the only object about which anything will be asked, `None` for
        any.
        """
        together = (inputs, outputs, now, reports)
        known = self._kept.get(together) or self._kept.get((*together, of))
        if known is not None:
            return known
        run = self._run_alone(inputs, outputs, now, reports, of)
        if isinstance(run, Run):
            self._keep(self._kept, (*together, of), run)
        if run is not None:
            return run
        world = self._past(inputs, outputs, reports)
        if isinstance(world, UnreadableRevision):
            return world
        run = Run(world, reconcile(world, now, memo=self.past or self.memo))
        self._keep(self._kept, together, run)
        return run

    def _run_alone(
        self,
        inputs: str,
        outputs: str | None,
        now: datetime,
        reports: str | None,
        of: ObjectKey | None,
    ) -> Run | UnreadableRevision | None:
        """Compute a pass of one object, `None` if all have to be looked at."""
        if of is None:
            return self._left_out("its commit holds what does not follow from it alone")
        world = self._past(inputs, outputs, reports, of)
        if isinstance(world, UnreadableRevision):
            return world
        outcome = self.alone_then.ask(world, of, now)
        if isinstance(outcome, DependsOnOthers):
            return self._left_out(outcome.reason)
        return Run(world, outcome, of)

    def _left_out(self, reason: str) -> UnreadableRevision | None:
        """Note that a whole pass is not computed here, `None` if it is."""
        if self.depending is None:
            return None
        self.depending.append(reason)
        return UnreadableRevision(f"it depends on others: {reason}")

    def run_again(self, commit: Commit, of: ObjectKey | None = None) -> Run | UnreadableRevision:
        """Compute the pass again that made a commit; see `run`."""
        read = pass_of(commit)
        if read is None:
            return UnreadableRevision(f"{short_id(commit.revision)} is no pass")
        return self.run(read.inputs, read.outputs, read.at, reports=read.reports, of=of)

    def explain(
        self, world: World, key: ObjectKey, now: datetime
    ) -> tuple[Explanation | None, Decision | None]:
        """Ask a pass about one object: why it would decide so, and what it would move.

        Returns:
            Both are `None` where passes are suspended or the object is wanted nowhere, the
            second one also where it stays.
        """
        keys = frozenset({key})
        outcome = self.alone.ask(world, key, now)
        if isinstance(outcome, DependsOnOthers):
            if self._left_out(outcome.reason):
                return None, None
            outcome = reconcile(world, now, asked=keys, memo=self.memo)
        run = Run(world, outcome)
        return Asked(keys, run).explanation_of(key), run.decision_on(key)

    def foresee(self, world: World, key: ObjectKey, now: datetime) -> tuple[Coming, ...]:
        """Return what passes will do with one object, if nothing but time goes by."""
        if self.depending is None:
            return foresee_some(world, {key}, now, alone=self.alone, memo=self.memo)
        coming = foresee_alone(world, now, self.alone, key)
        if isinstance(coming, DependsOnOthers):
            self.depending.append(coming.reason)
            return ()
        return coming

    def explain_again(self, commit: Commit, key: ObjectKey) -> Explanation | None:
        """Compute the pass again that made a commit, and ask it about one object.

        Returns:
            `None` where it said nothing of the object, or cannot be computed again.
        """
        asked = self._asked.get(commit.revision)
        if asked is not None and key in asked.keys:
            return asked.explanation_of(key)
        read = pass_of(commit)
        if read is None:
            return None
        world = self._past(read.inputs, read.outputs, read.reports, key)
        if isinstance(world, UnreadableRevision):
            return None
        alone = self.alone_then.ask(world, key, read.at)
        if isinstance(alone, Outcome):
            return Asked(frozenset({key}), Run(world, alone, key)).explanation_of(key)
        return None if self._left_out(alone.reason) else self._explain_all(commit, read, key)

    def _explain_all(self, commit: Commit, read: PassRead, key: ObjectKey) -> Explanation | None:
        """Explain one object, and those that will be asked about, by a whole pass."""
        world = self._past(read.inputs, read.outputs, read.reports)
        if isinstance(world, UnreadableRevision):
            return None
        keys = self.together | {key}
        outcome = reconcile(world, read.at, asked=keys, memo=self.past or self.memo)
        answered = Asked(keys, Run(world, outcome))
        self._keep(self._asked, commit.revision, answered)
        return answered.explanation_of(key)

    def _past(
        self,
        inputs: str,
        outputs: str | None,
        reports: str | None,
        of: ObjectKey | None = None,
    ) -> World | UnreadableRevision:
        """Return a world of the history, with the outputs that one object reads, or with all."""
        name = (inputs, outputs, reports, of)
        world = self._pasts.get(name)
        if world is None:
            root = self.revisions.layout.output_root
            only = None if of is None else own_outputs(of, root)
            found = self.revisions.world(inputs, outputs, reports=reports, only=only)
            if isinstance(found, UnreadableRevision):
                return found
            world = found
        self._keep(self._pasts, name, world)
        return world

    def _keep(self, table: dict[Name, Kept], name: Name, value: Kept) -> None:
        """Keep what was computed, as the newest; the oldest goes where there are too many."""
        table.pop(name, None)
        if self.most_kept:
            table[name] = value
        if len(table) > self.most_kept:
            del table[next(iter(table))]


def _with_down(explanation: Explanation, world: World) -> Explanation:
    """Return an explanation that says which clusters are down, beside what follows from it."""
    group = explanation.key.group
    down = clusters_down(world, [group])[group]
    answers = (replace(item, down=down.get(item.cluster, "")) for item in explanation.clusters)
    return replace(explanation, clusters=tuple(answers)) if down else explanation
