"""One object asked alone: the very same pass, over what that object reads.

No rule is written here: `reconcile` is asked of the part of the world that the API of the object
names. Where others may have a say, the answer is that, and the whole pass has to be asked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.core.asked.batches import moving_in_batches
from reconciler.core.asked.rebalancer_index import RebalancerIndex
from reconciler.core.asked.shared_part import SharedPart
from reconciler.core.brake import is_removed
from reconciler.core.changes import Outcome
from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.core.ledger.shared_room import shares_room
from reconciler.core.memo import Memo
from reconciler.core.pace import REBALANCED
from reconciler.core.reconcile import reconcile
from reconciler.dialects.alone import DependsOnOthers, ObjectReader
from reconciler.dialects.contract import Dialect
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World

NOT_TOLD = DependsOnOthers("it belongs to no API")


def _readers() -> dict[Dialect, ObjectReader]:
    """Return readers that have seen nothing yet."""
    return {dialect: dialect.reader() for dialect in DIALECTS}


@dataclass(slots=True, eq=False)
class AskedAlone:
    """Answers for single objects of one repository, world after world.

    Looking into a world for the first time costs what the world holds, each further one what
    differs, and a question what its object reads.

    Attributes:
        memo: What earlier answers found out.
    """

    memo: Memo = field(default_factory=Memo)
    _readers: Mapping[Dialect, ObjectReader] = field(default_factory=_readers)
    _rebalancers: RebalancerIndex = field(default_factory=RebalancerIndex)
    _shared: SharedPart = field(default_factory=SharedPart)
    _world: World | None = None
    _following: set[Dialect] = field(default_factory=set)

    def follow(self, world: World) -> None:
        """Go on to another world with all APIs; `part` does so by itself, with the one it needs."""
        for dialect in self._readers:
            self._reader(dialect, world)

    def _reader(self, dialect: Dialect, world: World) -> ObjectReader:
        """Return what the objects of an API read of a world."""
        if self._world is not world:
            self._world = None
            self._following.clear()
            self._rebalancers.follow(world)
            kinds = (kind for reader in self._readers.values() for kind in reader.shared)
            self._shared.follow(world, {*kinds})
            self._world = world
        reader = self._readers[dialect]
        if dialect not in self._following:
            reader.follow(world)
            self._following.add(dialect)
        return reader

    def objects(self, world: World) -> Iterator[tuple[ObjectKey, frozenset[ObjectKey]]]:
        """Yield what may be decided about in a world, with the inputs of its own that it reads."""
        for dialect in self._readers:
            yield from self._reader(dialect, world).objects().items()

    def part(self, world: World, *keys: ObjectKey) -> World | DependsOnOthers:
        """Return the part of a world that objects read, or why that is not all they depend on.

        Args:
            world: All there is.
            keys: What decisions about the objects bear.
        """
        if shares_room(world):
            return DependsOnOthers("room in clusters is shared with all others")
        inputs, outputs = set[ObjectKey](), set[ObjectKey]()
        for key in keys:
            dialect = dialect_of(key.group)
            reads = NOT_TOLD if dialect is None else self._reader(dialect, world).reads(key)
            if isinstance(reads, DependsOnOthers):
                return reads
            inputs |= reads.inputs
            outputs |= reads.outputs
        asking = self._rebalancers.concerning({*keys, *inputs})
        if asking and _is_capped(world):
            return DependsOnOthers("all that is rebalanced within an hour is counted together")
        return self._shared.with_own(world, inputs | asking, outputs | asking)

    def ask(self, world: World, key: ObjectKey, now: datetime) -> Outcome | DependsOnOthers:
        """Return what a pass says of one object, explained; of others it may say anything.

        Args:
            world: All there is.
            key: What decisions about the object bear.
            now: Moment of the pass.
        """
        part = self.part(world, key)
        return part if isinstance(part, DependsOnOthers) else self.ask_of(part, now, key)

    def ask_of(
        self, part: World, now: datetime, explained: ObjectKey | None = None
    ) -> Outcome | DependsOnOthers:
        """Return what a pass says of the object that a part of a world is of.

        Args:
            part: As `part` returned it, or as a pass over it leaves it.
            now: Moment of the pass.
            explained: The object, if its decision is to be explained.
        """
        moving = moving_in_batches(part, now)
        if moving is not None:
            return DependsOnOthers(f"{moving.kind} {moving.name} moves its targets in batches")
        asked = frozenset() if explained is None else frozenset({explained})
        outcome = reconcile(part, now, asked=asked, memo=self.memo)
        if outcome.allow or any(is_removed(one, part) for one in outcome.decisions):
            return DependsOnOthers("removals are counted together")
        if _is_capped(part) and any(map(_is_counted, outcome.decisions)):
            return DependsOnOthers("all that is rebalanced within an hour is counted together")
        return outcome


def _is_capped(world: World) -> bool:
    """Return whether there is a limit to what is rebalanced within an hour."""
    return settings_in(world).safety.max_rebalanced_replicas_per_hour is not None


def _is_counted(decision: Decision) -> bool:
    """Return whether a decision is one of those that are counted together."""
    return decision.cause.kind in REBALANCED
