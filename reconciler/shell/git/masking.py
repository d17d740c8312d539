"""Takes credentials out of what is said, before it is shown, logged or sent."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

USERINFO = re.compile(r"(?<=://)[^/@\s'\"]*@")
QUERY = re.compile(r"(://[^\s?'\"]*\?)[^\s'\"]+")
SCP_PASSWORD = re.compile(r"(?<![\w/.:-])([\w.-]+):[^\s/@:'\"]+(?=@[\w.-]+:)")

SHORTEST_BASE64 = 4  # what is shorter is found in ordinary words


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` in which secrets are `***`.

    Secrets are `secrets`, the user info and the query of a URL, and a password before a host.

    >>> masked("cannot reach 'https://me:token@example.com/r'")
    "cannot reach 'https://***@example.com/r'"
    >>> masked("https://example.com/r?token=abc and me:abc@example.com:r")
    'https://example.com/r?*** and me:***@example.com:r'
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    text = QUERY.sub(r"\1***", USERINFO.sub("***@", text))
    return SCP_PASSWORD.sub(r"\1:***", text)


def mask_of(secrets: Collection[str]) -> Callable[[str], str]:
    """Return what masks these secrets in any form, as they are by then."""
    known: tuple[str, ...] = ()
    hidden: list[str] = []

    def mask(text: str) -> str:
        nonlocal known, hidden
        if (found := tuple(secrets)) != known:
            known, hidden = found, [form for secret in found for form in forms_of(secret)]
        return masked(text, hidden)

    return mask


@dataclass(frozen=True, slots=True)
class HiddenTexts(Collection[str]):
    """What must not be shown, of several sources; each is asked whenever it matters."""

    sources: tuple[Iterable[str], ...]

    def __iter__(self) -> Iterator[str]:
        """Yield each text."""
        for source in self.sources:
            yield from source

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(1 for _ in self)

    def __contains__(self, text: object) -> bool:
        """Return whether a text is one of them."""
        return any(one == text for one in self)


def forms_of(secret: str) -> tuple[str, ...]:
    """Return a secret as it may be written, the longest first: encoded for a URL, JSON, Base64.

    In Base64 the first and the last digits depend on what stands beside it, so they are left out,
    and there is a form for each of the three places where it may begin.

    >>> forms_of("p/w")
    ('p%2Fw', 'cC93', 'p/w')
    """
    raw = secret.encode()
    forms = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}
    forms.add(json.dumps(secret)[1:-1])
    for encode in (b64encode, urlsafe_b64encode):
        for shift in range(3):
            digits = encode(bytes(shift) + raw).decode().rstrip("=")
            whole = digits[(8 * shift + 5) // 6 : 8 * (shift + len(raw)) // 6]
            if len(whole) >= SHORTEST_BASE64:
                forms.add(whole)
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))
