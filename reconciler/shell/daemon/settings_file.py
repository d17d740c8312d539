"""Watches the settings file of the operator, by content: a mounted one is swapped as a link."""

import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from reconciler.errors import UsageError
from reconciler.shell.processes.background import Background

LOOK_SECONDS = 1.0


class SettingsWatch(Background):
    """Looks at a file while a block lasts, and says once when it holds other settings.

    Args:
        file: The settings.
        problem: Why what it holds now is not what counts, `""` if it is.
        check: Raises `UsageError` if what the file holds now are no settings.
        changed: Called in a thread when the file holds other settings that are good.
        look_seconds: How often it looks.
    """

    def __init__(
        self,
        file: Path,
        *,
        problem: str = "",
        check: Callable[[], object],
        changed: Callable[[], None],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        super().__init__("settings")
        self._file = file
        self._check = check
        self._changed = changed
        self._look_seconds = look_seconds
        self._seen = content_of(file)
        self._stopped = threading.Event()
        self.reload = False
        """Whether it said so."""
        self.problem = problem
        """Why the last good settings count instead of the file, `""` if the file counts."""

    def _end(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        while not self.reload and not self._stopped.wait(self._look_seconds):
            found = content_of(self._file)
            if found == self._seen:
                continue
            self._seen = found
            try:
                self._check()
            except UsageError as error:
                self.problem = str(error)
                refused(self.problem)
            else:
                self.reload = True
                self._changed()


def refused(error: str) -> None:
    """Log that settings are not taken over."""
    structlog.get_logger().error("settings refused, the last good ones stay", error=error)


def content_of(file: Path) -> bytes:
    """Return what a file holds; nothing if it cannot be read, which is told when it is parsed."""
    try:
        return file.read_bytes()
    except OSError:
        return b""
