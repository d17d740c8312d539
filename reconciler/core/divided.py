"""A world in pieces: objects that read none of each other's files are decided apart.

What objects read their APIs state (`core/stated.py`), as for one that is asked alone; what many
read is in every piece. The outcomes of the pieces are joined into what the pass over the whole
would return. Only a first pass is divided: what removals, hourly limits and rebalances count
together is not there yet.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from datetime import datetime
from itertools import chain, pairwise

from reconciler.core.changes import Change, Outcome, WriteFile
from reconciler.core.dialects import CLUSTERS, DIALECTS
from reconciler.core.freeze import decode_freeze
from reconciler.core.inputs.world import inventories_in, own_manager
from reconciler.core.ledger import shares_room
from reconciler.core.record import faults_body, record_body
from reconciler.core.stated import links_in, statements
from reconciler.delivery.settings import decode_delivery
from reconciler.manifests.paths import FAULTS, RECORD, output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import CONFIGURATION, settings_in
from reconciler.model.world import Fault, Kinds, Projections, World
from reconciler.rebalance.target import REBALANCER, TRIGGER
from reconciler.staging.staged_delivery import STAGED_DELIVERY
from reconciler.version import __version__


def is_divisible(world: World) -> bool:
    """Return whether nothing was written yet, and nothing is counted over all objects."""
    settings = settings_in(world)
    return not (
        world.outputs
        or world.present
        or world.frozen
        or settings.suspend
        or shares_room(world)
        or decode_freeze(settings).windows
        or decode_delivery(settings).destinations
        or world.of_kind(*REBALANCER)
        or world.of_kind(*TRIGGER)
        or world.of_kind(*STAGED_DELIVERY)  # it may stage objects of every piece
        or own_manager(world)  # each piece would write all profiles
        or inventories_in(world)  # each is part of all clusters, and may be placed, too
    )


def divide(world: World, count: int) -> tuple[World, ...]:
    """Return a world in at most so many pieces of much the same size, each input in one at least.

    A pass over a piece decides of the objects in it what a pass over the whole would decide. Where
    all depend on each other there is one piece.

    Args:
        world: A divisible one.
        count: How many pieces are of use.
    """
    stated = statements()
    if len(stated) < len(DIALECTS):  # of the others all may read anything
        return (world,)
    consulted = (kind for statement in stated.values() for kind in statement.consulted)
    in_all = {CONFIGURATION, *CLUSTERS, *consulted}
    common = {key for key in world.inputs if key[:2] in in_all}
    pieces = [set(common) for _ in range(count)]
    for group in _independent(world, common):
        min(pieces, key=len).update(group)
    filled = [one for one in pieces if len(one) > len(common)] or pieces[:1]
    return tuple(_part(world, one) for one in filled)


def _part(world: World, keys: Collection[ObjectKey]) -> World:
    inputs = {key: one for key, one in world.inputs.items() if key in keys}
    return replace(
        world,
        inputs=inputs,
        kinds=Kinds(),
        output_kinds=Kinds(),
        feedback_kinds=Kinds(),
        projections=Projections(),
    )


def _independent(world: World, common: Collection[ObjectKey]) -> list[list[ObjectKey]]:
    """Return the inputs that are in no piece yet, with what they have to be together with.

    The largest come first, so that pieces can be filled evenly, then by the first of their keys.
    """
    ties = _Ties()
    for statement in statements().values():
        for tied in links_in(statement, world).tied(common):
            ties.join(*tied)
    groups: dict[Hashable, list[ObjectKey]] = defaultdict(list)
    for key in sorted(world.inputs.keys() - common):
        groups[ties.root(key)].append(key)
    return sorted(groups.values(), key=lambda one: (-len(one), one[0]))


@dataclass(slots=True)
class _Ties:
    """Sets of what has to stay together; each is known by one of its members."""

    _above: dict[Hashable, Hashable] = field(default_factory=dict)

    def join(self, *members: Hashable) -> None:
        """Put some into one set."""
        for member, other in pairwise(members):
            self._above[self.root(other)] = self.root(member)

    def root(self, member: Hashable) -> Hashable:
        """Return by which member its set is known."""
        path = [*self._line(member)]
        for node in path[:-1]:
            self._above[node] = path[-1]
        return path[-1]

    def _line(self, member: Hashable) -> Iterator[Hashable]:
        while True:
            yield member
            above = self._above.get(member, member)
            if above == member:
                return
            member = above


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
