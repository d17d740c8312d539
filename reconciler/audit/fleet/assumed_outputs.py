"""The outputs as they are by now: what passes wrote, and what is assumed of silence since.

No pass writes what is assumed since time went by, so whoever shows an output asks here. A pass is
never computed from it: passes count with what is assumed by themselves.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import partial

from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.core.record import last_pass
from reconciler.model.body import LateBody
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import replace
from reconciler.model.remembered import branched
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World


def shown_at(world: World, clock: datetime) -> datetime:
    """Return the moment of which a world is shown: the clock's, or that of a later last pass."""
    last = last_pass(world.outputs)
    return clock if last is None else max(clock, last.at)


def as_of(world: World, clock: datetime, only: Collection[ObjectKey] | None = None) -> World:
    """Return a world to show, each output as it is by now once it is read; the rest is the same.

    Args:
        world: As it stands in its files.
        clock: The moment, aware UTC; no earlier one than that of the last pass counts.
        only: The outputs that are looked at, `None` for any; of others it is not known whether they
            are as they were. Where others tell how one of these is by now, all are looked at.
    """
    if settings_in(world).assume_after_seconds is None:
        return world
    if only is not None and any(needs_others(key[:2]) for key in only):
        only = None
    came = dict(_assumed(world, shown_at(world, clock), only))
    if not came:
        return world
    return replace(
        world,
        outputs=branched(world.outputs, came),
        kinds=world.kinds.next(),
        output_kinds=world.output_kinds.next(),
    )


def needs_others(kind: Kind) -> bool:
    """Return whether other objects tell how one of a kind is by now, so that `as_of` takes all."""
    dialect = dialect_of(kind[0])
    written = dialect is not None and kind in dialect.written
    return dialect is not None and written and kind in dialect.view().world.assumed_beside


def _assumed(
    world: World, now: datetime, only: Collection[ObjectKey] | None
) -> Iterator[tuple[ObjectKey, Manifest]]:
    """Yield the outputs of which something may be assumed."""
    for dialect in DIALECTS:
        asked = dialect.written if only is None else {key[:2] for key in only}
        kinds = frozenset(dialect.written).intersection(asked)
        if not any(map(world.outputs_of_kind, kinds)):
            continue  # its answers need not be loaded
        for kind, assumed in dialect.view().world.assumed.items():
            of = assumed(world, now)
            for manifest in _of_kind(world, kind, only):
                yield manifest.key, replace(manifest, held=LateBody(partial(of, manifest)))


def _of_kind(world: World, kind: Kind, only: Collection[ObjectKey] | None) -> Iterable[Manifest]:
    """Return the outputs of a kind that are looked at."""
    if only is None:
        return world.outputs_of_kind(kind)
    asked = (world.outputs.get(key) for key in only if key[:2] == kind)
    return [one for one in asked if one is not None]
