"""Which addresses are a trusted proxy's, and for whom one asks.

What a proxy says counts by the address at the other end of the connection, which nobody can write
into a request.
"""

import ipaddress
from collections.abc import Iterable, Sequence

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SITE_BITS = 64  # of IPv6, what one machine or one household has by itself


def is_proxy(peer: str, proxies: Iterable[Network]) -> bool:
    """Return whether an address is in one of the ranges; what is no address is in none.

    >>> is_proxy("::ffff:10.0.0.7", [ipaddress.ip_network("10.0.0.0/8")])
    True
    """
    address = _parsed(peer)
    return address is not None and any(address in network for network in proxies)


def client_of(forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Return for whom a trusted proxy asks, `""` if it does not say.

    It is the last address that is no proxy's own: those before it are a client's to write.

    Args:
        forwarded: The values of `X-Forwarded-For`, each time that it was sent.
        proxies: The ranges of trusted proxies.

    >>> client_of(["127.0.0.1, 192.0.2.7, 10.0.0.9"], [ipaddress.ip_network("10.0.0.0/8")])
    '192.0.2.7'
    """
    named = [part.strip() for value in forwarded for part in value.split(",")]
    others = (name for name in reversed(named) if not is_proxy(name, proxies))
    name = next(others, "")
    return name if _parsed(name) is not None else ""


def site_of(peer: str) -> str:
    """Return what counts as one client: an address, or of IPv6 the network of 64 bits around it.

    >>> site_of("192.0.2.7"), site_of("2001:db8::1"), site_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::', '192.0.2.7')
    """
    address = _parsed(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(address), SITE_BITS), strict=False).network_address)
    return peer if address is None else str(address)


def _parsed(text: str) -> Address | None:
    """Return an address; one of IPv4 that a listener on all of IPv6 sees is of IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if address.version == 6 else address
