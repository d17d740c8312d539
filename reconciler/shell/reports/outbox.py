"""The only file that sends reports: in a thread of its own, again where that may help.

Posting a request never waits. What cannot be sent in time is dropped, the oldest first: reports are
news, and the repository has all that they tell.
"""

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import httpx
import structlog

from reconciler.audit.printable import printable
from reconciler.shell.git.masking import mask_of
from reconciler.shell.processes.background import Background
from reconciler.version import __version__

ROOM = 256  # requests that wait
ATTEMPTS = 8  # with the delays below, some five minutes
FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 300.0
ANSWER_SECONDS = 10.0
GRACE_SECONDS = 5.0  # at the end, for what still waits
REDIRECTS = 3
READ_BYTES = 500  # of an answer that refuses
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
SAID_ALREADY = "Cannot transition status"  # GitLab, of a status that is so already

Counted = Callable[[str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """A POST. Of two with the same `key` only the newer one is still worth sending."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    key: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """What became of an attempt: `result` is sent, refused or retried."""

    result: str
    says: str = ""
    after_seconds: float = 0.0


class Outbox(Background):
    """Sends requests one after the other while its block lasts.

    Args:
        to: Kind of the receiver, for the log and for counting.
        secrets: What no line of the log may hold.
        counted: Is told the receiver and what became of each request.
        first_delay_seconds: Before the second attempt; later ones wait twice as long each.
    """

    def __init__(
        self,
        to: str,
        *,
        secrets: Iterable[str] = (),
        counted: Counted = lambda *_: None,
        first_delay_seconds: float = FIRST_DELAY_SECONDS,
    ) -> None:
        super().__init__(f"reports to {to}")
        self._to = to
        self._mask = mask_of(secrets)
        self._counted = counted
        self._first_delay_seconds = first_delay_seconds
        self._waiting: OrderedDict[str, OutgoingRequest] = OrderedDict()
        self._changed = threading.Condition()
        self._stop_at: float | None = None
        self._client = httpx.Client(
            timeout=ANSWER_SECONDS,
            follow_redirects=False,
            headers={"User-Agent": f"reconciler/{__version__}"},
        )

    def post(self, request: OutgoingRequest) -> None:
        """Take a request; never waits."""
        with self._changed:
            self._waiting[request.key] = request
            if len(self._waiting) > ROOM:
                self._waiting.popitem(last=False)
                self._counted(self._to, "dropped")
            self._changed.notify()

    def _end(self) -> None:
        with self._changed:
            self._stop_at = time.monotonic() + GRACE_SECONDS
            self._changed.notify()
        self._thread.join(GRACE_SECONDS)

    def _work(self) -> None:
        while (request := self._next()) is not None:
            self._send(request)
        self._client.close()

    def _next(self) -> OutgoingRequest | None:
        """Return the oldest request, waiting for one; `None` when all is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stop_at is not None)
            if not self._waiting or self._late():
                return None
            return self._waiting.popitem(last=False)[1]

    def _late(self) -> bool:
        return self._stop_at is not None and time.monotonic() >= self._stop_at

    def _send(self, request: OutgoingRequest) -> None:
        """Send one request, again while that may help and nothing newer has come."""
        log = structlog.get_logger()
        for attempt in range(ATTEMPTS):
            answer = self._attempt(request)
            self._counted(self._to, answer.result)
            if answer.result == "sent":
                return
            says = printable(self._mask(answer.says))
            if answer.result == "refused":
                log.warning("a report was refused", to=self._to, reason=says)
                return
            if attempt == 0:
                log.info("a report waits", to=self._to, reason=says)
            delay = self._first_delay_seconds * 2**attempt * random.uniform(0.5, 1.0)  # noqa: S311  # only spreads
            if not self._wait(
                min(max(delay, answer.after_seconds), LONGEST_DELAY_SECONDS), request
            ):
                return
        self._counted(self._to, "dropped")
        log.warning("a report is given up", to=self._to, attempts=ATTEMPTS)

    def _wait(self, seconds: float, request: OutgoingRequest) -> bool:
        """Wait before another attempt, and return whether that is still worth it."""
        with self._changed:
            over = self._changed.wait_for(
                lambda: request.key in self._waiting or self._stop_at is not None, seconds
            )
        return not over

    def _attempt(self, request: OutgoingRequest) -> _Answer:
        """Send a request once; redirects are followed on the same server only."""
        url = httpx.URL(request.url)
        try:
            for _ in range(REDIRECTS + 1):
                with self._client.stream(
                    "POST", url, headers=dict(request.headers), content=request.body
                ) as response:
                    if not response.has_redirect_location:
                        return _judged(response)
                    target = url.join(response.headers["Location"])
                if _origin(target) != _origin(url):
                    return _Answer("refused", f"it redirects to another server, {_origin(target)}")
                url = target
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return _Answer("retried", unreachable(error))
        return _Answer("refused", f"it redirects more than {REDIRECTS} times")


def unreachable(error: Exception) -> str:
    """Return why nothing was answered, in words of ours: those of the library may hold an address.

    >>> unreachable(httpx.ReadTimeout("https://token@example.org"))
    'it did not answer in time'
    """
    match error:
        case httpx.TimeoutException():
            return "it did not answer in time"
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return "it leads to what is no address"
        case httpx.ConnectError():
            return "there is no connection to it"
        case httpx.ProxyError():
            return "the proxy refuses"
        case httpx.RemoteProtocolError() | httpx.DecodingError():
            return "what it answered is no HTTP"
    return f"the connection broke ({type(error).__name__})"


def _origin(url: httpx.URL) -> str:
    """Return scheme, host and port; what is sent to one is sent to no other."""
    return f"{url.scheme}://{url.netloc.decode()}"


def _judged(response: httpx.Response) -> _Answer:
    """Return what an answer means."""
    if response.is_success:
        return _Answer("sent")
    piece = next(response.iter_bytes(READ_BYTES), b"").decode(errors="replace")
    if SAID_ALREADY in piece:
        return _Answer("sent")
    says = f"it answered {response.status_code}: {piece}"
    after = response.headers.get("Retry-After", "")
    if response.status_code in AGAIN or (response.status_code == 403 and after):
        return _Answer("retried", says, float(after) if after.isdecimal() else 0.0)
    return _Answer("refused", says)
