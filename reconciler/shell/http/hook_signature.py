"""Who sent a webhook: the signatures of forges, and how they are held against our secret.

A request may carry signatures of several forges (Gitea signs as GitHub does, too): each one that is
there must be right, and stand there once. SHA-1 is never enough.

Source: docs.github.com "Validating webhook deliveries"; docs.gitlab.com "Webhooks", secret token;
docs.gitea.com "Webhooks"; Flux notification-controller docs/spec/v1/receivers.md, generic-hmac.
"""

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass

SHA256_HEX = re.compile(r"[0-9a-fA-F]{64}")
ASKED = "X-Hub-Signature-256, X-Gitea-Signature, X-Gitlab-Token or X-Signature"
OLD = ("x-hub-signature",)  # SHA-1, sent by GitHub and Gitea beside the good one


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
    """

    provider: str
    header: str
    prefix: str = ""
    plain: bool = False


SCHEMES = (
    Scheme("gitlab", "x-gitlab-token", plain=True),
    Scheme("gitea", "x-gitea-signature"),
    Scheme("gitea", "x-forgejo-signature"),
    Scheme("gitea", "x-gogs-signature"),
    Scheme("github", "x-hub-signature-256", prefix="sha256="),
    Scheme("generic", "x-signature", prefix="sha256="),
)


@dataclass(frozen=True, slots=True)
class HookSignature:
    """One signature of a request: how it is made, and the digits or the token, as Latin-1."""

    scheme: Scheme
    given: str


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
    signatures = tuple(_signature(s, found[s.header][0]) for s in SCHEMES if s.header in found)
    if signatures:
        return signatures
    if any(name in found for name in OLD):
        raise HookRefused(f"SHA-1 is refused; send {ASKED}")
    raise HookRefused(f"there is no signature; send {ASKED}")


def _signature(scheme: Scheme, given: str) -> HookSignature:
    """Check the form of a signature; the digits are compared later."""
    if scheme.plain:
        return HookSignature(scheme, given)
    digits = given.removeprefix(scheme.prefix)
    if not given.startswith(scheme.prefix) or not SHA256_HEX.fullmatch(digits):
        raise HookRefused(f"{scheme.header} must be {scheme.prefix}<64 hex digits> of HMAC-SHA256")
    return HookSignature(scheme, digits.lower())


def check(signatures: Iterable[HookSignature], *, secret: bytes, digest: str) -> None:
    """Compare all signatures, in a time that depends on none of them.

    Args:
        signatures: The signatures, one or more.
        secret: What both sides know.
        digest: HMAC-SHA256 of the body by that secret, in hex.

    Raises:
        HookRefused: One of them is wrong.
    """
    right = True
    for signature in signatures:
        wanted = secret if signature.scheme.plain else digest.encode()
        right &= hmac.compare_digest(signature.given.encode("latin-1"), wanted)
    if not right:
        raise HookRefused("the signature is wrong: the secrets differ, or the body was changed")
