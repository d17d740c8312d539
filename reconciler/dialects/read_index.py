"""Which keys are found by what: an index from ways to keys, and one from questions to askers.

All indexes of the pass are made of these. Nearly always a name leads to one key only, so a single
key costs a tuple and not a set; keys that asked the same questions share one set of them, so a key
costs the same however many it asked, as long as others asked the same ones.
"""

from collections.abc import Hashable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
W = TypeVar("W", bound=Hashable)

Question = Hashable
"""What was asked: its kind and what it was about, or the name of a cluster."""

Reads = frozenset[Question]


@dataclass(slots=True, eq=False)
class KeyIndex(Generic[W, K]):
    """Keys by what they are found by; it is changed in place."""

    _found: dict[W, tuple[K] | set[K]] = field(default_factory=dict)
    _ways: frozenset[W] = frozenset()
    _differ: bool = False

    def put(self, key: K, ways: Iterable[W]) -> None:
        """Let a key be found by some ways, too."""
        alone = (key,)  # one for all ways
        for way in ways:
            known = self._found.get(way)
            if known is None:
                self._found[way], self._differ = alone, True
            elif isinstance(known, set):
                known.add(key)
            elif known != alone:
                self._found[way] = {*known, key}

    def drop(self, key: K, ways: Iterable[W]) -> None:
        """Let a key not be found by some ways any more."""
        for way in ways:
            known = self._found.get(way, ())
            if isinstance(known, set):
                known.discard(key)
            elif key not in known:
                continue
            if not isinstance(known, set) or not known:
                del self._found[way]
                self._differ = True

    def of(self, way: W) -> AbstractSet[K]:
        """Return the keys that are found by something."""
        found = self._found.get(way, ())
        return found if isinstance(found, set) else frozenset(found)

    @property
    def ways(self) -> frozenset[W]:
        """All by which something is found; the very same set while it does not change."""
        if self._differ:
            self._differ, ways = False, frozenset(self._found)
            self._ways = self._ways if ways == self._ways else ways
        return self._ways

    def __contains__(self, way: W) -> bool:
        return way in self._found


@dataclass(slots=True, eq=False)
class ReadIndex(Generic[K]):
    """The questions of each key; it is changed in place."""

    _reads: dict[K, Reads] = field(default_factory=dict)
    _shared: dict[Reads, Reads] = field(default_factory=dict)
    _readers: KeyIndex[Reads, K] = field(default_factory=KeyIndex)
    _sets: KeyIndex[Question, Reads] = field(default_factory=KeyIndex)

    def put(self, key: K, reads: Reads) -> None:
        """Take the questions of a key in place of those that it asked before."""
        self.drop(key)
        if reads not in self._shared:
            self._shared[reads] = reads
            self._sets.put(reads, reads)
        reads = self._reads[key] = self._shared[reads]
        self._readers.put(key, (reads,))

    def drop(self, key: K) -> None:
        """Forget a key."""
        reads = self._reads.pop(key, None)
        if reads is None:
            return
        self._readers.drop(key, (reads,))
        if reads not in self._readers:
            del self._shared[reads]
            self._sets.drop(reads, reads)

    def asking(self, question: Question) -> set[K]:
        """Return the keys that asked a question."""
        return {key for reads in self._sets.of(question) for key in self._readers.of(reads)}

    def reads(self, key: K) -> Reads:
        """Return the questions of a key, the same object for keys that asked the same."""
        return self._reads.get(key, frozenset())

    def shared(self, reads: Reads) -> Reads:
        """Return questions, the same object as those who asked the same have."""
        return self._shared.get(reads, reads)

    @property
    def questions(self) -> frozenset[Question]:
        """All that is asked; the very same set while it does not change."""
        return self._sets.ways
