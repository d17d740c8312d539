"""Who has a place at the listener: so many connections, a share of them a client, some for probes.

A connection that finds no ordinary place gets a reserved one, where only probes are answered. Of
reserved places the newest connection gets one in any case, and the oldest one of the client that
has the most of them loses its own: so slow clients keep no probe out, not even one that
comes from their own address.
"""

from collections import Counter
from typing import Protocol

from reconciler.shell.http.trusted_proxies import site_of

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
