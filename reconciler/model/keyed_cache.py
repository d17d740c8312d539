"""What is remembered between rounds and between passes: it only saves work, it never decides.

An answer is kept with its cache key, the very objects that it was computed from. It is used again
where these are the same objects as then. Nothing here compares by value, so a document that is read
anew is another one, and no caller has to say what changed.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import is_
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

CacheKey = tuple[object, ...]
"""What an answer was drawn from, in an order that the asker keeps to."""


@dataclass(slots=True, eq=False)
class AnswerCache(Generic[K, T]):
    """Answers by name, each with its cache key.

    What was not asked for between two calls of `forget` is dropped, so a table holds no more than
    two passes need.
    """

    _recent: dict[K, tuple[CacheKey, T]] = field(default_factory=dict, repr=False)
    _older: dict[K, tuple[CacheKey, T]] = field(default_factory=dict, repr=False)

    def find(self, name: K, cache_key: CacheKey) -> T | None:
        """Return the answer drawn from these very objects, `None` if there is none."""
        known = self._recent.get(name)
        if known is None:
            known = self._older.get(name)
            if known is None:
                return None
            self._recent[name] = known
        return known[1] if same(known[0], cache_key) else None

    def keep(self, name: K, cache_key: CacheKey, answer: T) -> T:
        """Remember an answer in place of any earlier one of that name, and return it."""
        self._recent[name] = (cache_key, answer)
        return answer

    def recall(self, name: K, cache_key: CacheKey, draw: Callable[[], T]) -> T:
        """Return the answer drawn from these very objects, or draw it now."""
        found = self.find(name, cache_key)
        return self.keep(name, cache_key, draw()) if found is None else found

    def latest(self, name: K) -> T | None:
        """Return the answer of a name whatever it was drawn from, `None` if there is none."""
        known = self._recent.get(name) or self._older.get(name)
        return None if known is None else known[1]

    def forget(self) -> None:
        """Drop what was not asked for since the last call."""
        self._older.clear()
        self._older.update(self._recent)
        self._recent.clear()

    def __len__(self) -> int:
        return len(self._recent.keys() | self._older.keys())


@dataclass(slots=True)
class KeyedCache(Generic[K, T]):
    """Answers by name with one cache key in common, for what is asked of everything each time.

    The caller compares what an answer depends on beyond the common key, and puts new answers in;
    so the usual question costs one look into a mapping.
    """

    _cache_key: CacheKey = ()
    _answers: dict[K, T] = field(default_factory=dict, repr=False)

    def under(self, *cache_key: object) -> dict[K, T]:
        """Return the answers that were drawn from these very objects, to be read and added to."""
        if not same(self._cache_key, cache_key):
            self._cache_key, self._answers = cache_key, {}
        return self._answers

    def trim(self, names: Collection[K]) -> None:
        """Drop the answers of all other names, if there are any."""
        if len(self._answers) > len(names):
            self._answers = {n: one for n, one in self._answers.items() if n in names}

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


def forget(memory: "DataclassInstance") -> None:
    """Let every table among the fields of a memory forget what was not asked for."""
    for item in fields(memory):
        table = getattr(memory, item.name)
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
