"""Servers on the loopback that take reports: a forge by its contract, or anything."""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str
    headers: Message
    body: bytes

    @property
    def fields(self) -> dict[str, Any]:
        """The body as JSON."""
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass(frozen=True)
class Reply:
    """What a server answers."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Receiver:
    """A server that runs, with all that it got so far."""

    url: str
    received: list[Received] = field(default_factory=list)


@contextmanager
def receiver(*replies: Reply, release: threading.Event | None = None) -> Iterator[Receiver]:
    """Serve replies in order, the last one for ever; `release` holds all of them back."""
    answers = list(replies) or [Reply(201)]
    running = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = Received("POST", self.path, self.headers, self.rfile.read(length))
            running.received.append(request)
            if release is not None:
                release.wait()
            reply = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        running.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            if release is not None:
                release.set()
            http.shutdown()
            thread.join()


@dataclass(frozen=True)
class Contract:
    """How a forge takes the status of a commit: where, in which words, and in which fields.

    `most` is how many characters a text may have, `None` for any number.
    """

    path: str
    states: frozenset[str]
    texts: frozenset[str]
    most: int | None = None


STATUSES = r"/repos/[^/]+/[^/]+/statuses/[^/]+"
CONTRACTS: Mapping[str, Contract] = {
    "github": Contract(
        STATUSES,
        frozenset({"error", "failure", "pending", "success"}),
        frozenset({"target_url", "description", "context"}),
    ),
    "gitlab": Contract(
        r"/projects/[^/]+/statuses/[^/]+",
        frozenset({"pending", "running", "success", "failed", "canceled", "skipped"}),
        frozenset({"ref", "name", "context", "target_url", "description"}),
        most=255,
    ),
    "gitea": Contract(
        STATUSES,
        frozenset({"error", "failure", "pending", "success", "warning"}),
        frozenset({"target_url", "description", "context"}),
    ),
}
"""GitHub's "Create a commit status", GitLab's "Set commit pipeline status", and Gitea's
`CreateStatusOption`, by the documentation of their APIs."""


def contract_faults(forge: str, request: Received, *, base: str) -> Sequence[str]:
    """Return what a forge would refuse of a request; `base` stands before its API's paths."""
    contract, fields = CONTRACTS[forge], request.fields
    texts = {name: value for name, value in fields.items() if name != "state"}
    wrong = {
        f"there is no {request.path}": not re.fullmatch(base + contract.path, request.path),
        "it must be POST": request.method != "POST",
        "it must be JSON": request.headers["Content-Type"] != "application/json",
        f"there is no state {fields.get('state')}": fields.get("state") not in contract.states,
    }
    for name, value in texts.items():
        wrong[f"there is no field {name}"] = name not in contract.texts
        wrong[f"{name} must be a text"] = not isinstance(value, str)
        wrong[f"{name} is too long"] = len(str(value)) > (contract.most or len(str(value)))
    return [fault for fault, found in wrong.items() if found]
