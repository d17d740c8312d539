"""Quantities, versions, addresses and named formats, as Kubernetes adds them to CEL.

Source: ocm@00f84c3 vendor/k8s.io/apiserver/pkg/cel/library quantity.go, semverlib.go, urls.go,
ip.go, cidr.go, format.go; pkg/cel/format.go; vendor/k8s.io/apimachinery/pkg/util/validation.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from reconciler.dialects.ocm.cel.values import (
    NONE,
    CelCidr,
    CelError,
    CelFormat,
    CelIp,
    CelOptional,
    CelQuantity,
    CelUrl,
    CelVersion,
)
from reconciler.model.quantity import NANOS, approximate, parse_quantity

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII
)


MOST_DIGITS = 20  # of a part of a version


class LibraryFunction(NamedTuple):
    """A function: its name, its signature, and what it does."""

    name: str
    signature: str
    does: Callable[..., object]
    member: bool = True


def quantity(text: str) -> CelQuantity:
    """Return the quantity of a text."""
    try:
        return CelQuantity(parse_quantity(text))
    except ValueError:
        raise CelError("quantities must match the regular expression") from None


def version(text: str) -> CelVersion:
    """Return the semantic version of a text."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise CelError("the text is no semantic version")
    major, minor, patch, before = match.groups()
    if max(map(len, (major, minor, patch))) > MOST_DIGITS:
        raise CelError("the text is no semantic version")
    parts = tuple(before.split(".")) if before else ()
    return CelVersion((int(major), int(minor), int(patch)), parts)


def _is(parse: Callable[[str], object]) -> Callable[[str], bool]:
    """Return a function that tells whether a text can be parsed."""

    def check(text: str) -> bool:
        try:
            parse(text)
        except CelError:
            return False
        return True

    return check


def url(text: str) -> CelUrl:
    """Return the parts of an absolute address, or of an absolute path.

    Source: Go net/url `ParseRequestURI`.
    """
    bad = not text or any(ord(one) < 0x21 or ord(one) == 0x7F for one in text)
    try:
        parts = urlsplit(text, allow_fragments=False)
        port = parts.port
    except ValueError:
        raise CelError("the text is no URL") from None
    rooted = text.startswith("/") or bool(parts.scheme)
    if (
        bad
        or not rooted
        or (not parts.netloc and not parts.path.startswith("/") and not parts.path)
    ):
        raise CelError("the text is no URL")
    host = parts.netloc.rpartition("@")[2]
    query = tuple((k, tuple(v)) for k, v in parse_qs(parts.query, keep_blank_values=True).items())
    hostname = host.rpartition(":")[0] if port is not None else host.removesuffix(":")
    return CelUrl(
        scheme=parts.scheme,
        host=host,
        hostname=hostname.removeprefix("[").removesuffix("]"),
        port="" if port is None else str(port),
        path=parts.path,
        query=query,
    )


def _escaped_path(url: CelUrl) -> str:
    from urllib.parse import quote  # noqa: PLC0415  # only where a path is asked for

    return quote(unquote(url.path), safe="/:@!$&'()*+,;=~-._") if "%" not in url.path else url.path


