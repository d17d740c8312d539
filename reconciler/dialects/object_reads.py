"""Questions about the objects that people wrote, and which of them concern one object.

Whoever selects objects asks by kind and name, by kind and label, or by kind alone; or takes what is
within a namespace. An object belongs to the questions that find it, so what differs of one leads to
whoever asked, and nobody tries all pairs. The same questions lead from a selector to objects where
those are indexed by `about`.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TypeVar

from reconciler.dialects.cluster_reads import labels_asked
from reconciler.dialects.read_index import Question
from reconciler.model.known_kinds import Kind
from reconciler.model.labels import LabelSelector, has_odd_labels, labels_of
from reconciler.model.world import Manifest

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def of_kind(kind: Kind) -> Question:
    """Return the question of all objects of a kind."""
    return "of kind", kind


def named(kind: Kind, name: str) -> Question:
    """Return the question of the objects of a kind and name, in whatever namespace."""
    return "named", kind, name


def with_label(kind: Kind, label: str, value: str) -> Question:
    """Return the question of the objects of a kind that have a label."""
    return "labelled", kind, label, value


def with_odd_labels(kind: Kind) -> Question:
    """Return the question of the objects of a kind whose labels cannot be read."""
    return "odd", kind


def within(namespace: str) -> Question:
    """Return the question of all objects in a namespace."""
    return "within", namespace


def in_file(path: str) -> Question:
    """Return the question of where the content of a file stands."""
    return "file", path


def selected(kind: Kind, name: str, labels: LabelSelector | None) -> Iterator[Question]:
    """Yield the questions to one of which each object belongs that a selector may select.

    Args:
        kind: Of the objects.
        name: Of the object, `""` for any; where there is one, labels do not count.
        labels: What the objects must have, `None` for nothing.
    """
    if name:
        yield named(kind, name)
        return
    asked = labels_asked(labels)
    if asked is None:
        yield of_kind(kind)
        return
    yield with_odd_labels(kind)  # those are an error of whoever asks for any
    yield from (with_label(kind, *label) for label in asked)


def about(manifest: Manifest) -> Iterator[Question]:
    """Yield the questions to which an object belongs."""
    key, kind = manifest.key, manifest.key[:2]
    yield of_kind(kind)
    yield named(kind, key.name)
    if key.namespace:
        yield within(key.namespace)
    labels = labels_of(manifest.body)
    for label, value in labels.items():
        yield with_label(kind, label, value)
    if has_odd_labels(manifest.body):
        yield with_odd_labels(kind)


class RecordedMapping(Mapping[K, V]):
    """A mapping that records what it is asked; a key that is not there counts, too.

    It cannot be gone through, for then any entry might matter.
    """

    def __init__(
        self, source: Mapping[K, V], question: Callable[[K], Question], reads: set[Question]
    ) -> None:
        """Look into `source`, and add the `question` of each key to `reads`."""
        self._source, self._question, self._reads = source, question, reads

    def __getitem__(self, key: K) -> V:
        self._reads.add(self._question(key))
        return self._source[key]

    def __iter__(self) -> Iterator[K]:
        raise TypeError("only single keys are recorded")

    def __len__(self) -> int:
        raise TypeError("only single keys are recorded")
