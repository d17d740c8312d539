"""What a remote's answer means: who must act, and whether a retry helps.

Source: git 2.39 to 2.50 transport.c `print_one_push_status` for the porcelain lines; the rest was
measured against real servers. Messages are in English, since git runs with `LC_ALL=C`.
"""

import re

from reconciler.shell.git.command import Finished, one_line
from reconciler.shell.git.errors import (
    GitError,
    LostRace,
    RemoteMisconfigured,
    RemoteRefused,
    RemoteUnreachable,
)
from reconciler.shell.processes.disk import refusal
from reconciler.shell.processes.machine_limits import limit_said

PREFIX = "remote: "
REFUSED = re.compile(r"^!\t[^\t]*\t\[([^\]]+)\] ?(?:\((.*)\))?", re.MULTILINE)

RACES = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "needs force",
    "already exists",
    "remote ref updated since checkout",
    "incorrect old value provided",
)
LOCKED = (
    "failed to update ref",
    "cannot lock ref",
    "failed to lock",
    "failed to write",
    "unpacker error",
)
ENDED = (
    "invalid index-pack output",
    "unpack-objects died",
    "unpack-objects failed",
    "index-pack died",
    "index-pack failed",
    "did not send all necessary objects",
)
"""What git says where a process of its own gave up what was fetched."""
BROKEN = ("early eof", "unexpected disconnect", "hung up", "rpc failed", "reset by peer")
"""What it says beside it where the connection ended, not the process."""
TOO_SLOW = 124  # what timeout(1) answers
LOST = ("possible repository corruption on the remote side", "not our ref")
OPERATOR = ("branch is currently checked out", "refusing to update checked out branch")

REDIRECTED = (
    "returned error: 301",
    "returned error: 302",
    "returned error: 307",
    "returned error: 308",
)
MISCONFIGURED = (
    "authentication failed",
    "permission denied",
    "returned error: 401",
    "returned error: 403",
    "returned error: 404",
    "does not appear to be a git repository",
    "not found",
    "access denied",
    "host key verification failed",
    "certificate",
    "dubious ownership",
    "service not enabled",
    "not exported",
    "mismatched algorithms",
    "no such file or directory",
    *REDIRECTED,
)
HINTS = (
    ("host key verification failed", "compare its key and add it to --known-hosts-file"),
    ("certificate", "the machine or --ca-file must have the authority that signed it"),
    *((sign, "name the address that it redirects to") for sign in REDIRECTED),
)
"""What git says of a misconfiguration, to what an operator does about it."""
UNNAMED = ("could not read username", "could not read password")
"""What git says where nobody gave it a credential that the remote takes."""
NEEDS_CREDENTIAL = (
    "give a credential that the remote takes (--credential-file FILE or RECONCILER_CREDENTIAL, "
    "with USER:PASSWORD or Bearer TOKEN; for a token of a forge x-access-token:TOKEN)"
)
CHECK = "check the URL and the credentials"
MISCONFIGURED_EXCEPTIONS = ("could not resolve host",)


def answer_to_push(url: str, finished: Finished) -> GitError:
    """Return the error that a push which did not succeed stands for.

    Args:
        url: Without credentials, for the message.
        finished: A command that ended with another code than 0.

    Returns:
        `LostRace`, `RemoteRefused`, `RemoteMisconfigured` or `RemoteUnreachable`. Only with exit
        code 1 and a line about the reference has the remote surely not moved.
    """
    line = REFUSED.search(finished.stdout.decode(errors="replace"))
    if finished.code != 1 or line is None:
        return answer_to_transport(url, finished)
    place, why = line[1], line[2] or ""
    _, theirs = _voices(finished.stderr)
    detail = f"{why}{theirs}"
    if any(race in why for race in RACES):
        return LostRace(f"{url} moved: {why}")
    if any(state in why for state in OPERATOR):
        return RemoteMisconfigured(
            f"{url} has the branch checked out; push to a bare repository or to another branch"
        )
    if place == "remote failure" or any(lock in why for lock in LOCKED):
        return RemoteUnreachable(f"{url} is busy: {detail}")
    return RemoteRefused(f"{url} refused the push ({place}): {detail}")


def answer_to_transport(url: str, finished: Finished) -> GitError:
    """Return the error that a command stands for which got no proper answer from the remote."""
    ours, theirs = _voices(finished.stderr)
    said = f"{one_line(ours) or f'exit code {finished.code}'}{theirs}"
    text = ours.lower()  # a server may print anything: its words decide nothing
    if any(sign in text for sign in LOST):
        return RemoteMisconfigured(
            f"{url}: its repository has lost objects; run git fsck there, and bring back what it "
            f"names from a clone that has it ({said})"
        )
    known = any(sign in text for sign in MISCONFIGURED)
    if any(sign in text for sign in UNNAMED):
        return RemoteMisconfigured(f"{NEEDS_CREDENTIAL}: {url}: {said}; {CHECK}")
    if known and not any(sign in text for sign in MISCONFIGURED_EXCEPTIONS):
        hint = next((hint for sign, hint in HINTS if sign in text), CHECK)
        return RemoteMisconfigured(f"{url}: {said}; {hint}")
    return RemoteUnreachable(f"{url}: {said}")


def is_beyond_limits(finished: Finished) -> bool:
    """Return whether a fetch was given up for what it brought, and not for what lies between.

    Args:
        finished: A command that ended with another code than 0; `TOO_SLOW` if its time was over.
    """
    if finished.code == TOO_SLOW:
        return True
    text = _voices(finished.stderr)[0].lower()
    if any(sign in text for sign in BROKEN) or refusal(text, "") or limit_said(text):
        return False
    return any(sign in text for sign in ENDED)


def _voices(stderr: str) -> tuple[str, str]:
    """Return what git itself said, and what the server printed, marked as its words.

    Git shows the server's lines with a prefix. A carriage return would begin a line without one.
    """
    lines = stderr.split("\n")
    ours = "\n".join(line for line in lines if not line.startswith(PREFIX))
    theirs = one_line(
        "\n".join(line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX))
    )
    return ours, f'; the server says: "{theirs}"' if theirs else ""