def ip(text: str) -> CelIp:
    """Return an IP address; one of version 4 in the form of version 6, or with a zone, is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CelError("IP Address parse error during conversion from string") from None
    if "%" in text:
        raise CelError("IP address with zone value is not allowed")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError("IPv4-mapped IPv6 address is not allowed")
    return CelIp(address)


def cidr(text: str) -> CelCidr:
    """Return a range of addresses."""
    address, slash, length = text.partition("/")
    if not slash or not length.isdecimal() or (len(length) > 1 and length[0] == "0"):
        raise CelError("network address parse error during conversion from string")
    ip(address)
    try:
        return CelCidr(ipaddress.ip_interface(text))
    except ValueError:
        raise CelError("network address parse error during conversion from string") from None


def _contains_ip(cidr: CelCidr, other: CelIp) -> bool:
    return (
        cidr.interface.version == other.address.version and other.address in cidr.interface.network
    )


def _contains_cidr(cidr: CelCidr, other: CelCidr) -> bool:
    mine: Any = cidr.interface.network
    theirs: Any = other.interface.network
    return bool(mine.version == theirs.version and theirs.subnet_of(mine))


def _is_global(one: CelIp) -> bool:
    """Return whether an address is a global unicast one, by Go's word: private ones are, too."""
    address = one.address
    broadcast = address == ipaddress.IPv4Address("255.255.255.255")
    return not (
        broadcast
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _is_link_local_multicast(address: CelIp) -> bool:
    if isinstance(address.address, ipaddress.IPv4Address):
        return address.address in ipaddress.IPv4Network("224.0.0.0/24")
    return (int(address.address) >> 112) & 0xFF0F == 0xFF02  # ff02::/16, any flags


def _compared(first: Any, other: Any) -> int:
    return int(other < first) - int(first < other)


def _nanos(value: CelQuantity | int) -> int:
    return value.nanos if isinstance(value, CelQuantity) else value * NANOS


def _whole(quantity: CelQuantity) -> int:
    if quantity.nanos % NANOS:
        raise CelError("cannot convert value to integer")
    return quantity.nanos // NANOS


_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_OLD_LABEL = r"[a-z](?:[-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
SUBDOMAIN = 253
LABEL = 63


def _matching(
    pattern: str, most: int, why: str, *, prefix: bool = False
) -> Callable[[str], list[str]]:
    """Return what is wrong with a text by a pattern and a length; a prefix may end in a dash."""
    compiled = re.compile(pattern, re.ASCII)

    def check(text: str) -> list[str]:
        if prefix and text.endswith("-"):
            text = f"{text[:-1]}a"
        wrong = [f"must be no more than {most} characters"] if len(text.encode()) > most else []
        return [*wrong, *([] if compiled.fullmatch(text) else [why])]

    return check


_NAME = _matching(
    _LABEL,
    LABEL,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
)
_DOMAIN = _matching(
    rf"{_LABEL}(?:\.{_LABEL})*",
    SUBDOMAIN,
    "a lowercase RFC 1123 subdomain must consist of lower case characters",
)


def _qualified(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:  # a prefix and a name
        return ["a qualified name must consist of alphanumeric characters, '-', '_' or '.'"]
    problems = []
    if len(parts) > 1:
        problems += [
            f"prefix part {one}"
            for one in (_DOMAIN(parts[0]) if parts[0] else ["must be non-empty"])
        ]
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > LABEL:
        problems.append(f"name part must be no more than {LABEL} characters")
    if not re.fullmatch(_QUALIFIED, name, re.ASCII):
        problems.append("name part must consist of alphanumeric characters, '-', '_' or '.'")
    return problems


def _parsable(parse: Callable[[str], object], why: str) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        try:
            parse(text)
        except (CelError, ValueError):
            return [why]
        return []

    return check


def _date(text: str) -> object:
    from datetime import date  # noqa: PLC0415  # only where a date is asked for

    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise ValueError(text)
    return date.fromisoformat(text)


def _datetime(text: str) -> object:
    from reconciler.dialects.ocm.cel.values import parse_timestamp  # noqa: PLC0415  # rare

    return parse_timestamp(text.replace("t", "T").replace("z", "Z"))


def _prefixed(pattern: str, most: int, why: str) -> Callable[[str], list[str]]:
    return _matching(pattern, most, why, prefix=True)


FORMATS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": _NAME,
    "dns1123Subdomain": _DOMAIN,
    "dns1035Label": _matching(_OLD_LABEL, LABEL, "a DNS-1035 label must begin with a letter"),
    "qualifiedName": _qualified,
    "dns1123LabelPrefix": _prefixed(_LABEL, LABEL, "must be a prefix of an RFC 1123 label"),
    "dns1123SubdomainPrefix": _prefixed(
        rf"{_LABEL}(?:\.{_LABEL})*", SUBDOMAIN, "must be a prefix of an RFC 1123 subdomain"
    ),
    "dns1035LabelPrefix": _prefixed(_OLD_LABEL, LABEL, "must be a prefix of a DNS-1035 label"),
    "labelValue": _matching(
        rf"(?:{_QUALIFIED})?",
        LABEL,
        "a valid label must be an empty string or consist of alphanumeric characters",
    ),
    "uri": _parsable(url, "invalid URI"),
    "uuid": _matching(
        r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
        SUBDOMAIN,
        "does not match the UUID format",
    ),
    "byte": _matching(
        r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", 1 << 20, "invalid base64"
    ),
    "date": _parsable(_date, "invalid date"),
    "datetime": _parsable(_datetime, "invalid datetime"),
}
"""What is wrong with a text by each named format: nothing, or the reasons."""


def _named(name: str) -> CelOptional:
    return CelOptional(CelFormat(name)) if name in FORMATS else NONE


def _validated(checked: CelFormat, text: str) -> CelOptional:
    wrong = FORMATS[checked.name](text)
    return CelOptional(wrong) if wrong else NONE


def _format(name: str) -> Callable[[], CelFormat]:
    return lambda: CelFormat(name)


_Q, _V, _U, _I, _C = (
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.URL",
    "net.IP",
    "net.CIDR",
)
FUNCTIONS: tuple[LibraryFunction, ...] = (
    LibraryFunction("quantity", f"(string) -> {_Q}", quantity, member=False),
    LibraryFunction("isQuantity", "(string) -> bool", _is(quantity), member=False),
    # upstream declares it without a target, so `quantity("1").sign()` does not compile
    LibraryFunction(
        "sign", f"({_Q}) -> int", lambda one: (one.nanos > 0) - (one.nanos < 0), member=False
    ),
    LibraryFunction("isInteger", f"({_Q}) -> bool", lambda one: one.nanos % NANOS == 0),
    LibraryFunction("asInteger", f"({_Q}) -> int", _whole),
    LibraryFunction(
        "asApproximateFloat", f"({_Q}) -> double", lambda one: approximate(f"{one.nanos}n")
    ),
    *(
        LibraryFunction(name, f"({_Q}, {other}) -> {_Q}", does)
        for other in (_Q, "int")
        for name, does in (
            ("add", lambda a, b: CelQuantity(a.nanos + _nanos(b))),
            ("sub", lambda a, b: CelQuantity(a.nanos - _nanos(b))),
        )
    ),
    *(
        LibraryFunction(name, f"({kind}, {kind}) -> {result}", does)
        for kind in (_Q, _V)
        for name, result, does in (
            ("isGreaterThan", "bool", lambda a, b: b < a),
            ("isLessThan", "bool", lambda a, b: a < b),
            ("compareTo", "int", _compared),
        )
    ),
    LibraryFunction("semver", f"(string) -> {_V}", version, member=False),
    LibraryFunction("isSemver", "(string) -> bool", _is(version), member=False),
    LibraryFunction("major", f"({_V}) -> int", lambda one: one.numbers[0]),
    LibraryFunction("minor", f"({_V}) -> int", lambda one: one.numbers[1]),
    LibraryFunction("patch", f"({_V}) -> int", lambda one: one.numbers[2]),
    LibraryFunction("url", f"(string) -> {_U}", url, member=False),
    LibraryFunction("isURL", "(string) -> bool", _is(url), member=False),
    LibraryFunction("getScheme", f"({_U}) -> string", lambda one: one.scheme),
    LibraryFunction("getHost", f"({_U}) -> string", lambda one: one.host),
    LibraryFunction("getHostname", f"({_U}) -> string", lambda one: one.hostname),
    LibraryFunction("getPort", f"({_U}) -> string", lambda one: one.port),
    LibraryFunction("getEscapedPath", f"({_U}) -> string", _escaped_path),
    LibraryFunction(
        "getQuery",
        f"({_U}) -> map(string, list(string))",
        lambda one: {key: list(values) for key, values in one.query},
    ),
    LibraryFunction("ip", f"(string) -> {_I}", ip, member=False),
    LibraryFunction("isIP", "(string) -> bool", _is(ip), member=False),
    LibraryFunction(
        "ip.isCanonical",
        "(string) -> bool",
        lambda text: str(ip(text).address) == text,
        member=False,
    ),
    LibraryFunction("string", f"({_I}) -> string", lambda one: str(one.address), member=False),
    LibraryFunction("family", f"({_I}) -> int", lambda one: one.address.version),
    LibraryFunction("isUnspecified", f"({_I}) -> bool", lambda one: one.address.is_unspecified),
    LibraryFunction("isLoopback", f"({_I}) -> bool", lambda one: one.address.is_loopback),
    LibraryFunction("isLinkLocalMulticast", f"({_I}) -> bool", _is_link_local_multicast),
    LibraryFunction("isLinkLocalUnicast", f"({_I}) -> bool", lambda one: one.address.is_link_local),
    LibraryFunction("isGlobalUnicast", f"({_I}) -> bool", _is_global),
    LibraryFunction("cidr", f"(string) -> {_C}", cidr, member=False),
    LibraryFunction("isCIDR", "(string) -> bool", _is(cidr), member=False),
    LibraryFunction("string", f"({_C}) -> string", lambda one: str(one.interface), member=False),
    LibraryFunction(
        "containsIP", f"({_C}, string) -> bool", lambda one, text: _contains_ip(one, ip(text))
    ),
    LibraryFunction("containsIP", f"({_C}, {_I}) -> bool", _contains_ip),
    LibraryFunction(
        "containsCIDR", f"({_C}, string) -> bool", lambda one, text: _contains_cidr(one, cidr(text))
    ),
    LibraryFunction("containsCIDR", f"({_C}, {_C}) -> bool", _contains_cidr),
    LibraryFunction("ip", f"({_C}) -> {_I}", lambda one: CelIp(one.interface.ip)),
    LibraryFunction("prefixLength", f"({_C}) -> int", lambda one: one.interface.network.prefixlen),
    LibraryFunction(
        "masked",
        f"({_C}) -> {_C}",
        lambda one: CelCidr(ipaddress.ip_interface(one.interface.network.with_prefixlen)),
    ),
    LibraryFunction(
        "format.named", "(string) -> optional_type(kubernetes.NamedFormat)", _named, member=False
    ),
    LibraryFunction(
        "validate", "(kubernetes.NamedFormat, string) -> optional_type(list(string))", _validated
    ),
    *(
        LibraryFunction(
            f"format.{name}", "() -> kubernetes.NamedFormat", _format(name), member=False
        )
        for name in FORMATS
    ),
)
