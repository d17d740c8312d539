"""Types of CEL, and which value or type may stand where another is asked for.

Source: cel-go checker/types.go `isAssignable`, `mostGeneral`; common/types/types.go;
checker/format.go.
"""

import dataclasses
import re
from collections.abc import Mapping
from functools import lru_cache

from reconciler.dialects.ocm.cel.values import (
    TOO_DEEP,
    CelCidr,
    CelFormat,
    CelIp,
    CelOptional,
    CelQuantity,
    CelType,
    CelUrl,
    CelVersion,
    Duration,
    Timestamp,
    Uint,
)
from reconciler.errors import Misconfigured

MOST_TYPES = 500  # in one type


@dataclasses.dataclass(frozen=True, slots=True)
class Type:
    """A type by its name, with the types in it; a parameter is one capital letter."""

    name: str
    inner: tuple["Type", ...] = ()
    weight: int = dataclasses.field(init=False, compare=False, default=1)

    def __post_init__(self) -> None:
        """Refuse a type in types without end, such as what `map` makes of maps again and again."""
        weight = 1 + sum(one.weight for one in self.inner)
        if weight > MOST_TYPES:
            raise Misconfigured(TOO_DEEP)
        object.__setattr__(self, "weight", weight)

    def __str__(self) -> str:
        """Return it as cel-go prints it."""
        return f"{self.name}({', '.join(map(str, self.inner))})" if self.inner else self.name

    @property
    def is_parameter(self) -> bool:
        """Whether any type may stand for it."""
        return self.name[0].isupper()


DYN, ERROR, BOOL, INT = (Type(name) for name in ("dyn", "!error!", "bool", "int"))
UINT, DOUBLE, STRING, BYTES = (Type(name) for name in ("uint", "double", "string", "bytes"))
NULL, DURATION, TIMESTAMP = (Type(name) for name in ("null", "duration", "timestamp"))
OBJECT = Type("map", (STRING, DYN))
ANYTHING = (DYN, ERROR)

CLASSES: Mapping[str, type | tuple[type, ...]] = {
    "bool": bool,
    "int": int,
    "uint": Uint,
    "double": float,
    "string": str,
    "bytes": bytes,
    "null": type(None),
    "duration": Duration,
    "timestamp": Timestamp,
    "type": CelType,
    "list": list,
    "map": dict,
    "optional_type": CelOptional,
    "kubernetes.Quantity": CelQuantity,
    "kubernetes.Semver": CelVersion,
    "kubernetes.URL": CelUrl,
    "kubernetes.NamedFormat": CelFormat,
    "net.IP": CelIp,
    "net.CIDR": CelCidr,
}
NULLABLE = frozenset({"duration", "timestamp", "optional_type"}) | {
    name for name in CLASSES if "." in name
}
_PARTS = re.compile(r"[\w.]+|[(),]")


@lru_cache(maxsize=256)
def type_of(text: str) -> Type:
    """Return the type that a text spells.

    >>> str(type_of("map(string, list(A))"))
    'map(string, list(A))'
    """
    kind, rest = _parsed(_PARTS.findall(text))
    if rest:
        raise ValueError(f"{text} is no type")
    return kind


def _parsed(parts: list[str]) -> tuple[Type, list[str]]:
    name, rest = parts[0], parts[1:]
    inner = []
    if rest[:1] == ["("]:
        while rest[0] != ")":
            kind, rest = _parsed(rest[1:])
            inner.append(kind)
        rest = rest[1:]
    return Type(name, tuple(inner)), rest


def accepts(wanted: Type, value: object) -> bool:
    """Return whether a value may stand where a type is asked for, at run time."""
    if wanted.is_parameter or wanted.name == DYN.name:
        return True
    return type(value) is CLASSES.get(wanted.name, object)


class TypeBindings:
    """What the parameters of types stand for so far."""

    def __init__(self) -> None:
        self.known: dict[str, Type] = {}

    def assign(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        """Bind parameters such that each type may stand for the one that is wanted; or nothing."""
        before = dict(self.known)
        if len(given) == len(wanted) and all(map(self.fits, given, wanted)):
            return True
        self.known = before
        return False

    def fits(self, given: Type, other: Type) -> bool:
        """Return whether one may stand for the other, binding parameters."""
        if other.is_parameter:
            valid, bound = self._substitutes(given, other)
            if valid or bound:
                return valid
        if given.is_parameter:
            return self._substitutes(other, given)[0]
        if given in ANYTHING or other in ANYTHING:
            return True
        if NULL in (given, other):
            return given == other or (other if given == NULL else given).name in NULLABLE
        if given.name == "type":
            return other.name == "type"
        return given.name == other.name and (
            not given.inner
            or (
                len(given.inner) == len(other.inner)
                and all(self.fits(a, b) for a, b in zip(given.inner, other.inner, strict=True))
            )
        )

    def _substitutes(self, given: Type, parameter: Type) -> tuple[bool, bool]:
        """Return whether a type may stand for a parameter, and whether that stood for something."""
        if given == parameter:
            return True, True
        bound = self.known.get(parameter.name)
        if bound is not None:
            if given == bound:
                return True, True
            if self.fits(given, bound):
                general = most_general(given, bound)
                if not _mentions(general, parameter.name):
                    self.known[parameter.name] = general
                return True, True
            return False, True
        if _mentions(self.resolve(given), parameter.name):
            return False, False
        self.known[parameter.name] = given
        return True, False

    def resolve(self, kind: Type, *, finally_: bool = False) -> Type:
        """Return a type with what its parameters stand for; at last those of nothing are dyn."""
        if kind.is_parameter:
            bound = self.known.get(kind.name)
            if bound is None:
                return DYN if finally_ else kind
            return self.resolve(bound, finally_=finally_)
        return Type(kind.name, tuple(self.resolve(o, finally_=finally_) for o in kind.inner))


def _mentions(kind: Type, name: str) -> bool:
    return kind.name == name or any(_mentions(one, name) for one in kind.inner)


def most_general(first: Type, other: Type) -> Type:
    """Return the less specific of two types that fit each other."""
    return first if _is_less_specific(first, other) else other


def _is_less_specific(first: Type, other: Type) -> bool:
    if first in ANYTHING or first.is_parameter:
        return True
    if other in ANYTHING or other.is_parameter:
        return False
    if first.name != other.name or len(first.inner) != len(other.inner):
        return False
    return all(map(_is_less_specific, first.inner, other.inner))
