"""Selectors by the labels that they ask for, to find those that select some labels.

A selector is compared only with what has a label that it asks for, so a question costs what it
finds, not what there is; and an edit costs what it edits.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from reconciler.dialects.read_index import KeyIndex
from reconciler.manifests.label_index import Label, labels_on, ways_of
from reconciler.model.labels import LabelSelector, matches

G = TypeVar("G", bound=Hashable)
K = TypeVar("K", bound=Hashable)


class GroupedSelector(NamedTuple, Generic[G]):
    """A selector, and the group of those that are asked together with it."""

    group: G
    selector: LabelSelector


@dataclass(slots=True, eq=False)
class SelectorIndex(Generic[G, K]):
    """Keys by group and selector; it is changed in place."""

    _selectors: dict[K, GroupedSelector[G]] = field(default_factory=dict)
    _places: dict[K, tuple[tuple[G, Label | None], ...]] = field(default_factory=dict)
    _filed: KeyIndex[tuple[G, Label | None], K] = field(default_factory=KeyIndex)
    _askers: Counter[tuple[G, Label]] = field(default_factory=Counter)

    def put(self, entries: Mapping[K, GroupedSelector[G]]) -> None:
        """File new keys, each under the labels that fewest others ask for."""
        for one in entries.values():
            self._askers.update(_asked(one))
        for key, one in entries.items():
            self._selectors[key] = one
            places = self._places[key] = self._rarest(one)
            self._filed.put(key, places)

    def drop(self, keys: Iterable[K]) -> None:
        """Forget keys."""
        for key in keys:
            one = self._selectors.pop(key)
            self._filed.drop(key, self._places.pop(key))
            for label in _asked(one):
                self._askers[label] -= 1
                if not self._askers[label]:
                    del self._askers[label]

    def selecting(self, group: G, labels: Mapping[str, str]) -> Iterator[K]:
        """Yield the keys of a group whose selector selects the labels, in no particular order."""
        for label in (None, *labels_on(labels)):
            for key in self._filed.of((group, label)):
                if matches(self._selectors[key].selector, labels):
                    yield key

    def _rarest(self, one: GroupedSelector[G]) -> tuple[tuple[G, Label | None], ...]:
        """Return where a selector is filed: with those of no label if it need not have any."""
        ways = ways_of(one.selector)
        if not ways:
            return ((one.group, None),)
        asked = [tuple((one.group, label) for label in labels) for labels in ways]
        return min(asked, key=lambda labels: sum(self._askers[label] for label in labels))


def _asked(one: GroupedSelector[G]) -> Iterator[tuple[G, Label]]:
    """Yield the labels that a selector asks for, each as often as it does."""
    return ((one.group, label) for labels in ways_of(one.selector) for label in labels)
