"""A pass computed again about one object, held against what its commit left."""

from reconciler.audit.fleet.placed import Side, paths_of, places_of, sides_of
from reconciler.audit.history.revisions import Commit, Revisions, UnreadableRevision
from reconciler.audit.proofs.replay import Replay, Run
from reconciler.core.changes import WriteFile
from reconciler.manifests.paths import blob_id
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey


def run_computed_again(key: ObjectKey, commit: Commit, replay: Replay) -> Run | UnreadableRevision:
    """Compute a pass again: of one object, and of all where the commit holds something else.

    Of one object only its own outputs were read, so what others had a say in may have been missed.
    """
    run = replay.run_again(commit, key)
    if isinstance(run, UnreadableRevision) or run.of is None:
        return run
    if is_as_computed(key, commit, run, replay.revisions):
        return run
    sides = sides_of(key, commit, replay.revisions)
    if isinstance(sides, UnreadableRevision) or went_as(run.decision_on(key), sides):
        return run
    return replay.run_again(commit)


def is_as_computed(key: ObjectKey, commit: Commit, run: Run, revisions: Revisions) -> bool:
    """Return whether the commit left the outputs of an object as the pass computes them."""
    _, *folders = places_of(key, revisions.layout)
    written = {c.path: c.content for c in run.outcome.changes if isinstance(c, WriteFile)}
    new = {p for p in written if p.rpartition("/")[0] in folders and key.name in written[p]}
    paths = paths_of(run.world, key) | new
    computed = {
        change.path: blob_id(written[change.path].encode(), like=run.world.revision)
        if change.path in written
        else None
        for change in run.outcome.changes
        if change.path in paths
    }
    return computed == {c.path: c.after for c in revisions.changes(commit) if c.path in paths}


def went_as(decision: Decision | None, sides: tuple[Side, Side]) -> bool:
    """Return whether a commit moved an object as a decision says, `None` for not at all.

    So it is where an earlier version of ours wrote the same decision in other words.
    """
    before, after = (side.placed for side in sides)
    if decision is None:
        return before == after
    return (before, after) == (decision.before, decision.after)
