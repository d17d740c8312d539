"""Values of CEL at run time: Python's where they fit, and these where they do not.

Texts, bytes, booleans, whole numbers, doubles, lists and `None` are Python's. A map is a `dict`
whose keys are made by `key_of`. Moments and time spans count nanoseconds.

An expression has a budget, since it comes from the repository, which is untrusted. All is counted,
nothing is timed: the same expression is refused on every machine, or on none.

Source: cel-go common/types/timestamp.go and duration.go; Go time `ParseDuration`.
"""

import ipaddress
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import total_ordering
from typing import TypeVar
from zoneinfo import ZoneInfo

from reconciler.errors import Misconfigured
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import Same

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


def equal(first: object, other: object) -> bool:
    """Return whether two values are equal; those of different types are not, but for numbers.

    Source: cel-go common/types `Equal`, cross-type numeric equality.
    """
    kinds = type(first), type(other)
    if kinds[0] in NUMBERS and kinds[1] in NUMBERS:
        return first == other
    if kinds[0] is not kinds[1]:
        return False
    if isinstance(first, list) and isinstance(other, list):
        return len(first) == len(other) and all(map(equal, first, other))
    if isinstance(first, dict) and isinstance(other, dict):
        return len(first) == len(other) and all(
            key in other and equal(value, other[key]) for key, value in first.items()
        )
    if isinstance(first, CelOptional) and isinstance(other, CelOptional):
        if not (first.present and other.present):
            return first.present == other.present
        return equal(first.value, other.value)
    return first == other


def unwrapped(value: object) -> object:
    """Return what a Go program sees of a value: that inside of an optional one.

    Source: cel-go common/types/optional.go `Value`.
    """
    while isinstance(value, CelOptional):
        value = value.value
    return value


T = TypeVar("T", Duration, Timestamp)
SECOND = 10**9
LONGEST_SPAN = 100  # characters of a moment or a time span
UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
EARLIEST, LATEST = -62_135_596_800 * SECOND, 253_402_300_800 * SECOND - 1  # the years 1 to 9999
_DURATION = re.compile(r"([-+]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)", re.ASCII)
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII
)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def in_range(value: T) -> T:
    """Return a moment or a time span that CEL can hold.

    Raises:
        CelError: It cannot.
    """
    if isinstance(value, Duration) and value.nanos not in INT:
        raise CelError("duration out of range")
    if isinstance(value, Timestamp) and not EARLIEST <= value.nanos <= LATEST:
        raise CelError("timestamp out of range")
    return value


def parse_duration(text: str) -> Duration:
    """Return the time span of a text such as `1h30m`.

    Raises:
        CelError: It is none.
    """
    match = _DURATION.fullmatch(text) if len(text) <= LONGEST_SPAN else None
    if match is None:
        raise CelError("time: invalid duration")
    nanos = 0
    for whole, fraction, unit in _PART.findall(match[2]):
        size = UNITS[unit]
        nanos += int(whole or 0) * size + (
            int(fraction) * size // 10 ** len(fraction) if fraction else 0
        )
    return in_range(Duration(-nanos if match[1] == "-" else nanos))


def parse_timestamp(text: str) -> Timestamp:
    """Return the moment of a text of RFC 3339.

    Raises:
        CelError: It is none.
    """
    match = _TIMESTAMP.fullmatch(text) if len(text) <= LONGEST_SPAN else None
    if match is None:
        raise CelError("the text is no timestamp")
    try:
        zone = "+00:00" if match[3] == "Z" else match[3]
        moment = datetime.fromisoformat(f"{match[1]}{zone}")
        seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise CelError("the text is no timestamp") from None
    nanos = int((match[2] or "").ljust(9, "0")[:9])
    return in_range(Timestamp(seconds * SECOND + nanos))


def timestamp_text(stamp: Timestamp) -> str:
    """Return a moment as RFC 3339 has it, in UTC."""
    rest = stamp.nanos % SECOND
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{stamp.moment.replace(microsecond=0, tzinfo=None).isoformat()}{fraction}Z"


def duration_text(duration: Duration) -> str:
    """Return a time span in seconds."""
    whole, rest = divmod(abs(duration.nanos), SECOND)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' * (duration.nanos < 0)}{whole}{fraction}s"


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        from datetime import timezone  # noqa: PLC0415  # only where a zone is an offset

        return timezone(-span if offset[1] == "-" else span)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise CelError("unknown time zone") from None


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def part(stamp: Timestamp, zone: str = "UTC") -> int:
        try:
            return read(stamp.moment.astimezone(_zone(zone)))
        except OverflowError:
            raise CelError("timestamp out of range") from None

    return part


