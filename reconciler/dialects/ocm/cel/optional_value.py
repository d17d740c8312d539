"""Values of CEL that may be absent, and the functions of the library `optional`.

A failure is raised as `ValueError` or `TypeError`, which CEL turns into its own errors.

Source: cel-go common/types/optional.go and cel/library.go `OptionalTypes`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.ocm.cel.engine import engine


@dataclass(frozen=True, slots=True)
class CelOptional:
    """A value, which may be null, or none."""

    value: object = None
    present: bool = True

    def __eq__(self, other: object) -> bool:
        """Compare with another optional value; cel-python raises where types differ."""
        if not isinstance(other, CelOptional) or self.present != other.present:
            return False
        try:
            return not self.present or bool(self.value == other.value)
        except TypeError:
            return False

    def __hash__(self) -> int:
        """Return a number that equal values share."""
        return hash(self.present)


NONE = CelOptional(present=False)


def qualify(container: object, key: object) -> CelOptional:
    """Return what a map or a list holds under a key, none where it holds nothing or is neither.

    Raises:
        TypeError: The key of a list is no whole number.

    Source: cel-go interpreter/attributes.go `applyQualifiers`, `refQualify`: once a selection is
    optional, those that follow are.
    """
    match container:
        case CelOptional():
            return qualify(container.value, key) if container.present else NONE
        case Mapping():
            return CelOptional(container[key]) if key in container else NONE
        case list():
            index = _index(key)
            return CelOptional(container[index]) if 0 <= index < len(container) else NONE
        case _:
            return NONE


def unwrapped(value: object) -> object:
    """Return what a Go program sees of a value: that inside of an optional one.

    Source: cel-go common/types/optional.go `Value`.
    """
    while isinstance(value, CelOptional):
        value = value.value
    return value


def require_optional(value: object) -> CelOptional:
    """Return a value that is an optional one.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(value, CelOptional):
        raise TypeError("no such overload")
    return value


def of_non_zero(value: object) -> CelOptional:
    """Return an optional value, none of what is false, empty or zero."""
    return CelOptional(value) if value else NONE


def dereferenced(optional: object) -> object:
    """Return the value.

    Raises:
        ValueError: There is none.
    """
    found = require_optional(optional)
    if not found.present:
        raise ValueError("optional.none() dereference")
    return found.value


def present_values(optionals: Sequence[object]) -> object:
    """Return the values of those that have one, in order."""
    found = [require_optional(one) for one in _list(optionals)]
    return _cel_list(one.value for one in found if one.present)


def _first(items: Sequence[object]) -> CelOptional:
    return CelOptional(items[0]) if _list(items) else NONE


def _last(items: Sequence[object]) -> CelOptional:
    return CelOptional(items[-1]) if _list(items) else NONE


def _list(items: Sequence[object]) -> Sequence[object]:
    if not isinstance(items, list):
        raise TypeError("no such overload")
    return items


def _cel_list(items: Iterable[object]) -> object:
    """Return items as a list of CEL; they are values of CEL already."""
    return engine().celtypes.ListType(items)


def _has_value(optional: object) -> object:
    return engine().celtypes.BoolType(require_optional(optional).present)


def _index(key: object) -> int:
    """Return the position that a number means; a double may be whole."""
    is_flag = isinstance(key, engine().celtypes.BoolType)
    if is_flag or not isinstance(key, int | float) or key != int(key):
        raise TypeError(f"unsupported index value: {key}")
    return int(key)


CONSTRUCTORS: Mapping[str, Callable[..., object]] = {
    "none": lambda: NONE,
    "of": CelOptional,
    "ofNonZeroValue": of_non_zero,
    "unwrap": present_values,
}
"""Functions that are called as `optional.<name>(...)`."""

METHODS: Mapping[str, Callable[..., object]] = {
    "first": _first,
    "hasValue": _has_value,
    "last": _last,
    "unwrapOpt": present_values,
    "value": dereferenced,
}
"""Functions of an optional value or a list that evaluate their arguments first."""

LAZY = frozenset({"or", "orValue"})
MACROS = frozenset({"optFlatMap", "optMap"})
