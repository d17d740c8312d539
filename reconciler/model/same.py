"""A key that stands for one object, whatever it is equal to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Equal to another key of the very same object only.

    It holds the object. The number that `id` gives is no such key: it goes to another object as
    soon as the first is gone.

    >>> here, there = [1], [1]
    >>> {Same(here): "found"}.get(Same(here)), {Same(here): "found"}.get(Same(there))
    ('found', None)
    """

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return object.__hash__(self.value)
