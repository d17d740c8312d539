"""The words of `dataclasses`, for values that cost little to declare, make, compare and replace.

`dataclasses` writes the methods of each class as text and compiles them: a third of a millisecond
a class, and a verb that reads declares three hundred. `dataclass` of this file makes a
`msgspec.Struct` of the same fields, in a hundredth of a millisecond, and its methods are C.

It means what the standard library's means: equality, order, `repr`, pickle, `match`, and that equal
values have equal hashes (the numbers differ). Type checkers are shown the standard library's own,
so that they refuse a wrong name and a wrong type in every `replace`. A class may extend a record.
What a struct cannot be is refused where it is declared: a class with other bases, and a field that
`__init__` does not take (`field(init=False)`, `InitVar`). Such a class, its family, and one whose
`__post_init__` sets a frozen field, use `dataclasses` itself; `replace` and `field_names` are for
them, too.
"""

from collections.abc import Callable, Mapping
from functools import partialmethod
from operator import attrgetter, ge, gt, le, lt
from operator import eq as equals
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

__all__ = ("dataclass", "field", "field_names", "replace")

T = TypeVar("T")

_STRUCT_META: Any = type(msgspec.Struct)
_ORDER = {"__lt__": lt, "__le__": le, "__gt__": gt, "__ge__": ge}
_METHODS = {"__eq__", "__ne__", "__hash__", "__repr__", *_ORDER}


def field_names(value: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class or of a value of it, in the order declared."""
    names: tuple[str, ...] | None = getattr(value, "__struct_fields__", None)
    return tuple(value.__dataclass_fields__) if names is None else names


class _Hidden:
    """A field left out of comparisons, or out of `repr`, until its class is made."""

    def __init__(self, value: object, *, compare: bool, shown: bool) -> None:
        self.value = value
        self.compare = compare
        self.shown = shown


def _field(*, compare: bool = True, repr: bool = True, **given: Any) -> object:  # noqa: A002  # the standard library's word
    value: object = msgspec.field(**given)
    return value if compare and repr else _Hidden(value, compare=compare, shown=repr)


def _replace(value: T, /, **changes: object) -> T:
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)

    import dataclasses  # noqa: PLC0415  # for the few that are no structs

    return dataclasses.replace(value, **changes)  # type: ignore[type-var]  # or it raises


def _dataclass(declared: type | None = None, /, **options: bool) -> object:
    def made(declared: type) -> type:
        return _struct_of(declared, **options)

    return made if declared is None else made(declared)


def _struct_of(
    declared: type, *, eq: bool = True, order: bool = False, slots: bool = False, **options: bool
) -> type:
    """Return a struct of the name, the fields and the methods that a class declares."""
    if isinstance(declared, _STRUCT_META):  # its base is a record, so it is one
        return _extended(declared)
    if declared.__bases__ not in ((object,), (Generic,)):
        raise TypeError(f"{declared.__qualname__} has bases, so it must use `dataclasses`")

    body = {**declared.__dict__, "__qualname__": declared.__qualname__}
    for of_the_class in ("__dict__", "__weakref__"):
        body.pop(of_the_class, None)
    hidden = {name: value for name, value in body.items() if isinstance(value, _Hidden)}
    struct: type = _STRUCT_META(
        declared.__name__,
        (msgspec.Struct, *(base for base in declared.__bases__ if base is not object)),
        body | {name: value.value for name, value in hidden.items()},
        eq=eq and all(value.compare for value in hidden.values()),
        dict=not slots,
        weakref=not slots,
        **options,
    )
    frozen = options.get("frozen", False)
    methods = _own_methods(hidden, field_names(struct), frozen=frozen, eq=eq, order=order) | body
    if "__eq__" in methods:  # the `!=` of a struct asks no `__eq__` but its own
        methods.setdefault("__ne__", object.__ne__)
    for name in _METHODS & methods.keys():
        setattr(struct, name, methods[name])
    return struct


def _extended(struct: Any) -> type:
    """Return a record that extends another one, with fields that all count."""
    if any(isinstance(value, _Hidden) for value in struct.__struct_defaults__):
        raise TypeError(f"{struct.__qualname__} extends a record, so it can hide no field")
    return cast(type, struct)


def _own_methods(
    hidden: Mapping[str, _Hidden], names: tuple[str, ...], *, frozen: bool, eq: bool, order: bool
) -> dict[str, object]:
    """Return the methods that a struct has not: that leave fields out, or compare for an order.

    A struct has an order, too, but by it equal values that have none, such as `None`, are an error.
    """
    methods: dict[str, object] = {}
    shown = tuple(name for name in names if name not in hidden or hidden[name].shown)
    if len(shown) < len(names):
        methods["__repr__"] = partialmethod(_text, shown)
    if hidden or order:
        compared = [name for name in names if name not in hidden or hidden[name].compare]
        values = attrgetter(*compared)
        if eq and len(compared) < len(names):
            methods["__eq__"] = _comparison(equals, values)
            methods["__hash__"] = (lambda value: hash(values(value))) if frozen else None
        if order:
            methods |= {name: _comparison(compare, values) for name, compare in _ORDER.items()}
    return methods


def _text(value: object, shown: tuple[str, ...]) -> str:
    fields = ", ".join(f"{name}={getattr(value, name)!r}" for name in shown)
    return f"{type(value).__qualname__}({fields})"


def _comparison(
    compare: Callable[[Any, Any], bool], values: Callable[[object], object]
) -> Callable[[object, object], object]:
    def method(value: object, other: object) -> object:
        if other.__class__ is not value.__class__:
            return NotImplemented
        return compare(values(value), values(other))

    return method


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _field, _replace
