"""What a pass to come does to an object, in the words of a clause."""

from reconciler.model.decision import Decision, placed_text
from reconciler.model.enumeration import enumerated

MOST_NAMES = 8


def moved_words(what: str, decision: Decision) -> str:
    """Return what happens, with where the object is from then on and what it lacks."""
    if decision.before != decision.after:
        way = "as of now to" if _gains(decision) else "and it stays on"
        what = f"{what}, {way} {placed_text(decision.after)}"
    return f"{what}; {decision.problem}" if decision.problem else what


def step_words(decision: Decision) -> str:
    """Return what an object does that nobody waited for."""
    if not decision.before:
        return "it is placed"
    if decision.before == decision.after or _gains(decision):
        return "it moves"
    there = {name for name, _ in decision.after}
    left = [name for name, _ in decision.before if name not in there]
    return f"it leaves {enumerated(left, MOST_NAMES)}" if left else "it has fewer replicas"


def waited_step(decision: Decision | None) -> str:
    """Return what an object does that waited for a moment at which anything may happen."""
    return "it may move" if decision is None or _gains(decision) else step_words(decision)


def cause_words(decision: Decision) -> str:
    """Return why an object moves, with what turned away the clusters that it leaves."""
    after = dict(decision.after)
    cause = str(decision.cause)
    left = [name for name, _ in decision.before if name not in after and name not in cause]
    told = [f"{name}: {decision.rejected[name]}" for name in left if name in decision.rejected]
    return f"{cause} ({'; '.join(told)})" if told else cause


def _gains(decision: Decision) -> bool:
    """Return whether any cluster has more of an object than before, or none has it any more."""
    before = dict(decision.before)
    more = [count > before.get(name, -1) for name, count in decision.after]
    return not more or any(more)
