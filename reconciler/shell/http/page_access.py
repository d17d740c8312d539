"""Who may see the page: who knows the token, whom a trusted proxy lets in, or the loopback.

A header of a proxy counts by the address at the other end of the connection, which nobody can
write into a request. A request that a page of another site makes a browser send starts no plan and
no what-if.

Source: W3C Fetch Metadata, `Sec-Fetch-Site`, which scripts cannot set; RFC 6454 `Origin`.
"""

import base64
import binascii
import hmac
from collections.abc import Iterable
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from reconciler.model.records import dataclass
from reconciler.shell.http.trusted_proxies import Network, is_proxy

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Headers(Protocol):
    """The headers of a request, by names in any case."""

    def getlist(self, key: str, /) -> list[str]:
        """Return the values of a header, each time that it was sent."""


class Refusal(NamedTuple):
    """An HTTP status and a sentence; `asks` is whether a browser is to ask for the token."""

    status: int
    says: str
    asks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAccess:
    """Who may see the page.

    Attributes:
        token: What a client must know, `""` where there is none.
        user_header: Header in which a proxy names the person that it let in, `""` for none.
        proxies: From which addresses it counts.
    """

    token: str = ""
    user_header: str = ""
    proxies: tuple[Network, ...] = ()

    @property
    def is_guarded(self) -> bool:
        """Whether a token or a proxy is asked for, so that any address may be listened on."""
        return bool(self.token or self.user_header)

    def refusal(self, peer: str, headers: Headers) -> Refusal | None:
        """Return why a request is not answered, `None` if it is.

        With neither token nor proxy the name of the host must be one of the loopback: else the
        page of a stranger could have its own name lead here, and read along.

        Args:
            peer: Address at the other end of the connection, `""` where it is unknown.
            headers: Those of the request.
        """
        if self._is_let_in(peer, headers) or self._is_known(headers):
            return None
        if self.token:
            return Refusal(401, "the token is the password", asks=True)
        if self.user_header:
            return Refusal(403, "only those whom the proxy lets in are answered")
        host = "".join(headers.getlist("host"))
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name in LOOPBACK_HOSTS:
            return None
        return Refusal(403, "without a token only the loopback is served")

    def _is_known(self, headers: Headers) -> bool:
        """Return whether a request has the token: as a bearer, or as the password of any user."""
        scheme, _, credentials = "".join(headers.getlist("authorization")).partition(" ")
        given = credentials.encode("latin-1")  # what stood on the wire
        if not self.token or scheme.lower() not in ("basic", "bearer"):
            return False
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        return hmac.compare_digest(given, self.token.encode())

    def _is_let_in(self, peer: str, headers: Headers) -> bool:
        """Return whether a trusted proxy names the person who asks.

        A header that came twice does not count: one of them may be the client's own.
        """
        if not self.user_header or not is_proxy(peer, self.proxies):
            return False
        named = headers.getlist(self.user_header)
        return len(named) == 1 and bool(named[0].strip())


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
