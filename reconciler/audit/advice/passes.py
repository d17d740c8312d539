"""What passes do with a rebalancer that is merged: computed from a copy, until it is done."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.audit.previews.edits import put
from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.memo import Memo
from reconciler.core.next_world import next_world
from reconciler.core.reconcile import reconcile
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.rebalance.rebalancer_status import decode_record
from reconciler.rebalance.target import Reference

MOST_PASSES = 256
"""Ours: so many batches are computed; whoever needs more has a limit that is too small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancePasses:
    """The passes over a world with a rebalancer, one after the other.

    Attributes:
        outcomes: Each with its moment.
        pending: The targets that it is not done with, each with what it waits for, `""` for its
            batch.
    """

    outcomes: tuple[tuple[datetime, Outcome], ...]
    pending: Mapping[Reference, str]

    def decisions(self, own: Collection[ObjectKey], baseline: Outcome) -> dict[ObjectKey, Decision]:
        """Return what is decided because of the rebalancer, from where each is to where it ends.

        What an object that it does not name does later than in the first pass is not its doing, nor
        is what the first pass does without it.

        Args:
            own: What decisions about its targets bear.
            baseline: What the first pass does without it.
        """
        anyway = {one.key: one for one in baseline.decisions}
        found: dict[ObjectKey, Decision] = {}
        for number, (_, outcome) in enumerate(self.outcomes):
            for decision in outcome.decisions:
                known = found.get(decision.key)
                if decision.key in own:
                    first = decision if known is None else known
                    found[decision.key] = replace(decision, before=first.before)
                elif not number and not _is_same(decision, anyway.get(decision.key)):
                    found[decision.key] = decision
        return found

    def body_of(self, world: World, key: ObjectKey) -> Body | None:
        """Return an output as these passes leave it, `None` if it is gone or never was."""
        path = output_path(world.output_root, key)
        for _, outcome in reversed(self.outcomes):
            body = _written(outcome, path)
            if body is not None:
                return body
        present = world.outputs.get(key)
        return None if present is None else present.body


def run_rebalancer(
    world: World, key: ObjectKey, body: Body, now: datetime, memo: Memo, *, to_the_end: bool
) -> RebalancePasses:
    """Return what passes do once a rebalancer is merged, if nothing but time goes by.

    Args:
        world: Without it.
        key: Of the rebalancer.
        body: Its manifest.
        now: Moment of the first pass.
        memo: What passes over the world remembered.
        to_the_end: Whether to go on until it is done with all, or only to compute the first pass.
    """
    world = put(world, {key: body})
    path, at = output_path(world.output_root, key), now
    outcomes: list[tuple[datetime, Outcome]] = []
    pending: dict[Reference, str] = {}
    while True:
        outcome = reconcile(world, at, memo=memo)
        outcomes.append((at, outcome))
        record = _written(outcome, path)
        if record is not None:
            workloads = decode_record(record).workloads
            pending = {one.reference: one.waits_for for one in workloads if not one.result}
        over = not pending or outcome.recheck_at is None or len(outcomes) == MOST_PASSES
        if over or not to_the_end:
            return RebalancePasses(outcomes=tuple(outcomes), pending=pending)
        world, at = next_world(world, outcome), max(outcome.recheck_at or at, at)


def _written(outcome: Outcome, path: str) -> Body | None:
    """Return what a pass writes to a file, `None` if nothing."""
    texts = (c.content for c in outcome.changes if isinstance(c, WriteFile) and c.path == path)
    found = next(texts, None)
    return None if found is None else read(found.encode(), path).documents[0].body


def _is_same(decision: Decision, other: Decision | None) -> bool:
    """Return whether a decision comes to the same as another one."""
    return other is not None and (decision.before, decision.after, decision.removed) == (
        other.before,
        other.after,
        other.removed,
    )
