"""Takes credentials out of what git says, before it is shown or logged."""

import re
from collections.abc import Iterable

USERINFO = re.compile(r"(?<=://)[^/@\s'\"]*@")
QUERY = re.compile(r"(://[^\s?'\"]*\?)[^\s'\"]+")
SCP_PASSWORD = re.compile(r"(?<![\w/.:-])([\w.-]+):[^\s/@:'\"]+(?=@[\w.-]+:)")


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
