"""The webhook: somebody who knows the secret says that it is worth looking at the branch.

What a payload says is never read, it is only signed: a hook wakes the poll and nothing else. So a
replay, a forged repository name or a flood costs one look at the remote in two seconds.
"""

import asyncio
from collections.abc import Callable, Sequence

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from reconciler.shell.http.hook_signature import HookRefused, RunningHook, signatures_of

BODY_BYTES = 1024 * 1024
BODY_SECONDS = 5.0
COLLAPSE_SECONDS = 2.0  # one push may bring ten hooks
CONTENT_TYPES = ("application/json", "application/x-www-form-urlencoded")

Answered = Callable[[str, int], None]


class Webhook:
    """Answers `POST /hook`; runs in the loop of the listener.

    The body goes through a running HMAC piece by piece and is never kept, nor unpacked.

    Args:
        secrets: Returns what the forge signs with: more than one while it is renewed.
        wake: Makes the daemon look; called once for all hooks of `collapse_seconds`.
        answered: Is told the forge and the status of each answer.
        collapse_seconds: How long hooks are gathered, from the first one on.
        body_seconds: What a body may take to arrive.
    """

    def __init__(
        self,
        secrets: Callable[[], Sequence[str]],
        wake: Callable[[], None],
        answered: Answered,
        *,
        collapse_seconds: float = COLLAPSE_SECONDS,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._secrets = secrets
        self._wake = wake
        self._answered = answered
        self._collapse_seconds = collapse_seconds
        self._body_seconds = body_seconds
        self._gathering = False

    async def answer(self, request: Request) -> Response:
        """Answer one request: 202 if it is signed, else what is wrong with it."""
        provider, status, says = await self._judge(request)
        self._answered(provider, status)
        if status == 202:
            self.ring()
        return PlainTextResponse(f"{says}\n", status)

    def ring(self) -> None:
        """Wake the daemon a little later, once however often this is called until then."""
        if not self._gathering:
            self._gathering = True
            asyncio.get_running_loop().call_later(self._collapse_seconds, self._wake_up)

    def _wake_up(self) -> None:
        self._gathering = False
        self._wake()

    async def _judge(self, request: Request) -> tuple[str, int, str]:
        """Return the forge, the status and a sentence; nothing is read before it looks right."""
        try:
            signatures = signatures_of(request.headers.items())
        except HookRefused as refusal:
            return "unknown", 401, str(refusal)
        provider = signatures[0].scheme.provider
        if refused := _refused_by_head(request):
            return provider, *refused
        try:
            running = RunningHook(signatures, self._secrets())
            whole = await asyncio.wait_for(_read(request, running), self._body_seconds)
        except TimeoutError:
            return provider, 408, f"the body must arrive within {self._body_seconds:g} seconds"
        except ClientDisconnect:
            return provider, 400, "the body must be whole"
        if not whole:
            return provider, 413, f"the body must have at most {BODY_BYTES} bytes"
        try:
            running.check()
        except HookRefused as refusal:
            return provider, 401, str(refusal)
        return provider, 202, "the branch will be looked at"


async def _read(request: Request, running: RunningHook) -> bool:
    """Read the body; return whether it is no longer than it may be."""
    length = 0
    async for piece in request.stream():
        length += len(piece)
        if length > BODY_BYTES:
            return False
        running.update(piece)
    return True


def _refused_by_head(request: Request) -> tuple[int, str] | None:
    """Return the status and the sentence for a request whose head is wrong."""
    headers = request.headers
    if int(headers.get("content-length", "0")) > BODY_BYTES:
        return 413, f"the body must have at most {BODY_BYTES} bytes"
    if headers.get("content-encoding", "identity").lower() != "identity":
        return 415, "the body must not be compressed: Content-Encoding must be absent"
    kind = headers.get("content-type", CONTENT_TYPES[0]).partition(";")[0].strip().lower()
    if kind not in CONTENT_TYPES:
        return 415, f"Content-Type must be {' or '.join(CONTENT_TYPES)}"
    return None
