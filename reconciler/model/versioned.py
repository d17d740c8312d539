"""A mapping in versions: one that follows another shares its entries, and knows where they differ.

The latest version of a line has the entries in a dictionary. Every other one keeps where it differs
from a neighbour, and asks that one for the rest. So a step costs what it changes, reading the
latest version costs a look into a dictionary, and where two versions differ is known without a
comparison. Iterating any other version copies it first.
"""

from collections.abc import (
    Collection,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class _Absent:
    """Stands for an entry that an earlier version did not have."""

    __slots__ = ()


ABSENT = _Absent()


@dataclass(slots=True, eq=False)
class _Node(Generic[K, V]):
    """What a version has by itself.

    Attributes:
        size: How many entries it has.
        entries: All of them, `None` where it has a neighbour instead.
        own: Where it differs from its neighbour.
        neighbour: The version that has the rest.
    """

    size: int
    entries: dict[K, V] | None = None
    own: "dict[K, V | _Absent]" = field(default_factory=dict)
    neighbour: "_Node[K, V] | None" = None

    def line(self) -> "Iterator[_Node[K, V]]":
        """Yield this node and its neighbours, up to the one that has entries."""
        node: _Node[K, V] | None = self
        while node is not None:
            yield node
            node = node.neighbour

    def find(self, key: K) -> "V | _Absent":
        """Return the entry of a key."""
        node: _Node[K, V] | None = self
        while node is not None:
            if node.entries is not None:
                return node.entries.get(key, ABSENT)
            if key in node.own:
                return node.own[key]
            node = node.neighbour
        return ABSENT

    def copied(self) -> dict[K, V]:
        """Return all entries in a dictionary of their own."""
        *steps, last = self.line()
        entries = dict(last.entries or {})
        for step in reversed(steps):
            for key, known in step.own.items():
                if isinstance(known, _Absent):
                    entries.pop(key, None)
                else:
                    entries[key] = known
        return entries


class Versioned(Mapping[K, V], Generic[K, V]):
    """A mapping that never changes, and from which others follow.

    Iterating the latest version while the next one is made is an error, as for a dictionary.
    """

    __slots__ = ("_node",)

    def __init__(self, entries: "Mapping[K, V] | _Node[K, V] | None" = None) -> None:
        """Begin with some entries; they are copied."""
        if isinstance(entries, _Node):
            self._node: _Node[K, V] = entries
        else:
            own = dict(entries or {})
            self._node = _Node(len(own), own)

    def patched(self, came: Mapping[K, V], gone: Iterable[K] = ()) -> "Versioned[K, V]":
        """Return the next version: without some entries, and with others.

        What stays keeps its place. A key in both is replaced; one that is gone may be absent. The
        next version of one that is not the latest is a branch.
        """
        node = self._node
        entries = node.entries
        if entries is None:
            return self.branched(came, gone)
        for key in gone:
            if key in entries and key not in came:
                node.own[key] = entries.pop(key)
        for key, value in came.items():
            known: V | _Absent = entries.get(key, ABSENT)
            if known is not value:
                node.own[key] = known
                entries[key] = value
        if not node.own:
            return self
        node.neighbour, node.entries = _Node(len(entries), entries), None
        return Versioned(node.neighbour)

    def branched(self, came: Mapping[K, V], gone: Iterable[K] = ()) -> "Versioned[K, V]":
        """Return a version beside the line: this one stays the latest if it is that."""
        own: dict[K, V | _Absent] = {key: ABSENT for key in gone if key in self and key not in came}
        own |= {key: value for key, value in came.items() if self._node.find(key) is not value}
        if not own:
            return self
        left = sum(one is ABSENT for one in own.values())
        new = sum(one is not ABSENT and key not in self for key, one in own.items())
        return Versioned(_Node(self._node.size - left + new, None, own, self._node))

    def differing(self, other: Mapping[K, V]) -> frozenset[K] | None:
        """Return the keys at which another version differs, `None` if it is of another line.

        It may name keys that differed in between and are as they were.
        """
        if not isinstance(other, Versioned):
            return None
        mine = list(self._node.line())
        places = {node: place for place, node in enumerate(mine)}
        found: set[K] = set()
        for node in other._node.line():  # noqa: SLF001  # of its own class
            if node in places:
                return frozenset(found.union(*(between.own for between in mine[: places[node]])))
            found.update(node.own)
        return None

    def __getitem__(self, key: K) -> V:
        if self._node.entries is not None:  # the usual case, and faster
            return self._node.entries[key]
        found = self._node.find(key)
        if isinstance(found, _Absent):
            raise KeyError(key)
        return found

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]  # one overload is asked
        """Return the entry of a key, or a default."""
        if self._node.entries is not None:
            return self._node.entries.get(key, default)
        found = self._node.find(key)
        return default if isinstance(found, _Absent) else found

    def __contains__(self, key: object) -> bool:
        if self._node.entries is not None:
            return key in self._node.entries
        return self._node.find(key) is not ABSENT  # type: ignore[arg-type]  # any key may be asked for

    def __iter__(self) -> Iterator[K]:
        return iter(self._all())

    def keys(self) -> KeysView[K]:
        """Return the keys; as for the other two, those of a dictionary, which is faster."""
        return self._all().keys()

    def items(self) -> ItemsView[K, V]:
        """Return keys with their entries."""
        return self._all().items()

    def values(self) -> ValuesView[V]:
        """Return the entries."""
        return self._all().values()

    def _all(self) -> dict[K, V]:
        """Return all entries; of another version than the latest one a copy."""
        return self._node.entries if self._node.entries is not None else self._node.copied()

    def __len__(self) -> int:
        return self._node.size

    def __reduce__(self) -> tuple[type, tuple[dict[K, V]]]:
        return Versioned, (self._node.copied(),)

    def __repr__(self) -> str:
        return f"Versioned({self._node.copied()!r})"


def patched(before: Mapping[K, V], came: Mapping[K, V], gone: Iterable[K] = ()) -> Mapping[K, V]:
    """Return a mapping without some entries and with others; of a versioned one the next version.

    >>> dict(patched({"a": 1, "b": 2}, {"a": 3}, ["a", "b"]))
    {'a': 3}
    """
    versions = before if isinstance(before, Versioned) else Versioned(before)
    return versions.patched(came, gone)


def branched(before: Mapping[K, V], came: Mapping[K, V], gone: Iterable[K] = ()) -> Mapping[K, V]:
    """Return a mapping without some entries and with others, that is asked for a while only."""
    versions = before if isinstance(before, Versioned) else Versioned(before)
    return versions.branched(came, gone)


def differing_keys(now: Mapping[K, V], before: Mapping[K, V]) -> Collection[K]:
    """Return the keys at which two mappings may differ, found by a comparison if need be."""
    told = differing(now, before)
    if told is not None:
        return told
    if not before:
        return now.keys()
    changed = [key for key, one in now.items() if before.get(key) is not one]
    return [*changed, *(before.keys() - now.keys())]


def differing(first: Mapping[K, V], second: Mapping[K, V]) -> frozenset[K] | None:
    """Return the keys at which two mappings may differ, `None` if only a comparison can say."""
    if first is second:
        return frozenset()
    return first.differing(second) if isinstance(first, Versioned) else None
