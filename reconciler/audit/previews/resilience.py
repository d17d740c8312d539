"""Which cluster hurts most when it fails: every one fails in turn, and the pass is asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.previews.edits import Named, apply_edits, fail
from reconciler.audit.previews.preview import Preview, preview
from reconciler.core.dialects import CLUSTERS
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What the failure of one cluster brings about.

    Attributes:
        cluster: The cluster that fails.
        short: Objects that would get fewer clusters than they ask for, sorted.
        lost: Replicas that would run nowhere.
        moving: Replicas that would run elsewhere.
        objects: Objects that the failure changes at all.
    """

    cluster: ObjectKey
    short: tuple[str, ...]
    lost: int
    moving: int
    objects: int


def clusters_of(world: World) -> tuple[ObjectKey, ...]:
    """Return every cluster of every API, sorted."""
    return tuple(key for key in sorted(world.inputs) if (key.group, key.kind) in CLUSTERS)


def assess(
    world: World,
    clusters: Iterable[ObjectKey],
    *,
    failed_at: datetime,
    now: datetime,
    memo: Memo | None = None,
) -> Iterator[Impact]:
    """Yield what the failure of each cluster alone brings about, in the order given.

    Args:
        world: Where all of them are well, or as well as they are.
        clusters: Who fails, one after the other.
        failed_at: Since when.
        now: Moment of the pass.
        memo: What earlier calls about this world remember; it only saves work.
    """
    memo = Memo() if memo is None else memo
    baseline = reconcile(world, now, memo=memo)
    for key in clusters:
        failing = apply_edits(world, [Named(key.name, fail((key,), failed_at))])
        yield _impact(key, preview(world, failing, now, baseline=baseline, memo=memo))


def ranked(impacts: Iterable[Impact]) -> list[Impact]:
    """Return the worst first: objects short of clusters, replicas lost, replicas moving."""
    return sorted(
        impacts,
        key=lambda impact: (-len(impact.short), -impact.lost, -impact.moving, impact.cluster),
    )


def _impact(key: ObjectKey, found: Preview) -> Impact:
    return Impact(
        cluster=key,
        short=tuple(sorted(entry.subject for entry in found.entries if entry.problem)),
        lost=found.counts.stopping,
        moving=found.counts.moving,
        objects=len(found.entries),
    )
