"""What passes over the pieces of a world bring about, as the pass over the whole would tell it."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain

from reconciler.core.changes import Change, Outcome, WriteFile
from reconciler.core.record import faults_body, record_body
from reconciler.manifests.paths import FAULTS, RECORD, output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.moments import earliest
from reconciler.model.world import Fault, World
from reconciler.version import __version__


def join_outcomes(world: World, now: datetime, outcomes: Sequence[Outcome]) -> Outcome | None:
    """Return the outcomes of all pieces as one.

    What several pieces hold, such as clusters, each of them writes; it is the same everywhere.

    Args:
        world: The whole.
        now: Moment of the passes.
        outcomes: One a piece.

    Returns:
        `None` where pieces contradict each other: then the whole has to be asked.
    """
    ours = {output_path(world.output_root, key) for key in (RECORD, FAULTS)}
    written: dict[str, Change] = {}
    for change in chain.from_iterable(one.changes for one in outcomes):
        if change.path not in ours and written.setdefault(change.path, change) != change:
            return None
    decisions = {one.key: one for outcome in outcomes for one in outcome.decisions}
    if len(decisions) < sum(len(one.decisions) for one in outcomes):
        return None
    faults = tuple(sorted({fault for one in outcomes for fault in one.faults}))
    return Outcome(
        changes=_with_records(world, now, [*written.values()], faults),
        decisions=tuple(decisions[key] for key in sorted(decisions)),
        faults=faults,
        traces=tuple(sorted({trace for one in outcomes for trace in one.traces})),
        recheck_at=earliest(*(one.recheck_at for one in outcomes)),
        waits=tuple(sorted(wait for one in outcomes for wait in one.waits)),
    )


def _with_records(
    world: World, now: datetime, changes: list[Change], faults: tuple[Fault, ...]
) -> tuple[Change, ...]:
    """Return changes, sorted, with what a pass notes of itself beside them."""
    root = world.output_root
    if faults or world.held:
        changes.append(
            WriteFile(output_path(root, FAULTS), encode(faults_body(faults, world.held)))
        )
    if changes:
        record = record_body(world, now, __version__)
        changes.append(WriteFile(output_path(root, RECORD), encode(record)))
    return tuple(sorted(changes, key=lambda change: change.path))
