"""The only file that sends reports: in a thread of its own, again where that may help.

Posting a request never waits. What cannot be sent in time is dropped, the oldest first: reports are
news, and the repository has all that they tell.
"""

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx
import structlog

from reconciler.errors import UsageError
from reconciler.model.records import dataclass, field
from reconciler.model.text import printable
from reconciler.shell.git.command import mask_of
from reconciler.shell.processes.signals import Background
from reconciler.version import __version__

ROOM = 256  # requests that wait
ATTEMPTS = 8  # with the delays below, some five minutes
FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 300.0
ANSWER_SECONDS = 10.0
GRACE_SECONDS = 5.0  # at the end, for what still waits
REDIRECTS = 3
LONGEST_ASKED_SECONDS = 3900.0  # a limit of GitHub lasts an hour
LEAST_ASKED_SECONDS = 1.0
SECONDARY_SECONDS = 60.0
MOST_ASKED = 24  # waits that the receiver asks for
LIMITED = frozenset({403, 429, 503})
READ_BYTES = 500  # of an answer that refuses
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
SAID_ALREADY = "Cannot transition status"  # GitLab, of a status that is so already

Counted = Callable[[str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """A POST. Of two with the same `key` only the newer one is still worth sending.

    `signed` returns the headers with a token or a signature; it is asked when the request is sent.
    """

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    key: str
    signed: Callable[[], Mapping[str, str]] = field(default=dict, repr=False)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What became of an attempt: `result` is sent, refused or retried.

    `after_seconds` is how long the receiver asks to be left alone, 0 if it asks for nothing.
    """

    result: str
    says: str = ""
    after_seconds: float = 0.0


class Outbox(Background):
    """Sends requests one after the other while its block lasts.

    Args:
        to: Kind of the receiver, for the log and for counting.
        url: Where it is.
        secrets: What no line of the log may hold.
        counted: Is told the receiver and what became of each request.
        is_renewed: Whether the token may be another one later; then to be unknown is no refusal.
        first_delay_seconds: Before the second attempt; later ones wait twice as long each.
    """

    def __init__(
        self,
        to: str,
        *,
        url: str = "http://127.0.0.1",
        secrets: Collection[str] = (),
        counted: Counted = lambda *_: None,
        is_renewed: bool = False,
        first_delay_seconds: float = FIRST_DELAY_SECONDS,
    ) -> None:
        super().__init__(f"reports to {to}")
        self._to = to
        self._mask = mask_of(secrets)
        self._counted = counted
        self._is_renewed = is_renewed
        self._first_delay_seconds = first_delay_seconds
        self._waiting: OrderedDict[str, OutgoingRequest] = OrderedDict()
        self._changed = threading.Condition()
        self._stop_at: float | None = None
        self._client = new_client(url)

    def post(self, request: OutgoingRequest) -> None:
        """Take a request; never waits."""
        with self._changed:
            self._waiting[request.key] = request
            if len(self._waiting) > ROOM:
                self._waiting.popitem(last=False)
                self._dropped("a report is dropped, since too many wait", waiting=ROOM)
            self._changed.notify()

    def _end(self) -> None:
        with self._changed:
            self._stop_at = time.monotonic() + GRACE_SECONDS
            self._changed.notify()
        self._thread.join(GRACE_SECONDS)

    def _work(self) -> None:
        while (request := self._next()) is not None:
            self._send(request)
        with self._changed:
            for _ in self._waiting:
                self._dropped("a report is dropped, since the daemon ends")
        self._client.close()

    def _dropped(self, why: str, **more: object) -> None:
        """Count and tell a report that is never sent."""
        self._counted(self._to, "dropped")
        structlog.get_logger().warning(why, to=self._to, **more)

    def _next(self) -> OutgoingRequest | None:
        """Return the oldest request, waiting for one; `None` when all is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stop_at is not None)
            late = self._stop_at is not None and time.monotonic() >= self._stop_at
            if late or not self._waiting:
                return None
            return self._waiting.popitem(last=False)[1]

    def _send(self, request: OutgoingRequest) -> None:
        """Send one request, again while that may help and nothing newer has come."""
        log = structlog.get_logger()
        attempt = asked = 0
        while attempt < ATTEMPTS and asked < MOST_ASKED:
            answer = self._attempt(request)
            self._counted(self._to, answer.result)
            if answer.result == "sent":
                return
            says = printable(self._mask(answer.says))
            if answer.result == "refused":
                log.warning("a report was refused", to=self._to, reason=says)
                return
            wait = min(answer.after_seconds, LONGEST_ASKED_SECONDS)
            if wait:
                asked += 1
                log.info("a report waits", to=self._to, reason=says, seconds=round(wait))
            else:
                if attempt == 0:
                    log.info("a report waits", to=self._to, reason=says)
                delay = self._first_delay_seconds * 2**attempt
                wait = min(delay * random.uniform(0.5, 1.0), LONGEST_DELAY_SECONDS)  # noqa: S311  # only spreads
                attempt += 1
            if not self._wait(wait, request):
                if self._is_ending(request):
                    self._dropped("a report is dropped, since the daemon ends")
                return
        self._dropped("a report is given up", attempts=attempt + asked)

    def _is_ending(self, request: OutgoingRequest) -> bool:
        """Return whether nothing newer has come, and nothing more is sent."""
        with self._changed:
            return request.key not in self._waiting

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
                headers = {**request.headers, **request.signed()}
                with self._client.stream(
                    "POST", url, headers=headers, content=request.body
                ) as response:
                    if not response.has_redirect_location:
                        return _judged(response, is_renewed=self._is_renewed)
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


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, whatever a resolver says."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(url: httpx.URL) -> str:
    """Return scheme, host and port; what is sent to one is sent to no other."""
    return f"{url.scheme}://{url.netloc.decode()}"


def _judged(response: httpx.Response, *, is_renewed: bool) -> _Answer:
    if response.is_success:
        return _Answer("sent")
    piece = next(response.iter_bytes(READ_BYTES), b"").decode(errors="replace")
    if SAID_ALREADY in piece:
        return _Answer("sent")
    says = f"it answered {response.status_code}: {piece}"
    after = asked_wait(response.status_code, response.headers, piece, time.time())
    unknown = response.status_code == httpx.codes.UNAUTHORIZED and is_renewed
    if response.status_code in AGAIN or after or unknown:
        return _Answer("retried", says, after)
    return _Answer("refused", says)


def asked_wait(status: int, headers: Mapping[str, str], said: str, now: float) -> float:
    """Return for how many seconds a forge asks to be left alone, 0 if it asks for nothing.

    Args:
        status: Of its answer.
        headers: Of its answer.
        said: The beginning of its answer.
        now: Seconds since 1970, where the answer has no date of its own.

    Source: docs.github.com "Rate limits for the REST API": 403 or 429 with `retry-after`, or with
    `x-ratelimit-reset` once nothing remains, else a minute of a secondary limit; docs.gitlab.com
    "Rate limits": 429 with `Retry-After` and `RateLimit-Reset`.

    >>> limited = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "160"}
    >>> asked_wait(403, limited, "", now=100.0)
    61.0
    """
    if status not in LIMITED:
        return 0.0
    here = _moment(headers.get("date", ""))
    now = now if here is None else here
    after = headers.get("retry-after", "").strip()
    if after.isdecimal():
        return max(float(after), LEAST_ASKED_SECONDS)
    until = _moment(after)
    for prefix in ("x-ratelimit", "ratelimit"):
        reset = headers.get(f"{prefix}-reset", "").strip()
        if until is None and headers.get(f"{prefix}-remaining", "0").strip() == "0":
            until = float(reset) if reset.isdecimal() else None
    if until is not None:
        return max(until - now + 1, LEAST_ASKED_SECONDS)
    return SECONDARY_SECONDS if status != 503 and "rate limit" in said.lower() else 0.0


def _moment(text: str) -> float | None:
    """Return the seconds since 1970 of a date of HTTP, `None` if it is none."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None


def new_client(url: str) -> httpx.Client:
    """Return a client for a server: it asks proxies as the environment says, for the loopback none.

    A token goes there without TLS, so nobody else may see it.

    Args:
        url: Of the server.

    Raises:
        UsageError: The environment names a proxy that cannot be used.
    """
    host = urlsplit(url).hostname or ""
    own = f"[{host}]" if ":" in host else host
    try:
        return httpx.Client(
            timeout=ANSWER_SECONDS,
            follow_redirects=False,
            headers={"User-Agent": f"reconciler/{__version__}"},
            mounts={f"all://{own}": None} if is_loopback(host) else None,
        )
    except (ValueError, ImportError):
        names = "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
        raise UsageError(f"{names} must name a proxy by http:// or https://") from None
