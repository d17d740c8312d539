"""Where the branch is that the page shows, and who waits for it to move; safe in any thread."""

import asyncio
import threading


class PageNews:
    """The head of a branch; clients wait until it is another one."""

    def __init__(self, revision: str = "") -> None:
        """Begin with the commit that is known, full hex, `""` for none."""
        self._revision = revision
        self._lock = threading.Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @property
    def revision(self) -> str:
        """Full hex id of the head, `""` as long as it is unknown."""
        return self._revision

    def tell(self, revision: str) -> None:
        """Say where the branch is now."""
        with self._lock:
            if revision == self._revision:
                return
            self._revision = revision
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)

    async def other_than(self, known: str, seconds: float) -> str:
        """Return the head as soon as it is not the known one, `""` when time is up."""
        event = asyncio.Event()
        entry = (asyncio.get_running_loop(), event)
        with self._lock:
            if self._revision not in ("", known):
                return self._revision
            self._waiting.add(entry)
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return ""
        finally:
            with self._lock:
                self._waiting.discard(entry)
        return self._revision
