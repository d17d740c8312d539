"""The webhook: somebody who knows the secret says that it is worth looking at the branch.

What a payload says is never read, it is only signed: a hook wakes the poll and nothing else. So a
replay, a forged repository name or a flood costs one look at the remote in two seconds.

A request may carry signatures of several forges (Gitea signs as GitHub does, too): each one that is
there must be right by a secret of ours, and stand there once. SHA-1 is never enough.

Source: docs.github.com "Validating webhook deliveries"; docs.gitlab.com "Webhooks", secret token
and signing tokens, which are those of standardwebhooks.com; docs.gitea.com "Webhooks";
support.atlassian.com "Manage webhooks", confluence.atlassian.com "Manage webhooks", securing;
Flux notification-controller docs/spec/v1/receivers.md, generic-hmac.
"""

import asyncio
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from reconciler.model.records import dataclass

SHA256_HEX = re.compile(r"[0-9a-fA-F]{64}")
ASKED = "X-Hub-Signature-256, X-Gitea-Signature, X-Gitlab-Token, webhook-signature or X-Signature"
HUB = "x-hub-signature"
"""Of Bitbucket with SHA-256; of GitHub and Gitea with SHA-1, beside the good one."""
SHA1 = "sha1="
STANDARD = "webhook-signature"
KEY_PREFIX = "whsec_"
LONGEST_HEADER = 4096


class HookRefused(Exception):
    """The request is not from somebody who knows the secret; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a forge signs.

    Attributes:
        provider: Our word for the forge.
        header: Where its signature stands, in lower case.
        prefix: What stands before the hex digits.
        plain: Whether it is the secret itself, not a digest.
        standard: Whether it is of Standard Webhooks: in Base64, its id and its moment before the
            body, its key in Base64 behind `whsec_`.
    """

    provider: str
    header: str
    prefix: str = ""
    plain: bool = False
    standard: bool = False


SCHEMES = (
    Scheme("gitlab", "x-gitlab-token", plain=True),
    Scheme("gitlab", STANDARD, standard=True),
    Scheme("gitea", "x-gitea-signature"),
    Scheme("gitea", "x-forgejo-signature"),
    Scheme("gitea", "x-gogs-signature"),
    Scheme("github", "x-hub-signature-256", prefix="sha256="),
    Scheme("bitbucket", HUB, prefix="sha256="),
    Scheme("generic", "x-signature", prefix="sha256="),
)


@dataclass(frozen=True, slots=True)
class HookSignature:
    """One signature of a request: how it is made, and the digits or the token, as Latin-1.

    `salt` is what is signed before the body. Of Standard Webhooks several are given, by blanks.
    """

    scheme: Scheme
    given: str
    salt: bytes = b""


def signatures_of(headers: Iterable[tuple[str, str]]) -> tuple[HookSignature, ...]:
    """Return the signatures of a request, the one that names its forge first.

    Args:
        headers: Names in lower case with their values, as often as they stand there.

    Raises:
        HookRefused: There is none, one stands there twice, or one is not as long as it must be.
    """
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value)
    for scheme in SCHEMES:
        if len(values.get(scheme.header, ())) > 1:
            raise HookRefused(f"{scheme.header} must be there once")
    old = values.get(HUB, [""])[0].startswith(SHA1)
    if old:
        del values[HUB]
    signatures = tuple(_signature(s, values) for s in SCHEMES if s.header in values)
    if signatures:
        return signatures
    if old:
        raise HookRefused(f"SHA-1 is refused; send {ASKED}")
    raise HookRefused(f"there is no signature; send {ASKED}")


def _signature(scheme: Scheme, found: Mapping[str, Sequence[str]]) -> HookSignature:
    """Check the form of a signature; the digits are compared later."""
    given = found[scheme.header][0]
    if scheme.plain:
        return HookSignature(scheme, given)
    if scheme.standard:
        return HookSignature(scheme, given, _salt(found))
    digits = given.removeprefix(scheme.prefix)
    if not given.startswith(scheme.prefix) or not SHA256_HEX.fullmatch(digits):
        raise HookRefused(f"{scheme.header} must be {scheme.prefix}<64 hex digits> of HMAC-SHA256")
    return HookSignature(scheme, digits.lower())


def _salt(found: Mapping[str, Sequence[str]]) -> bytes:
    """Return what Standard Webhooks sign before the body."""
    parts = []
    for name in ("webhook-id", "webhook-timestamp"):
        values = found.get(name, ())
        if len(values) != 1 or len(values[0]) > LONGEST_HEADER:
            raise HookRefused(f"{STANDARD} goes with {name}, once")
        parts.append(f"{values[0]}.".encode("latin-1"))
    return b"".join(parts)


class RunningHook:
    """Takes a body piece by piece, and holds the signatures against the secrets at its end.

    Args:
        signatures: Of the request, one or more.
        secrets: What both sides know: several while one of them is renewed.
    """

    def __init__(self, signatures: Sequence[HookSignature], secrets: Sequence[str]) -> None:
        self._signatures = signatures
        self._secrets = secrets
        self._running = {
            (salt, secret): hmac.new(_key(secret) if salt else secret.encode(), salt, "sha256")
            for salt in {signature.salt for signature in signatures}
            for secret in secrets
        }

    def update(self, piece: bytes) -> None:
        """Take a piece of the body."""
        for running in self._running.values():
            running.update(piece)

    def check(self) -> None:
        """Compare all signatures with all secrets, in a time that depends on none of them.

        Raises:
            HookRefused: One of them is wrong.
        """
        right = True
        for signature in self._signatures:
            fits = False
            for secret in self._secrets:
                fits |= self._fits(signature, secret)
            right &= fits
        if not right:
            raise HookRefused("the signature is wrong: the secrets differ, or the body was changed")

    def _fits(self, signature: HookSignature, secret: str) -> bool:
        scheme, running = signature.scheme, self._running[signature.salt, secret]
        if scheme.plain:
            wanted = secret.encode()
        elif scheme.standard:
            wanted = b"v1," + b64encode(running.digest())
        else:
            wanted = running.hexdigest().encode()
        given = signature.given.split(" ") if scheme.standard else [signature.given]
        fits = False
        for made in given:
            fits |= hmac.compare_digest(made.encode("latin-1"), wanted)
        return fits


def _key(secret: str) -> bytes:
    """Return the key of Standard Webhooks: the bytes that stand in Base64 behind a prefix."""
    if not secret.startswith(KEY_PREFIX):
        return secret.encode()
    try:
        return b64decode(secret.removeprefix(KEY_PREFIX), validate=True)
    except ValueError:
        return secret.encode()


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
