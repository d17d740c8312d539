"""The only file that listens: an HTTP server in a thread of its own.

No client keeps a pass waiting: it is served by another thread, each connection has one request and
a few seconds for all of it, and there are only so many connections at a time: a share of them for
each client, and some for probes, which always get a place.

A connection that finds no ordinary place gets a reserved one, where only probes are answered. Of
reserved places the newest connection gets one in any case, and the oldest one of the client that
has the most of them loses its own: so slow clients keep no probe out, not even one that
comes from their own address.
"""

import asyncio
import re
import socket
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, Self

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from reconciler.errors import ShellError, UsageError
from reconciler.model.records import dataclass
from reconciler.shell.http.trusted_proxies import Network, client_of, is_proxy, site_of

LOOPBACK = "127.0.0.1"
ADDRESS = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][\w.-]*):)?(?P<port>[0-9]{1,5})")
LAST_PORT = 65535
PROBES = frozenset({"/livez", "/readyz"})
PROBE_SECONDS = 2.0  # for the request and its answer, where only probes are answered
HEADER_BYTES = 16 * 1024
CONNECTION_SECONDS = 10.0  # for a request and its answer, however slow the client is
STOP_SECONDS = 1  # what is served then is cut off

App = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Port 0 takes a free one."""

    host: str
    port: int


def parse_address(text: str) -> Address:
    """Return the address that `PORT` or `HOST:PORT` names; a port alone is on the loopback.

    >>> parse_address("9440"), parse_address("[::1]:80")
    (Address(host='127.0.0.1', port=9440), Address(host='::1', port=80))
    """
    match = ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > LAST_PORT:
        raise UsageError(
            f'--listen "{text}" must be PORT, which listens on {LOOPBACK} only, or HOST:PORT; '
            "0.0.0.0:PORT listens on all addresses"
        )
    return Address((match["host"] or LOOPBACK).strip("[]"), int(match["port"]))


class Listener:
    """Serves an app while its block lasts.

    Args:
        address: Where to listen.
        app: An ASGI app.
        connection_seconds: What a connection has for all of its request and answer.
        proxies: Addresses whose `X-Forwarded-For` names the client that a share is of.
    """

    def __init__(
        self,
        address: Address,
        app: App,
        *,
        connection_seconds: float = CONNECTION_SECONDS,
        proxies: Sequence[Network] = (),
    ) -> None:
        self.address = address
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=_bounded(connection_seconds, proxies),
                loop="asyncio",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="critical",  # the app logs what is worth it; strangers write no lines
                access_log=False,
                server_header=False,
                proxy_headers=False,
                headers=[("connection", "close"), ("cache-control", "no-store")],
                h11_max_incomplete_event_size=HEADER_BYTES,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._socket = _bind(self.address)
        self.address = Address(self.address.host, self._socket.getsockname()[1])
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="listener", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        if self._socket is not None:
            self._socket.close()


def _bind(address: Address) -> socket.socket:
    """Return a socket that listens; clients wait in its queue until the thread serves them."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        where = f"{address.host}:{address.port}"
        raise ShellError(
            f"cannot listen on {where}: {error.strerror or error}; free the port, or name another"
        ) from None


def _bounded(seconds: float, proxies: Sequence[Network]) -> type[H11Protocol]:
    """Return a protocol whose connections need a place, and end after so many seconds."""
    places = ConnectionPlaces()

    class BoundedProtocol(H11Protocol):
        _end: asyncio.TimerHandle | None = None
        _only_probes = ""
        _is_proxied = False

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)  # noqa: S101  # TCP has no other
            super().connection_made(transport)
            peer = "" if self.client is None else self.client[0]
            self._is_proxied = is_proxy(peer, proxies)
            self._only_probes = places.admit(self, "" if self._is_proxied else peer)
            self.app = self._gate  # asked as soon as the head of a request is there
            end = min(seconds, PROBE_SECONDS) if self._only_probes else seconds
            self._end = self.loop.call_later(end, self.cut)

        def connection_lost(self, exc: Exception | None) -> None:
            places.leave(self)
            if self._end is not None:
                self._end.cancel()
            super().connection_lost(exc)

        def cut(self) -> None:
            self.transport.abort()

        async def _gate(self, scope: Any, receive: Any, send: Any) -> None:
            if why := self._refusal(scope):
                response = PlainTextResponse(f"{why}\n", 503, {"retry-after": "1"})
                await response(scope, receive, send)
                return
            await self.config.loaded_app(scope, receive, send)

        def _refusal(self, scope: Any) -> str:
            """Return why a request gets no answer but that one, `""` if it gets its own."""
            if scope["path"] in PROBES:
                return ""
            named = Headers(scope=scope).getlist("x-forwarded-for") if self._is_proxied else []
            client = client_of(named, proxies)
            return self._only_probes or (places.forward(self, client) if client else "")

    return BoundedProtocol


MOST_CONNECTIONS = 64
SHARE = 32  # of one client; a proxy that is not named as one has tabs of many people
RESERVED = 16  # beside the others


class Connection(Protocol):
    """What has a place."""

    def cut(self) -> None:
        """End it at once."""


class ConnectionPlaces:
    """The connections of a listener; used by its loop only."""

    def __init__(self) -> None:
        self._ordinary: dict[Connection, str] = {}
        self._reserved: dict[Connection, str] = {}

    def admit(self, connection: Connection, peer: str) -> str:
        """Give a connection a place.

        Args:
            connection: A new one.
            peer: Address of its client, `""` for a proxy, for whose clients `forward` counts.

        Returns:
            Why it may only be a probe, `""` if it may ask for anything.
        """
        client = site_of(peer)
        why = self._crowded(client)
        if not why:
            self._ordinary[connection] = client
            return ""
        if len(self._reserved) >= RESERVED:
            self._make_room()
        self._reserved[connection] = client
        return why

    def forward(self, connection: Connection, peer: str) -> str:
        """Count a connection of a proxy for the client that it names.

        Returns:
            Why it is not answered, `""` if it is.
        """
        client = site_of(peer)
        if connection not in self._ordinary or self._ordinary[connection] == client:
            return ""
        del self._ordinary[connection]
        why = self._crowded(client)
        self._ordinary[connection] = "" if why else client
        return why

    def leave(self, connection: Connection) -> None:
        """Give a place back."""
        self._ordinary.pop(connection, None)
        self._reserved.pop(connection, None)

    def _crowded(self, client: str) -> str:
        """Return why a client gets no ordinary place, `""` if it gets one."""
        if len(self._ordinary) >= MOST_CONNECTIONS:
            return f"all {MOST_CONNECTIONS} places are taken; ask again in a moment"
        if client and sum(holder == client for holder in self._ordinary.values()) >= SHARE:
            return f"this address has {SHARE} connections; end one, or ask again in a moment"
        return ""

    def _make_room(self) -> None:
        """Cut the oldest reserved connection of the client that has the most of them."""
        [(client, _)] = Counter(self._reserved.values()).most_common(1)
        oldest = next(one for one, holder in self._reserved.items() if holder == client)
        del self._reserved[oldest]
        oldest.cut()
