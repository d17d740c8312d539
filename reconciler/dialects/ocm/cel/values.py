"""Values of CEL at run time: Python's where they fit, and these where they do not.

Texts, bytes, booleans, whole numbers, doubles, lists and `None` are Python's. A map is a `dict`
whose keys are made by `key_of`.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import total_ordering

LONE = re.compile("[\ud800-\udfff]")  # half of a pair, which Go replaces
INT = range(-(2**63), 2**63)
UINT = range(2**64)
MOST = 10**308  # what a double holds


class CelError(Exception):
    """An expression has no value; the message is in the words of cel-go, and holds no value."""


class Uint(int):
    """A whole number without a sign."""


NO_OVERLOAD = "no such overload"


@dataclass(frozen=True, slots=True)
class BoolKey:
    """A boolean as the key of a map, which Python would take for a number."""

    value: bool


@dataclass(frozen=True, slots=True)
class CelOptional:
    """A value, which may be null, or none."""

    value: object = None
    present: bool = True


NONE = CelOptional(present=False)


@dataclass(frozen=True, slots=True)
class CelType:
    """A type as a value."""

    name: str


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A time span in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970."""

    nanos: int

    @property
    def moment(self) -> datetime:
        """As a date and a time, in UTC, cut to microseconds."""
        seconds, rest = divmod(self.nanos, 10**9)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


@dataclass(frozen=True, slots=True, order=True)
class CelQuantity:
    """An amount, exact."""

    nanos: int


@total_ordering
@dataclass(frozen=True, slots=True)
class CelVersion:
    """A semantic version; one before a release comes before the release."""

    numbers: tuple[int, int, int]
    before: tuple[str, ...] = ()

    def __lt__(self, other: "CelVersion") -> bool:
        """Compare by the rules of semver 2.0."""
        if self.numbers != other.numbers:
            return self.numbers < other.numbers
        if not self.before or not other.before:
            return bool(self.before) and not other.before
        return [_rank(part) for part in self.before] < [_rank(part) for part in other.before]


def _rank(part: str) -> tuple[int, int, str]:
    """Return how an identifier sorts: numbers first, by value, which their length tells first."""
    if part.isascii() and part.isdecimal():
        digits = part.lstrip("0")
        return (0, len(digits), digits)
    return (1, 0, part)


@dataclass(frozen=True, slots=True)
class CelUrl:
    """An address: its parts as Go has them."""

    scheme: str
    host: str
    hostname: str
    port: str
    path: str
    query: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class CelIp:
    """An IP address."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class CelCidr:
    """A range of IP addresses, with the address that it was written with."""

    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class CelFormat:
    """A named format of Kubernetes."""

    name: str


NAMES: Mapping[type, str] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    CelType: "type",
    CelOptional: "optional_type",
    CelQuantity: "kubernetes.Quantity",
    CelVersion: "kubernetes.Semver",
    CelUrl: "kubernetes.URL",
    CelIp: "net.IP",
    CelCidr: "net.CIDR",
    CelFormat: "kubernetes.NamedFormat",
}
"""What `type` says of a value, by its class."""
NUMBERS = (int, Uint, float)


def to_cel(value: object) -> object:
    """Return a value of JSON as one of CEL."""
    if isinstance(value, Mapping):
        return {str(key): to_cel(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_cel(one) for one in value]
    if isinstance(value, str) and not value.isascii():
        return LONE.sub("\ufffd", value)
    if type(value) is int and value not in INT:
        return float(value) if abs(value) < MOST else float("inf")
    return value


def key_of(value: object) -> object:
    """Return what stands for a key in a map: numbers that are equal are one.

    Raises:
        CelError: It can be no key.
    """
    kind = type(value)
    if kind is str:
        return value
    if kind is bool:
        return BoolKey(bool(value))
    if kind is float and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is int or kind is Uint:
        return int(value)  # type: ignore[call-overload]  # a number
    if kind is float:
        return value
    raise CelError(NO_OVERLOAD)


def of_key(key: object) -> object:
    """Return the value that a key stands for."""
    return key.value if isinstance(key, BoolKey) else key


def equal(one: object, other: object) -> bool:
    """Return whether two values are equal; those of different types are not, but for numbers.

    Source: cel-go common/types `Equal`, cross-type numeric equality.
    """
    kinds = type(one), type(other)
    if kinds[0] in NUMBERS and kinds[1] in NUMBERS:
        return one == other
    if kinds[0] is not kinds[1]:
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(
            key in other and equal(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, CelOptional) and isinstance(other, CelOptional):
        if not (one.present and other.present):
            return one.present == other.present
        return equal(one.value, other.value)
    return one == other


def unwrapped(value: object) -> object:
    """Return what a Go program sees of a value: that inside of an optional one.

    Source: cel-go common/types/optional.go `Value`.
    """
    while isinstance(value, CelOptional):
        value = value.value
    return value
