"""Whether a page of another site has a browser ask: such a page starts no plan and no what-if.

Source: W3C Fetch Metadata, `Sec-Fetch-Site`, which scripts cannot set; RFC 6454 `Origin`.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from reconciler.shell.http.page_access import Headers
from reconciler.shell.http.trusted_proxies import Network, is_proxy

OWN_SITES = frozenset({"same-origin", "none"})  # none is a bookmark, or an address that was typed
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def is_foreign(peer: str, headers: Headers, proxies: Iterable[Network]) -> bool:
    """Return whether a page of another site asks; clients that are no browsers send neither header.

    Args:
        peer: Address at the other end of the connection.
        headers: Those of the request.
        proxies: Whose `X-Forwarded-Host` names the host that the browser knows.
    """
    sites, origins = headers.getlist("sec-fetch-site"), headers.getlist("origin")
    if sites:
        return len(sites) > 1 or sites[0] not in OWN_SITES
    if not origins:
        return False
    named = headers.getlist("x-forwarded-host") if is_proxy(peer, proxies) else []
    host = (named or headers.getlist("host") or [""])[-1].rpartition(",")[2].strip()
    return len(origins) > 1 or not _is_of(origins[0], host)


def _is_of(origin: str, host: str) -> bool:
    """Return whether an origin is that of a host; TLS may end at the proxy, so any scheme is."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    port = DEFAULT_PORTS.get(parts.scheme)
    if port is None or not host:
        return False
    own, other = (text.lower().removesuffix(port) for text in (host, parts.netloc))
    return own == other
