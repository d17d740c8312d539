"""The labels that selectors ask for, and objects by the labels that they have.

A selector that asks for a label is compared only with what has that label, so a question costs what
it finds, not what there is. Only `matches` says what a selector selects; it is asked last.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from reconciler.model.labels import (
    COMPARING,
    ONE_OF,
    LabelSelector,
    Requirement,
    is_wellformed,
    matches,
)

T = TypeVar("T")

Label = tuple[str, str | None]
"""Key and value of a label; `None` stands for any value."""


def _labels_asked(requirement: Requirement) -> tuple[Label, ...] | None:
    """Return labels of which one is on all that satisfies a requirement, `None` if none need be."""
    if requirement.operator in ONE_OF:
        return tuple((requirement.key, value) for value in dict.fromkeys(requirement.values or ()))
    if requirement.operator == "Exists" or requirement.operator in COMPARING:
        return ((requirement.key, None),)
    return None


def ways_of(selector: LabelSelector) -> Sequence[tuple[Label, ...]]:
    """Return each set of labels of which one is on all that a selector selects; it may be none.

    A selector that cannot be judged selects nothing, so its only set is an empty one.
    """
    requirements = selector.requirements
    if not all(map(is_wellformed, requirements)):
        return ((),)
    asked = map(_labels_asked, requirements)
    return tuple(labels for labels in asked if labels is not None)


def labels_on(labels: Mapping[str, str]) -> Iterator[Label]:
    """Yield what an object with these labels is filed under."""
    for key, value in labels.items():
        yield key, value
        yield key, None


class LabelIndex(Generic[T]):
    """Objects by their labels, to find those that a selector selects."""

    def __init__(self, objects: Iterable[tuple[Mapping[str, str], T]]) -> None:
        """File each object under each of its labels."""
        self._objects = tuple(objects)
        self._by_label: dict[Label, list[int]] = defaultdict(list)
        for position, (labels, _) in enumerate(self._objects):
            for label in labels_on(labels):
                self._by_label[label].append(position)

    def selected(self, selector: LabelSelector | None) -> Iterator[T]:
        """Yield the objects that a selector selects, in the order given; all for `None`."""
        if selector is None:
            yield from (one for _, one in self._objects)
            return
        for position in self._candidates(selector):
            labels, one = self._objects[position]
            if matches(selector, labels):
                yield one

    def _candidates(self, selector: LabelSelector) -> Iterable[int]:
        """Return the positions of all that a selector may select, ascending."""
        filed = [
            [self._by_label.get(label, ()) for label in labels] for labels in ways_of(selector)
        ]
        if not filed:
            return range(len(self._objects))
        fewest = min(filed, key=lambda positions: sum(map(len, positions)))
        return fewest[0] if len(fewest) == 1 else sorted(p for part in fewest for p in part)
