"""A secret that may be renewed while the daemon runs: its file is read again when it has changed.

A token of a GitHub App lives for an hour, and whoever mounts a secret may change it at any time.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import structlog

from reconciler.errors import UsageError

REMEMBERED = 4  # values that stay hidden after they were renewed

Read = Callable[[], str]


class RenewedSecret:
    """What a file, or else the environment, holds at present; what cannot be read changes nothing.

    Args:
        read: Reads and checks it; raises `UsageError`.
        file: Where it stands, `None` where it cannot change.
    """

    def __init__(self, read: Read, file: Path | None = None) -> None:
        self._read = read
        self._file = file
        self._stamp = self._found()
        self._known = deque([read()], maxlen=REMEMBERED)
        self._problem = ""
        self._reading = threading.Lock()

    @property
    def may_change(self) -> bool:
        """Whether it is worth asking again."""
        return self._file is not None

    def __call__(self) -> str:
        """Return what it is now, `""` if there is none."""
        with self._reading:
            stamp = self._found()
            if stamp != self._stamp:
                self._stamp = stamp
                self._renew()
            return self._known[-1]

    def lines(self) -> tuple[str, ...]:
        """Return its lines: several secrets hold at once while one of them is renewed."""
        return tuple(filter(None, (line.strip() for line in self().splitlines())))

    def __iter__(self) -> Iterator[str]:
        """Yield what must not be shown: what it was of late, too."""
        for value in tuple(self._known):
            yield from filter(None, {value, *value.splitlines()})

    def _renew(self) -> None:
        try:
            value = self._read()
        except UsageError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                structlog.get_logger().warning("a secret is not renewed", reason=self._problem)
            return
        self._problem = ""
        if value != self._known[-1]:
            self._known.append(value)
            structlog.get_logger().info("a secret is renewed", file=str(self._file))

    def _found(self) -> tuple[int, int, int] | None:
        """Return what another file, or another content, has otherwise."""
        if self._file is None:
            return None
        try:
            facts = self._file.stat()
        except OSError:
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino
