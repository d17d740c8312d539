"""The listener for tests: served on a free port of the loopback, talked to byte by byte."""

import hmac
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event

from reconciler.shell.daemon.events import DaemonHealth
from reconciler.shell.http.endpoints import new_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.webhook import Webhook
from reconciler.shell.reports.metrics import Metrics

SECRET = "correct horse battery staple"  # noqa: S105  # of tests only
MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PATIENCE_SECONDS = 60.0


@dataclass
class Stopwatch:
    """Seconds that a test sets by hand."""

    seconds: float = 0.0

    def __call__(self) -> float:
        """Return the seconds that were set."""
        return self.seconds


@dataclass
class Served:
    """A listener that runs; `looks` counts how often the daemon was woken."""

    port: int
    health: DaemonHealth
    metrics: Metrics
    stopwatch: Stopwatch
    looks: list[None] = field(default_factory=list)
    woken: Event = field(default_factory=Event)

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)

    def send(self, *pieces: bytes) -> tuple[int, str]:
        """Send bytes as they are; return status and body of the answer."""
        with self.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
            return answer_on(connection)

    def get(self, path: str, accept: str = "*/*") -> tuple[int, str]:
        """Ask for a path as curl does."""
        return self.send(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n".encode())

    def hook(self, body: bytes = b"{}", headers: str = "") -> tuple[int, str]:
        """Send a hook; `headers` stand line by line, beside the length of the body."""
        return self.send(hook_request(body, headers))

    def count(self, series: str) -> float:
        """Return the value of one series, 0 if there is none."""
        found = re.search(
            rf"^{re.escape(series)} (\S+)$", self.metrics.text().decode(), re.MULTILINE
        )
        return float(found[1]) if found else 0.0


def answer_on(connection: socket.socket) -> tuple[int, str]:
    """Read all that a server sends until it closes; return status and body."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def hook_request(body: bytes, headers: str) -> bytes:
    """Return the bytes of a hook."""
    lines = "".join(f"{line.strip()}\r\n" for line in headers.splitlines() if line.strip())
    head = f"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    return head.encode() + body


def signed(body: bytes = b"{}", *, key: str = SECRET, digest: str = "sha256") -> str:
    """Return the HMAC of a body in hex."""
    return hmac.new(key.encode(), body, digest).hexdigest()


@contextmanager
def served(
    *,
    secrets: tuple[str, ...] = (SECRET,),
    poll_seconds: float = 60.0,
    connection_seconds: float = PATIENCE_SECONDS,
    collapse_seconds: float = 0.0,
    body_seconds: float = PATIENCE_SECONDS,
) -> Iterator[Served]:
    """Serve while the block lasts; without `secrets` there is no webhook."""
    stopwatch = Stopwatch()
    health = DaemonHealth(poll_seconds=poll_seconds, stopwatch=stopwatch)
    metrics = Metrics(lambda _: MOMENT)
    running = Served(0, health, metrics, stopwatch)

    def wake() -> None:
        running.looks.append(None)
        running.woken.set()

    hook = Webhook(
        lambda: secrets,
        wake,
        metrics.hook_answered,
        collapse_seconds=collapse_seconds,
        body_seconds=body_seconds,
    )
    app = new_app(health, metrics, hook if secrets else None, secrets=(SECRET,))
    address = Address("127.0.0.1", 0)
    with Listener(address, app, connection_seconds=connection_seconds) as listener:
        running.port = listener.address.port
        yield running
