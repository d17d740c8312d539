"""Who sent a webhook: the signatures of forges, and how they are held against our secret.

A request may carry signatures of several forges (Gitea signs as GitHub does, too): each one that is
there must be right by a secret of ours, and stand there once. SHA-1 is never enough.

Source: docs.github.com "Validating webhook deliveries"; docs.gitlab.com "Webhooks", secret token
and signing tokens, which are those of standardwebhooks.com; docs.gitea.com "Webhooks";
support.atlassian.com "Manage webhooks", confluence.atlassian.com "Manage webhooks", securing;
Flux notification-controller docs/spec/v1/receivers.md, generic-hmac.
"""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    for scheme in SCHEMES:
        if len(found.get(scheme.header, ())) > 1:
            raise HookRefused(f"{scheme.header} must be there once")
    old = found.get(HUB, [""])[0].startswith(SHA1)
    if old:
        del found[HUB]
    signatures = tuple(_signature(s, found) for s in SCHEMES if s.header in found)
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
            for salt in {one.salt for one in signatures}
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
        """Return whether a signature was made with a secret."""
        scheme, running = signature.scheme, self._running[signature.salt, secret]
        if scheme.plain:
            wanted = secret.encode()
        elif scheme.standard:
            wanted = b"v1," + b64encode(running.digest())
        else:
            wanted = running.hexdigest().encode()
        given = signature.given.split(" ") if scheme.standard else [signature.given]
        found = False
        for one in given:
            found |= hmac.compare_digest(one.encode("latin-1"), wanted)
        return found


def _key(secret: str) -> bytes:
    """Return the key of Standard Webhooks: the bytes that stand in Base64 behind a prefix."""
    if not secret.startswith(KEY_PREFIX):
        return secret.encode()
    try:
        return b64decode(secret.removeprefix(KEY_PREFIX), validate=True)
    except ValueError:
        return secret.encode()
