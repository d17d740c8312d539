"""Which keys asked a question: an index from questions to sets of them, and from sets to keys.

Keys that asked the same questions share one set, so a key costs the same however many it asked, as
long as others asked the same ones: beside the sets an entry of a dictionary and one of a set.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

Question = Hashable
"""What was asked: its kind and what it was about, or the name of a cluster."""

Reads = frozenset[Question]


@dataclass(slots=True, eq=False)
class ReadIndex(Generic[K]):
    """The questions of each key; it is changed in place."""

    _reads: dict[K, Reads] = field(default_factory=dict)
    _readers: dict[Reads, tuple[Reads, set[K]]] = field(default_factory=dict)
    _sets: dict[Question, set[Reads]] = field(default_factory=dict)

    def put(self, key: K, reads: Reads) -> None:
        """Take the questions of a key in place of those that it asked before."""
        self.drop(key)
        if reads not in self._readers:
            self._readers[reads] = reads, set()
            for question in reads:
                self._sets.setdefault(question, set()).add(reads)
        self._reads[key], readers = self._readers[reads]
        readers.add(key)

    def drop(self, key: K) -> None:
        """Forget a key."""
        reads = self._reads.pop(key, None)
        if reads is None:
            return
        _, readers = self._readers[reads]
        readers.discard(key)
        if readers:
            return
        del self._readers[reads]
        for question in reads:
            sets = self._sets[question]
            sets.discard(reads)
            if not sets:
                del self._sets[question]

    def asking(self, question: Question) -> set[K]:
        """Return the keys that asked a question."""
        return {key for reads in self._sets.get(question, ()) for key in self._readers[reads][1]}
