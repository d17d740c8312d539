"""Why an object moved: which of the differences since the last pass it takes to bring that about.

What differs since the last pass can be taken back, and the object be decided again: what does not
matter then is no cause. What cannot be taken back (time, reports) is a cause where it moves
something alone. An edit of the decision itself is always named: it is from there that it moves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from typing import Generic, TypeVar

from reconciler.errors import UserError
from reconciler.model.decision import Cause, CauseKind, Decision, Placed, joined_causes
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, field, replace

Q = TypeVar("Q")

FIRST = (CauseKind.REBALANCED, CauseKind.RETRIED, CauseKind.EVICTED, CauseKind.EDITED)
"""Told before the others, in this order."""
LAST = (CauseKind.CLUSTERS_CHANGED, CauseKind.SCORES_CHANGED)


@dataclass(frozen=True, slots=True)
class Difference(Generic[Q]):
    """Something that differs since the last pass, and how to take it back.

    With `told` it is named whatever it takes: whoever asked is told that it was done.
    """

    cause: Cause
    undo: Callable[[Q], Q]
    told: bool = False


@dataclass(slots=True, eq=False)
class Trials(Generic[Q]):
    """A decision, the question that it answers, and what decides the like of it again.

    What was tried once is known, by what was taken back.
    """

    decision: Decision
    question: Q
    decide: Callable[[Q], Decision | None]
    _tried: dict[tuple[Callable[[Q], Q], ...], Decision | None] = field(default_factory=dict)

    def without(self, undone: Iterable[Difference[Q]]) -> Decision | None:
        """Return what is decided once some differences are taken back, `None` if nothing."""
        undos = tuple(one.undo for one in undone)
        if undos not in self._tried:
            question = reduce(lambda so_far, undo: undo(so_far), undos, self.question)
            try:
                self._tried[undos] = self.decide(question)
            except UserError:  # what cannot be decided stays as it is
                self._tried[undos] = None
        return self._tried[undos]

    def is_same(self, found: Decision | None) -> bool:
        """Return whether a decision comes to the same; none at all leaves everything as it was."""
        return self._result(found) == self._result(self.decision)

    def _result(self, found: Decision | None) -> tuple[Placed, bool]:
        """Return where an object is, and whether it complains if that is all that is new."""
        if found is None:
            return self.decision.before, False
        stays = self.decision.before == self.decision.after
        return found.after, stays and bool(found.problem)


def is_explained(decision: Decision | None) -> bool:
    """Return whether a decision moved something, or complains: what stays has no other cause."""
    return decision is not None and (decision.before != decision.after or bool(decision.problem))


def with_cause(decision: Decision, causes: Iterable[Cause], *, by_hand: bool = False) -> Decision:
    """Return a decision that names these causes, those first that people look for first.

    Without any it keeps what it says. `by_hand` says that people edited it since the last pass.
    """
    causes = [*causes] or [decision.cause]
    causes += [Cause(CauseKind.EDITED)] if by_hand else []
    cause = joined_causes(sorted(causes, key=lambda one: _rank(one.kind)))
    return replace(decision, cause=cause)


def of_touched(cause: Cause, moved: Decision, edited: tuple[ObjectKey, ...]) -> Cause:
    """Return a cause with those edited clusters as sources that an object left or came to.

    All of them, if it is none of these: then it was something else of the fleet.
    """
    touched = {name for name, _ in set(moved.before) ^ set(moved.after)}
    kept = tuple(key for key in edited if key.name in touched)
    return replace(cause, sources=kept or edited)


def _rank(kind: CauseKind) -> int:
    if kind in LAST:
        return len(FIRST) + 1 + LAST.index(kind)
    return FIRST.index(kind) if kind in FIRST else len(FIRST)


def causes_of(trials: Trials[Q], differences: Sequence[Difference[Q]]) -> Iterator[Cause]:
    """Yield the causes of a decision, given all that differs; at least one thing does.

    Several that suffice each, and those that are needed together, are named. So is whatever moves
    the object without any of them, unless they have kept it from being evicted; where that alone is
    enough, none of them was needed.
    """
    rest = trials.without(differences)
    is_kept = rest is not None and bool(rest.evicted) and not trials.decision.evicted
    if rest is not None and is_explained(rest) and not is_kept:
        yield rest.cause
    needed = () if trials.is_same(rest) else _needed(trials, differences)
    yield from (one.cause for one in differences if one.told or one in needed)


def beside_creation(trials: Trials[Q], edited: Sequence[Difference[Q]]) -> Iterator[Cause]:
    """Yield what a first placement would not be the same without, of what was edited beside it."""
    if edited and not trials.is_same(trials.without(edited)):
        yield from causes_of(trials, edited)


def _needed(trials: Trials[Q], differences: Sequence[Difference[Q]]) -> Sequence[Difference[Q]]:
    """Return all that belong to a smallest set that is enough; all, if these together are not."""
    if len(differences) == 1:
        return differences
    enough: list[frozenset[int]] = []
    everything = frozenset(range(len(differences)))

    def suffices(chosen: frozenset[int]) -> bool:
        undone = [differences[i] for i in sorted(everything - chosen)]
        return trials.is_same(trials.without(undone))

    for size in range(1, len(differences)):
        for chosen in map(frozenset, combinations(sorted(everything), size)):
            if not any(known <= chosen for known in enough) and suffices(chosen):
                enough.append(chosen)
    named = frozenset[int]().union(*enough) if enough else everything
    if len(enough) > 1 and not suffices(named):
        return differences
    return tuple(differences[i] for i in sorted(named))
