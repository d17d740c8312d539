"""A mapping followed from one round to the next: where it differs, and what leads to its objects.

Every table begins here: it asks what differs since it looked last, and goes on. Where a mapping is
a version of the one before that is known, else it is compared; so the first look sees everything.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from reconciler.dialects.read_index import KeyIndex
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import differing_keys

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
W = TypeVar("W", bound=Hashable)


class FollowedEntry(NamedTuple, Generic[K, V]):
    """An entry that may be another one; `None` where it is not there."""

    key: K
    before: V | None
    now: V | None


@dataclass(slots=True, eq=False)
class Followed(Generic[K, V]):
    """A mapping as it was when it was followed last; it is changed in place."""

    seen: Mapping[K, V] = field(default_factory=dict, repr=False)

    def keys(self, now: Mapping[K, V]) -> list[K]:
        """Go on to another mapping, and return the keys of the entries that may differ."""
        before, self.seen = self.seen, now
        return [] if before is now else list(differing_keys(now, before))

    def follow(self, now: Mapping[K, V]) -> list[FollowedEntry[K, V]]:
        """Go on to another mapping, and return the entries that may differ."""
        before = self.seen
        if not before:  # the first look
            self.seen = now
            return [FollowedEntry(key, None, one) for key, one in now.items()]
        return [FollowedEntry(key, before.get(key), now.get(key)) for key in self.keys(now)]


@dataclass(slots=True, eq=False)
class FollowedIndex(Generic[W, V]):
    """Objects by what they are looked up by; it follows a mapping, and costs what differs.

    `ways` returns what an object is found by.
    """

    ways: Callable[[ObjectKey, V], Iterable[W]]
    _objects: Followed[ObjectKey, V] = field(default_factory=Followed)
    _index: KeyIndex[W, ObjectKey] = field(default_factory=KeyIndex)

    def follow(self, objects: Mapping[ObjectKey, V]) -> set[W]:
        """Go on to another mapping, and return the ways that lead to what differs, or did."""
        touched = set[W]()
        for key, before, now in self._objects.follow(objects):
            was = set[W]() if before is None else {*self.ways(key, before)}
            leads = set[W]() if now is None else {*self.ways(key, now)}
            if was or leads:  # most objects are of other kinds
                self._index.drop(key, was - leads)
                self._index.put(key, leads - was)
                touched |= was | leads
        return touched

    def get(self, key: ObjectKey) -> V | None:
        """Return an object as it was followed last, `None` if it is not there."""
        return self._objects.seen.get(key)

    def of(self, way: W) -> AbstractSet[ObjectKey]:
        """Return what is found by something."""
        return self._index.of(way)

    def found(self, way: W) -> dict[ObjectKey, V]:
        """Return what is found by something, sorted by key."""
        seen = self._objects.seen
        return {key: seen[key] for key in sorted(self._index.of(way))}

    @property
    def all_ways(self) -> frozenset[W]:
        """All by which something is found; the very same set while it does not change."""
        return self._index.ways
