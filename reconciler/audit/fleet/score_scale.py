"""Numbers of clusters as scores between -100 and 100, so that a Placement may weigh them."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from reconciler.audit.fleet.usage import Usage
from reconciler.dialects.scoring import LEAST, MOST
from reconciler.model.identity import ObjectKey


def scaled(numbers: Mapping[str, Fraction], *, lower_is_better: bool = False) -> Mapping[str, int]:
    """Return numbers as scores: the best gets 100, the worst -100, those between in proportion.

    Halves are rounded away from zero. Where all are equal each gets 0.

    >>> scaled({"a": Fraction(1), "b": Fraction(2), "c": Fraction(5)}, lower_is_better=True)
    {'a': 100, 'b': 50, 'c': -100}
    """
    least, most = min(numbers.values(), default=0), max(numbers.values(), default=0)
    if least == most:
        return dict.fromkeys(numbers, 0)
    sign = -1 if lower_is_better else 1
    span = Fraction(most - least, MOST - LEAST)
    middle = Fraction(most + least, 2)
    return {name: _rounded(sign * (number - middle) / span) for name, number in numbers.items()}


def as_they_are(numbers: Mapping[str, Fraction]) -> Mapping[str, int] | str:
    """Return numbers that are scores already, or the first name whose number is none."""
    for name, number in numbers.items():
        if number.denominator != 1 or not LEAST <= number <= MOST:
            return name
    return {name: int(number) for name, number in numbers.items()}


def free_shares(usages: Iterable[Usage], resource: str) -> Mapping[ObjectKey, int]:
    """Return how much of a resource clusters have left: 100 is all of it, -100 is nothing.

    Clusters that do not tell their capacity have no share.
    """
    found = {}
    for one in usages:
        capacity = None if one.capacity is None else one.capacity.get(resource)
        free = None if one.free is None else one.free.get(resource)
        if capacity and free is not None:
            share = min(Fraction(free, capacity), Fraction(1))
            found[one.key] = _rounded(LEAST + (MOST - LEAST) * share)
    return found


def _rounded(number: Fraction) -> int:
    """Return the nearest whole number, halves away from zero."""
    whole = int(abs(number) + Fraction(1, 2))
    return whole if number >= 0 else -whole
