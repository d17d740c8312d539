"""States as people read them: a word, and the tone that gives it its shape and its colour."""

from enum import StrEnum
from typing import NamedTuple

from reconciler.audit.fleet.trouble import SILENT, Trouble, is_well
from reconciler.audit.fleet.usage import DECLARED, Usage
from reconciler.model.identity import ObjectKey


class Tone(StrEnum):
    """What somebody should do: nothing, act, look, know of it, or nothing is known."""

    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    HOLD = "hold"
    PLAIN = "plain"


class State(NamedTuple):
    """A state."""

    word: str
    tone: Tone


READY, DECLARED_READY = State("ready", Tone.GOOD), State("declared", Tone.GOOD)
NOT_READY, NO_REPORT = State("not ready", Tone.BAD), State("no report", Tone.BAD)
DELETED, OVER = State("being deleted", Tone.WARN), State("over-committed", Tone.BAD)
PLACED, UNPLACED = State("placed", Tone.GOOD), State("not placed", Tone.BAD)
WAITING, SUSPENDED = State("waiting", Tone.WARN), State("suspended", Tone.HOLD)
NOWHERE = State("nowhere", Tone.PLAIN)


def health_of(usage: Usage) -> State:
    """Return how well a cluster is, by its own report."""
    if usage.leaving:
        return DELETED
    if is_well(usage):
        return DECLARED_READY if usage.ready == DECLARED else READY
    return NO_REPORT if usage.ready == SILENT else NOT_READY


def cluster_states(usage: Usage) -> tuple[State, ...]:
    """Return all states of a cluster, its health first."""
    return (health_of(usage), *((OVER,) if usage.over else ()))


class ObjectStates:
    """The states of the objects of one world; asked about many of them."""

    def __init__(self, trouble: Trouble) -> None:
        """Take what is wrong in that world."""
        self._trouble = trouble
        self._suspended = {one.key for one in trouble.suspended}
        self._all = any(one.is_configuration for one in trouble.suspended)

    def of(self, key: ObjectKey, named: ObjectKey, placed: object) -> tuple[State, ...]:
        """Return the states of an object, the worst first.

        Args:
            key: What decisions about it bear.
            named: How people call it.
            placed: Where it is; empty if nowhere.
        """
        found = []
        if key in self._trouble.unplaced:
            found.append(UNPLACED)
        if key in self._trouble.waiting:
            found.append(WAITING)
        if self._all or not self._suspended.isdisjoint((key, named)):
            found.append(SUSPENDED)
        return tuple(found) or ((PLACED,) if placed else (NOWHERE,))

    def why(self, key: ObjectKey) -> str:
        """Return why an object lacks clusters or waits, `""` if it does neither."""
        problem = self._trouble.unplaced.get(key, "")
        waits = (
            f"{one.cluster} waits for {one.waits_for}" for one in self._trouble.waiting.get(key, ())
        )
        return "; ".join(filter(None, (problem, *waits)))
