"""The only file that talks to systemd: ready, how it goes, a sign of life, and stopping.

The watchdog is fed by a thread, and only while the loop of the daemon turns: a pass may take longer
than any watchdog should wait, and a loop that is stuck must still be noticed.

Source: sd_notify(3); a datagram to the socket that `NOTIFY_SOCKET` names.
"""

import contextlib
import socket
import threading
from collections.abc import Callable

from reconciler.audit.printable import printable
from reconciler.audit.short_id import short_id
from reconciler.shell.daemon.events import DaemonEvent, LoopTurned, PassFailed, PassFinished
from reconciler.shell.processes.background import Background

LONGEST_STATUS = 200  # what systemctl status shows on a line


class ServiceManager(Background):
    """Tells the service manager what the daemon does, from its start to its end.

    Args:
        address: Path of a socket; one that begins with @ is abstract.
        watchdog_seconds: A sign of life must come so often, `None` for never.
        not_alive: Why the daemon counts as stuck, `""` if it does not.
        mask: Takes credentials out of a text.
    """

    def __init__(
        self,
        address: str,
        *,
        watchdog_seconds: float | None,
        not_alive: Callable[[], str],
        mask: Callable[[str], str],
    ) -> None:
        super().__init__("watchdog")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog_seconds = watchdog_seconds
        self._not_alive = not_alive
        self._mask = mask
        self._ready = False
        self._stopped = threading.Event()

    def __call__(self, event: DaemonEvent) -> None:
        """Tell what an event means for the service."""
        match event:
            case LoopTurned() if not self._ready:
                self._ready = True
                self._send("READY=1")
            case PassFinished():
                head = short_id(event.report.commit or event.report.heads.inputs)
                faults = len(event.report.faults)
                self._say(f"decided at {head}, {faults} fault{'' if faults == 1 else 's'}")
            case PassFailed():
                self._say(f"the last pass failed: {self._mask(event.reason)}")

    def _end(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._send("STOPPING=1")

    def _work(self) -> None:
        """Send signs of life, twice as often as they are wanted."""
        if self._watchdog_seconds is None:
            return
        while not self._stopped.wait(self._watchdog_seconds / 2):
            if not self._not_alive():
                self._send("WATCHDOG=1")

    def _say(self, status: str) -> None:
        self._send(f"STATUS={printable(status)[:LONGEST_STATUS]}")

    def _send(self, message: str) -> None:
        """Send one message; a manager that does not listen changes nothing here."""
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as datagram,
        ):
            datagram.sendto(message.encode(), self._address)
