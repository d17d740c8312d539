"""What one object reads of a world, as its API says it: so a pass over that alone answers for it.

Each API answers in a file of its own. It may name more than is read, never less; where others have
a say that cannot be told beforehand, it says so, and the whole pass is asked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import World


@dataclass(frozen=True, slots=True)
class DependsOnOthers:
    """Why an answer about one object takes the whole pass: a clause."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reads:
    """The inputs and outputs that one object reads, beside what all objects share."""

    inputs: frozenset[ObjectKey] = frozenset()
    outputs: frozenset[ObjectKey] = frozenset()


class OutputPlace(NamedTuple):
    """Where outputs stand that an object may read: a kind, a namespace, how their names begin."""

    kind: Kind
    namespace: str
    stem: str = ""


class ObjectReader(Protocol):
    """What objects of one API read; it remembers indexes of the world that it saw last."""

    @property
    def shared(self) -> frozenset[Kind]:
        """The kinds of inputs and outputs that any object reads, such as clusters."""

    @property
    def consulted(self) -> frozenset[Kind]:
        """The kinds of inputs that objects read, and about which nothing is decided by itself."""

    def follow(self, world: World, /) -> None:
        """Go on to another world."""

    def objects(self) -> Mapping[ObjectKey, frozenset[ObjectKey]]:
        """Return what may be decided about in the world that was followed last.

        Returns:
            What decisions bear, each with the inputs that it reads beside the kinds of `consulted`;
            where objects depend on each other, with those of all of them. It may name more than
            that, never less.
        """

    def reads(self, key: ObjectKey, /) -> Reads | DependsOnOthers:
        """Return what an object reads of the world that was followed last.

        Args:
            key: What decisions about the object bear.
        """

    def places(self, key: ObjectKey, /) -> Iterable[OutputPlace]:
        """Return where every output stands that an object may read, in whatever world.

        Args:
            key: What decisions about the object bear.
        """


@dataclass(slots=True, eq=False)
class Untold:
    """A reader of an API that does not say what its objects read: the whole pass is asked."""

    shared: frozenset[Kind] = frozenset()
    consulted: frozenset[Kind] = frozenset()
    _inputs: frozenset[ObjectKey] = frozenset()

    def follow(self, world: World, /) -> None:
        """Go on to another world."""
        self._inputs = frozenset(world.inputs)

    def objects(self) -> Mapping[ObjectKey, frozenset[ObjectKey]]:
        """Return that all may be one object."""
        return dict.fromkeys(sorted(self._inputs)[:1], self._inputs)

    def reads(self, key: ObjectKey, /) -> DependsOnOthers:
        """Return that nothing is known."""
        return DependsOnOthers(f"it is not told what a {key.kind} reads")

    def places(self, _key: ObjectKey, /) -> Iterable[OutputPlace]:
        """Return nothing: others have a say anyway."""
        return ()
