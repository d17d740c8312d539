"""Lets each cluster fail by itself: here, or piece by piece by the workers of an executor."""

import pickle
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime

from reconciler.audit.previews.edits import Impact, assess
from reconciler.core.reconcile import Memo
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.world import World
from reconciler.shell.work.executors import Workers, results_of, size_of_pieces

LEAST, MOST = 4, 64  # clusters of a piece: a worker begins with a whole pass
ENOUGH = 50  # clusters for each process, which needs a second before its first answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Clusters that fail, one after the other, and the world as bytes: each worker opens it once.

    `failed_at` is since when they fail, `now` is the moment of the pass.
    """

    world: bytes
    clusters: tuple[ObjectKey, ...]
    failed_at: datetime
    now: datetime


def assess_all(
    world: World,
    clusters: Sequence[ObjectKey],
    *,
    failed_at: datetime,
    now: datetime,
    workers: Workers | None,
) -> Iterator[Impact]:
    """Yield what the failure of each cluster alone brings about, in the order given.

    Args:
        world: Where all of them are well, or as well as they are.
        clusters: Who fails, one after the other.
        failed_at: Since when.
        now: Moment of the pass.
        workers: Who computes it; `None` is this process.
    """
    if workers is None:
        yield from assess(world, clusters, failed_at=failed_at, now=now)
        return
    sent = pickle.dumps(world)
    size = size_of_pieces(len(clusters), workers, least=LEAST, most=MOST)
    parts = (tuple(clusters[i : i + size]) for i in range(0, len(clusters), size))
    pieces = (Failures(world=sent, clusters=part, failed_at=failed_at, now=now) for part in parts)
    for _, impacts in results_of(workers, assess_piece, pieces):
        yield from impacts


class _Kept(threading.local):
    """What a worker keeps between pieces: the world that it opened last, and its memo."""

    def __init__(self) -> None:
        self.sent = b""
        self.world: World | None = None
        self.memo = Memo()


_KEPT = _Kept()


def assess_piece(piece: Failures) -> list[Impact]:
    """Compute a piece in a worker."""
    if _KEPT.world is None or _KEPT.sent != piece.world:
        _KEPT.world = pickle.loads(piece.world)  # noqa: S301  # of whoever may call anything here
        _KEPT.sent, _KEPT.memo = piece.world, Memo()
    failed_at, now = piece.failed_at, piece.now
    return list(assess(_KEPT.world, piece.clusters, failed_at=failed_at, now=now, memo=_KEPT.memo))
