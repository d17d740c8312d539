"""Which objects may move in a world that follows a settled one; a question about all asks those.

Settled means that passes change nothing, however much time goes by. Whatever reads nothing that
differs since then stays so, and a pass over what the others read says what the whole pass says.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.core.asked.alone import AskedAlone
from reconciler.core.changes import Outcome
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.dialects.alone import DependsOnOthers
from reconciler.manifests.paths import ALONE, RECORD
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import CONFIGURATION
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest, World
from reconciler.rebalance.kinds import REBALANCER, TRIGGER

MOST = 100
"""So many objects are asked together; a whole pass answers for more of them in less time."""

ALL = DependsOnOthers("what all objects read is another")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledWorld:
    """A world in which passes change nothing from a moment on.

    Attributes:
        world: As a pass left it, or found it.
        at: The moment, aware UTC.
    """

    world: World
    at: datetime


def is_settled_after(outcome: Outcome) -> bool:
    """Return whether nothing is left to do once what a pass decided is written, ever.

    What cannot be placed has been told of; nobody is told again while nothing changes.
    """
    return not (
        outcome.recheck_at
        or outcome.waits
        or outcome.allow
        or outcome.removals
        or outcome.waiting
        or outcome.overrides
    )


def affected_since(
    before: World, world: World, alone: AskedAlone
) -> frozenset[ObjectKey] | DependsOnOthers:
    """Return the objects that read or have anything that differs, or why that may be any of them.

    Args:
        before: A world, such as one in which nothing moves.
        world: Another one of the same repository.
        alone: What knows which object reads what.
    """
    if _differs_for_all(before, world):
        return ALL
    touched = _changed(before.inputs, world.inputs)
    outputs = _changed(before.outputs, world.outputs)
    if any(key[:2] in _read_by_all() for key in (*touched, *outputs)):
        return ALL
    keys = {*_owners(before, outputs), *_owners(world, outputs)}
    return _closed(keys, touched, [*alone.objects(before), *alone.objects(world)])


def _changed(
    before: Mapping[ObjectKey, Manifest], now: Mapping[ObjectKey, Manifest]
) -> set[ObjectKey]:
    """Return the objects that came, went or say something else."""
    return {key for key in differing_keys(now, before) if before.get(key) != now.get(key)}


def _closed(
    keys: set[ObjectKey],
    touched: set[ObjectKey],
    objects: Collection[tuple[ObjectKey, frozenset[ObjectKey]]],
) -> frozenset[ObjectKey] | DependsOnOthers:
    """Return objects with all others that read an input of theirs, or one that was touched."""
    before = -1
    while before < len(keys) + len(touched):
        before = len(keys) + len(touched)
        for key, inputs in objects:
            if key in keys or not touched.isdisjoint(inputs):
                keys.add(key)
                touched |= inputs
        if len(keys) > MOST:
            return DependsOnOthers("more objects than are asked one by one may move")
    return frozenset(keys)


def _differs_for_all(before: World, world: World) -> bool:
    """Return whether something differs that any object may look at, beside inputs and outputs."""
    return (
        before.known != world.known
        or before.held != world.held
        or before.frozen != world.frozen
        or before.feedback != world.feedback
        or before.apart != world.apart
        or before.output_root != world.output_root
    )


def _read_by_all() -> frozenset[tuple[str, str]]:
    """Return the kinds of which each one is read by any object, or asks for others."""
    read = (dialect.reader().consulted | dialect.reader().shared for dialect in DIALECTS)
    own = {key[:2] for key in ALONE if key != RECORD}
    return frozenset({CONFIGURATION, REBALANCER, TRIGGER, *own}.union(*read))


def _owners(world: World, outputs: Collection[ObjectKey]) -> Iterator[ObjectKey]:
    """Yield the objects that some outputs belong to."""
    for key in outputs:
        output = world.outputs.get(key)
        dialect = dialect_of(key.group)
        if output is not None and dialect is not None:
            owner = None if key[:2] in PLACED else dialect.view().owner_of(key, output.body)
            yield key if owner is None else owner
