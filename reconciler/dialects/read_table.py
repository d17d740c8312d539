"""What was read decides what is looked at: values that were derived, each with what they came from.

Theory of operation. A round must not go over all objects to find the few that a change concerns,
and no object should have to remember by itself what it depended on. So a computation says which
questions it asked: of an object (`("object", key)`), of a cluster by name, of all clusters with a
label, of the reports on a workload, of whatever else there is. A question counts whether or not it
found something, for what was missing may come. The table keeps the value with its questions, and an
index from each question to the values that asked it.

At the beginning of a round whoever knows what differs since the last one names the questions whose
answers may be others by now. `affected` returns the objects to look at: those that asked one of
them, those whose moment has come, and those that did not come to rest when they were looked at
last, since they moved, were held, or could not be decided. Of all others `find` has the value. What
is looked at either rests again, with the questions of this time, or is looked at in the next round.

An object always looks at what is its own: what is told of it by its key needs no record. All other
questions are given as one set, and objects that asked the same share it: the index leads from a
question to sets, and from a set to objects. So what an object costs here does not grow with the
clusters that it looks at, as long as others look at the same ones. Questions are made and answered
by the dialects; the table never looks at a world. What a value took from the moment of its round is
bounded by `until`. If a round has an earlier moment than the one before, nothing of that holds, and
everything is looked at.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Generic, NamedTuple, TypeVar

from reconciler.dialects.read_index import Question, ReadIndex, Reads
from reconciler.model.identity import ObjectKey

V = TypeVar("V")

SLACK = 64  # moments of values that changed since, beyond those that count


class _Settled(NamedTuple, Generic[V]):
    """A value that stays, and until when it does."""

    value: V
    until: datetime | None


@dataclass(slots=True, eq=False)
class ReadTable(Generic[V]):
    """Values of objects, by key; it is changed in place, and no answer depends on it.

    Attributes:
        tells: Whether a value has something to say in each round although it stays.
    """

    tells: Callable[[V], bool] = bool
    _settled: dict[ObjectKey, _Settled[V]] = field(default_factory=dict)
    _index: ReadIndex[ObjectKey] = field(default_factory=ReadIndex)
    _unsettled: dict[ObjectKey, V | None] = field(default_factory=dict)
    _telling: dict[ObjectKey, V] = field(default_factory=dict)
    _due: list[tuple[datetime, ObjectKey]] = field(default_factory=list)
    _moment: datetime | None = None

    def affected(
        self, changed: Iterable[Question], own: Iterable[ObjectKey], now: datetime | None = None
    ) -> set[ObjectKey]:
        """Begin a round, and return the objects that it has to look at.

        Args:
            changed: The questions whose answers may differ from the last round.
            own: The objects of which something may differ that is told by their keys.
            now: The moment of the round, `None` if no value depends on it.
        """
        if now is not None and self._moment is not None and now < self._moment:
            self.unsettle_all()
        self._moment = now
        self.unsettle(own)
        for question in changed:
            self.unsettle(self.asking(question))
        if now is not None:
            self.unsettle(list(self._come(now)))
        return self.unsettled

    @property
    def unsettled(self) -> set[ObjectKey]:
        """The objects to look at."""
        return set(self._unsettled)

    def find(self, key: ObjectKey) -> V | None:
        """Return the value of an object that is at rest, `None` if it is not."""
        known = self._settled.get(key)
        return None if known is None else known.value

    def latest(self, key: ObjectKey) -> V | None:
        """Return the value at which an object rested last, whether or not it still does.

        One that comes to the same again keeps it, so that nothing which depends on it differs.
        """
        known = self._settled.get(key)
        return self._unsettled.get(key) if known is None else known.value

    def settle(self, key: ObjectKey, value: V, reads: Reads, until: datetime | None) -> None:
        """Take an object as one that stays as it is.

        Args:
            key: Of the object.
            value: What it came to.
            reads: The questions that were asked for it.
            until: When time alone may change the value, `None` if never.
        """
        self._drop(key)
        self._settled[key] = _Settled(value, until)
        self._index.put(key, reads)
        if until is not None:
            heappush(self._due, (until, key))
        if self.tells(value):
            self._telling[key] = value

    def asking(self, question: Question) -> set[ObjectKey]:
        """Return the objects at rest that asked a question."""
        return self._index.asking(question)

    def shared(self, reads: Reads) -> Reads:
        """Return questions, the same object as those who asked the same have."""
        return self._index.shared(reads)

    def unsettle(self, keys: Iterable[ObjectKey]) -> None:
        """Have objects looked at in each round until they are settled."""
        for key in keys:
            value = self.latest(key)
            self._drop(key)
            self._unsettled[key] = value

    def unsettle_all(self) -> None:
        """Have all objects looked at."""
        self.unsettle(list(self._settled))

    def drop_all(self, keys: Iterable[ObjectKey]) -> None:
        """Forget objects."""
        for key in keys:
            self._drop(key)

    def keep(self, keys: Container[ObjectKey]) -> None:
        """Forget all other objects."""
        self.drop_all([key for key in (*self._settled, *self._unsettled) if key not in keys])

    def clear(self) -> None:
        """Forget all objects."""
        self.keep(())

    def telling(self, but: Collection[ObjectKey]) -> Iterator[V]:
        """Yield the values at rest that have something to say, but for those of some objects."""
        return (value for key, value in self._telling.items() if key not in but)

    def until(self) -> datetime | None:
        """Return the next moment at which an object at rest is due, `None` if there is none."""
        if len(self._due) > 2 * len(self._settled) + SLACK:
            moments = ((one.until, key) for key, one in self._settled.items())
            self._due = [(until, key) for until, key in moments if until is not None]
            heapify(self._due)
        while self._due and not self._counts(*self._due[0]):
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def __len__(self) -> int:
        return len(self._settled)

    def __bool__(self) -> bool:
        return bool(self._settled or self._unsettled)

    def _drop(self, key: ObjectKey) -> None:
        """Forget an object."""
        self._unsettled.pop(key, None)
        known = self._settled.pop(key, None)
        if known is None:
            return
        self._telling.pop(key, None)
        self._index.drop(key)

    def _come(self, now: datetime) -> Iterator[ObjectKey]:
        """Yield the objects whose moment has come."""
        while (until := self.until()) is not None and until <= now:
            yield heappop(self._due)[1]

    def _counts(self, until: datetime, key: ObjectKey) -> bool:
        """Return whether a moment is that of a value that still stands."""
        known = self._settled.get(key)
        return known is not None and known.until == until
