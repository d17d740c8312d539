"""Questions about the clusters of one API, and which of them two fleets answer otherwise.

An object that asks for labels looks at the clusters that have them; one that takes a cluster by its
name looks at that one, whether it is there or not; everything else looks at the whole fleet.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.dialects.read_index import Question
from reconciler.model.labels import LabelSelector

FLEET: Question = ("fleet",)
NAMES: Question = ("names of clusters",)


class SeenCluster(NamedTuple):
    """A cluster as a round has it.

    Attributes:
        view: What is read of it, the very same object while nothing of that differs.
        state: What is known of it beside that.
        labels: Its labels.
    """

    view: object
    state: str
    labels: Mapping[str, str]


def named(name: str) -> Question:
    """Return the question of the cluster of a name."""
    return "cluster", name


def labelled(selector: LabelSelector | None) -> tuple[Question, ...] | None:
    """Return labels of which a cluster that fits has one, `None` if it may have none."""
    found = labels_asked(selector)
    return None if found is None else tuple(("label", *one) for one in found)


def labels_asked(selector: LabelSelector | None) -> tuple[tuple[str, str], ...] | None:
    """Return labels of which whatever fits has one, `None` if it may have none."""
    for one in () if selector is None else selector.requirements:
        if one.operator == "In":
            return tuple((one.key, value) for value in one.values or ())
    return None


def about(name: str, labels: Mapping[str, str]) -> Iterator[Question]:
    """Yield the questions to which a cluster belongs."""
    yield FLEET
    yield named(name)
    yield from (("label", key, value) for key, value in labels.items())


def changed(
    before: Mapping[str, SeenCluster], now: Mapping[str, SeenCluster]
) -> Iterator[Question]:
    """Yield the questions about clusters whose answers differ between two fleets, by name."""
    for name, known in now.items():
        was = before.get(name)
        if was is None:
            yield NAMES
        elif was.view is known.view and was.state == known.state:
            continue
        else:
            yield from about(name, was.labels)
        yield from about(name, known.labels)
    for name in before.keys() - now.keys():
        yield NAMES
        yield from about(name, before[name].labels)
