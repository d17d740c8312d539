"""What changes all the time: amounts that changed little, and heartbeats, stay as they were."""

from collections.abc import Iterable, Mapping, Sequence

from reconciler.model.body import Body
from reconciler.model.quantity import parse_quantity


def steady(fresh: Body, present: Body, paths: Iterable[str], percent: int) -> Body:
    """Return a body in which amounts that differ by little from the present ones are these.

    The present ones are those of the file, so many small changes add up until they count.

    Args:
        fresh: What is measured now.
        present: What the file says.
        paths: Dotted paths of mappings to amounts; `*` is each key of a mapping.
        percent: How much of the present amount is little.
    """
    for path in paths:
        fresh = _steady(fresh, present, path.split("."), percent)
    return fresh


def _steady(fresh: Body, present: Body, path: Sequence[str], percent: int) -> Body:
    """Return a mapping with the amounts below a path kept."""
    kept = dict(fresh)
    if not path:
        for name, amount in fresh.items():
            if is_near(amount, present.get(name), percent):
                kept[name] = present[name]
        return kept
    head, *rest = path
    for name in list(fresh) if head == "*" else [head]:
        below, known = fresh.get(name), present.get(name)
        if isinstance(below, Mapping) and isinstance(known, Mapping):
            kept[name] = _steady(below, known, rest, percent)
    return kept


def is_near(amount: object, known: object, percent: int) -> bool:
    """Return whether an amount differs from a known one by so many percent of it at most.

    >>> is_near("98", "100", 5), is_near("94", "100", 5), is_near("1", "0", 5)
    (True, False, False)
    """
    now, before = _amount(amount), _amount(known)
    if now is None or before is None:
        return False
    return abs(now - before) * 100 <= abs(before) * percent


def _amount(value: object) -> int | None:
    """Return an amount as a number, `None` if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return parse_quantity(value)
    except ValueError:
        return None


def with_moments_of(present: Body, fresh: Body, paths: Iterable[str]) -> Body:
    """Return a body with the heartbeats that a file has already; they count for nothing.

    Args:
        present: What the file says.
        fresh: What is reported now.
        paths: Dotted paths of moments; `*` is each key of a mapping, or each item of a list.
    """
    for path in paths:
        kept = _moments(present, fresh, path.split("."))
        fresh = kept if isinstance(kept, Mapping) else fresh
    return fresh


def _moments(present: object, fresh: object, path: Sequence[str]) -> object:
    """Return a value with the moments at a path as they were."""
    if not path:
        return present
    head, *rest = path
    if isinstance(fresh, Mapping) and isinstance(present, Mapping):
        names = fresh.keys() & present.keys() if head == "*" else {head} & present.keys()
        kept = {name: _moments(present[name], fresh.get(name), rest) for name in names}
        return {name: kept.get(name, value) for name, value in fresh.items()}
    if head == "*" and isinstance(fresh, list) and isinstance(present, list):
        known = [*present, *fresh[len(present) :]]
        return [_moments(b, f, rest) for b, f in zip(known, fresh, strict=False)]
    return fresh
