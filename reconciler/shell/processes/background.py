"""Work in a thread of its own, from the beginning of a `with` block to its end."""

import threading
from abc import ABC, abstractmethod
from typing import Self


class Background(ABC):
    """What works beside the passes and never delays one.

    The thread is a daemon's: a process that ends does not wait for it.
    """

    def __init__(self, name: str) -> None:
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @abstractmethod
    def _work(self) -> None:
        """Work until it is asked to end."""

    @abstractmethod
    def _end(self) -> None:
        """Ask the thread to end, and wait for it as long as that is worth it."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