PARTS: Mapping[str, Callable[..., int]] = {
    "getFullYear": _part(lambda at: at.year),
    "getMonth": _part(lambda at: at.month - 1),
    "getDayOfYear": _part(lambda at: at.timetuple().tm_yday - 1),
    "getDayOfMonth": _part(lambda at: at.day - 1),
    "getDate": _part(lambda at: at.day),
    "getDayOfWeek": _part(lambda at: at.isoweekday() % 7),
    "getHours": _part(lambda at: at.hour),
    "getMinutes": _part(lambda at: at.minute),
    "getSeconds": _part(lambda at: at.second),
    "getMilliseconds": _part(lambda at: at.microsecond // 1000),
}
PARTS_OF_DURATION: Mapping[str, Callable[[Duration], int]] = {
    "getHours": lambda one: _towards_zero(one, 3600 * SECOND),
    "getMinutes": lambda one: _towards_zero(one, 60 * SECOND),
    "getSeconds": lambda one: _towards_zero(one, SECOND),
    "getMilliseconds": lambda one: _towards_zero(one, 10**6) % 1000,
}


def _towards_zero(duration: Duration, unit: int) -> int:
    units = abs(duration.nanos) // unit
    return -units if duration.nanos < 0 else units


LONGEST_TEXT = 10 * 1024  # characters of one selector; Kubernetes' limit for CEL in device requests
DEEPEST = 250  # levels of the parse tree; cel-go's default limit of recursion
LARGEST = 100_000  # characters and items in one value
STEPS = 100_000  # of one expression for one cluster; a step takes some microseconds
STEPS_PER_CLUSTER = 1_000  # on top, for all clusters together
STEPS_OF_NODE = 4  # that is evaluated
WEIGHT_OF_STEP = 64  # characters or items that are handled in a step
ITEMS_OF_STEP = 8  # items that are counted in a step

TOO_LONG = f"compilation failed: the expressions have more than {LONGEST_TEXT} characters"
TOO_DEEP = f"compilation failed: the expression is nested more than {DEEPEST} levels deep"
TOO_LARGE = f"the expression makes a value of more than {LARGEST} characters and items"
TOO_MANY = f"the expression takes more than {STEPS} steps for a cluster, shorten its lists"
TOO_MANY_IN_ALL = (
    f"the expressions take more than {STEPS_PER_CLUSTER} steps a cluster, shorten their lists"
)

FRAMES = 2500  # of Python's stack, enough for the depth that is allowed

sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))


def refuse_length(length: int) -> None:
    """Raise if a text that is to be made would be too long.

    Raises:
        Misconfigured: It would.
    """
    if length > LARGEST:
        raise Misconfigured(TOO_LARGE)


@dataclass(slots=True)
class Meter:
    """Counts the steps of a selector over all clusters; `left` is what they may still take."""

    left: int
    _steps: int = 0
    _weights: dict[Same, tuple[int, int]] = field(default_factory=dict)

    def restart(self) -> None:
        """Begin with another expression or cluster."""
        self._steps = 0
        self._weights.clear()

    def charge(self, steps: int) -> None:
        """Count steps.

        Raises:
            Misconfigured: They are too many.
        """
        self._steps += steps
        self.left -= steps
        if self._steps > STEPS:
            raise Misconfigured(TOO_MANY)
        if self.left < 0:
            raise Misconfigured(TOO_MANY_IN_ALL)

    def weigh(self, value: object) -> int:
        """Return how many characters and items a value has, those inside of its items included.

        How deep it is nested is bounded, too.

        A container that stands in it twice counts twice, since to compare it takes as long; it is
        walked through once.

        Raises:
            Misconfigured: They are too many.
        """
        weight, depth = self._weighed(value)
        refuse_length(weight)
        if depth > DEEPEST:
            raise Misconfigured(TOO_DEEP)
        return weight

    def _weighed(self, value: object) -> tuple[int, int]:
        """Return how heavy a value is, and how deep."""
        match value:
            case str() | bytes():
                return len(value), 0
            case list() | dict():
                same = Same(value)
                known = self._weights.get(same)
                if known is not None:
                    return known
                self.charge(1 + len(value) // ITEMS_OF_STEP)
                weight, depth = 1, 0
                inner = value if isinstance(value, list) else (*value, *value.values())
                for element in inner:
                    heavy, deep = self._weighed(element)
                    weight, depth = weight + heavy, max(depth, deep)
                    refuse_length(weight)
                    if depth > DEEPEST:
                        raise Misconfigured(TOO_DEEP)
                self._weights[same] = weight, depth + 1
                return weight, depth + 1
            case CelOptional():
                weight, depth = self._weighed(value.value)
                return weight + 1, depth + 1
        return 1, 0
