"""Mappings in versions, and caches of answers: they only save work, they never decide.

A mapping that follows another shares its entries, and knows where they differ. The latest version
of a line has the entries in a dictionary. Every other one keeps where it differs from a neighbour,
and asks that one for the rest. So a step costs what it changes, reading the latest version costs a
look into a dictionary, and where two versions differ is known without a comparison. Iterating any
other version copies it first.

Between rounds and between passes an answer is kept with its cache key, the very objects that it was
computed from. It is used again where these are the same objects as then. Nothing here compares by
value, so a document that is read anew is another one, and no caller has to say what changed. A
`Same` is a key that stands for one object, whatever that is equal to.
"""

from collections.abc import (
    Callable,
    Collection,
    Hashable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)
from datetime import datetime
from operator import is_
from typing import Generic, TypeVar

from reconciler.model.records import dataclass, field, field_names

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
            for key, entry in step.own.items():
                if isinstance(entry, _Absent):
                    entries.pop(key, None)
                else:
                    entries[key] = entry
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
            before: V | _Absent = entries.get(key, ABSENT)
            if before is not value:
                node.own[key] = before
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
        removed = sum(value is ABSENT for value in own.values())
        new = sum(value is not ABSENT and key not in self for key, value in own.items())
        return Versioned(_Node(self._node.size - removed + new, None, own, self._node))

    def differing(self, other: Mapping[K, V]) -> frozenset[K] | None:
        """Return the keys at which another version differs, `None` if it is of another line.

        It may name keys that differed in between and are as they were.
        """
        if not isinstance(other, Versioned):
            return None
        mine = list(self._node.line())
        places = {node: place for place, node in enumerate(mine)}
        keys: set[K] = set()
        for node in other._node.line():  # noqa: SLF001  # of its own class
            if node in places:
                return frozenset(keys.union(*(between.own for between in mine[: places[node]])))
            keys.update(node.own)
        return None

    def __getitem__(self, key: K) -> V:
        if self._node.entries is not None:  # the usual case, and faster
            return self._node.entries[key]
        entry = self._node.find(key)
        if isinstance(entry, _Absent):
            raise KeyError(key)
        return entry

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]  # one overload is asked
        """Return the entry of a key, or a default."""
        if self._node.entries is not None:
            return self._node.entries.get(key, default)
        entry = self._node.find(key)
        return default if isinstance(entry, _Absent) else entry

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
    differences = differing(now, before)
    if differences is not None:
        return differences
    if not before:
        return now.keys()
    changed = [key for key, value in now.items() if before.get(key) is not value]
    return [*changed, *(before.keys() - now.keys())]


def differing(first: Mapping[K, V], second: Mapping[K, V]) -> frozenset[K] | None:
    """Return the keys at which two mappings may differ, `None` if only a comparison can say."""
    if first is second:
        return frozenset()
    return first.differing(second) if isinstance(first, Versioned) else None


H = TypeVar("H", bound=Hashable)
T = TypeVar("T")

CacheKey = tuple[object, ...]
"""What an answer was drawn from, in an order that the asker keeps to."""


@dataclass(slots=True, eq=False)
class AnswerCache(Generic[H, T]):
    """Answers by name, each with its cache key.

    What was not asked for between two calls of `forget` is dropped, so a table holds no more than
    two passes need.
    """

    _recent: dict[H, tuple[CacheKey, T]] = field(default_factory=dict, repr=False)
    _older: dict[H, tuple[CacheKey, T]] = field(default_factory=dict, repr=False)

    def find(self, name: H, cache_key: CacheKey) -> T | None:
        """Return the answer drawn from these very objects, `None` if there is none."""
        entry = self._recent.get(name)
        if entry is None:
            entry = self._older.get(name)
            if entry is None:
                return None
            self._recent[name] = entry
        return entry[1] if same(entry[0], cache_key) else None

    def keep(self, name: H, cache_key: CacheKey, answer: T) -> T:
        """Remember an answer in place of any earlier one of that name, and return it."""
        self._recent[name] = (cache_key, answer)
        return answer

    def recall(self, name: H, cache_key: CacheKey, draw: Callable[[], T]) -> T:
        """Return the answer drawn from these very objects, or draw it now."""
        answer = self.find(name, cache_key)
        return self.keep(name, cache_key, draw()) if answer is None else answer

    def latest(self, name: H) -> T | None:
        """Return the answer of a name whatever it was drawn from, `None` if there is none."""
        entry = self._recent.get(name) or self._older.get(name)
        return None if entry is None else entry[1]

    def forget(self) -> None:
        """Drop what was not asked for since the last call."""
        self._older.clear()
        self._older.update(self._recent)
        self._recent.clear()

    def __len__(self) -> int:
        return len(self._recent.keys() | self._older.keys())


@dataclass(slots=True)
class KeyedCache(Generic[H, T]):
    """Answers by name with one cache key in common, for what is asked of everything each time.

    The caller compares what an answer depends on beyond the common key, and puts new answers in;
    so the usual question costs one look into a mapping.
    """

    _cache_key: CacheKey = ()
    _answers: dict[H, T] = field(default_factory=dict, repr=False)

    def under(self, *cache_key: object) -> dict[H, T]:
        """Return the answers that were drawn from these very objects, to be read and added to."""
        if not same(self._cache_key, cache_key):
            self._cache_key, self._answers = cache_key, {}
        return self._answers

    def trim(self, names: Collection[H]) -> None:
        """Drop the answers of all other names, if there are any."""
        if len(self._answers) > len(names):
            self._answers = {n: answer for n, answer in self._answers.items() if n in names}

    def __len__(self) -> int:
        return len(self._answers)


@dataclass(frozen=True, slots=True)
class UnchangedUntil:
    """The stretch of time over which a round leaves an object exactly as it is.

    From `since` until before `until`, `None` for ever; what it was drawn from must stay, too.
    """

    since: datetime
    until: datetime | None

    def holds(self, now: datetime) -> bool:
        """Return whether a round at this moment would leave the object, too."""
        return self.since <= now and (self.until is None or now < self.until)


def forget(memory: object) -> None:
    """Let every table among the fields of a memory forget what was not asked for."""
    for name in field_names(memory):
        table = getattr(memory, name)
        if isinstance(table, AnswerCache):
            table.forget()


def same(first: CacheKey, second: CacheKey) -> bool:
    """Return whether two tuples hold the very same objects.

    >>> body = {}
    >>> same((body, None), (body, None)), same((body,), ({},))
    (True, False)
    """
    if len(first) != len(second):
        return False
    return all(map(is_, first, second))


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Equal to another key of the very same object only.

    It holds the object. The number that `id` gives is no such key: it goes to another object as
    soon as the first is gone.

    >>> here, there = [1], [1]
    >>> {Same(here): "found"}.get(Same(here)), {Same(here): "found"}.get(Same(there))
    ('found', None)
    """

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return object.__hash__(self.value)
