"""Servers on the loopback that take reports: a forge by its published contract, or anything."""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema_rs

PUBLISHED = Path(__file__).parent.parent.parent / "fixtures/published"


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


def contract_faults(forge: str, request: Received, *, base: str) -> Sequence[str]:
    """Return what a forge would refuse of a request; `base` stands before its API's paths."""
    contract = json.loads((PUBLISHED / f"commit-status-{forge}.json").read_text(encoding="utf-8"))
    faults = []
    pattern = re.sub(r"\{\w+\}", "[^/]+", contract["path"])
    if not re.fullmatch(base + pattern, request.path):
        faults.append(f"there is no {request.path}")
    if request.method != contract["method"]:
        faults.append(f"it must be {contract['method']}")
    if request.headers["Content-Type"] != "application/json":
        faults.append("it must be JSON")
    schema = _plain(contract["schema"])
    found = jsonschema_rs.Draft202012Validator(schema).iter_errors(request.fields)
    unknown = set(request.fields) - set(schema["properties"])
    return [*faults, *(error.message for error in found), *(f"no field {one}" for one in unknown)]


def _plain(schema: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema: `nullable` is a type there."""
    if isinstance(schema, dict):
        found = {key: _plain(value) for key, value in schema.items() if key != "nullable"}
        if schema.get("nullable"):
            found["type"] = [found["type"], "null"]
        return found
    return schema
