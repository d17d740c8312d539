"""Real servers of remotes on the loopback: git over https with ways to fail, and sshd."""

import base64
import hmac
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from reconciler.shell.daemon.events import DaemonHealth
from reconciler.shell.http.endpoints import new_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.webhook import Webhook
from reconciler.shell.reports.metrics import Metrics
from tests.shell.fleet import eventually
from tests.shell.repositories import ENVIRONMENT

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")


class Trouble(StrEnum):
    """What a web server does instead of serving."""

    NONE = "none"
    STRANGER = "it knows nobody"
    FORBIDDEN = "it forbids"
    AWAY = "it hangs up at once"
    STALL = "it stops in the middle of an answer"
    LOST_ANSWER = "it does what a push asks for, and hangs up"


@dataclass
class WebServer:
    """A web server that runs; `asked` has each path with the Authorization that came along.

    A test sets `trouble`, `credential` (the Authorization that is asked for, `""` for none) and
    `elsewhere` (the server that everything is redirected to) and `renamed` (of a path, what
    redirects here replace) while it runs.
    """

    base: Path
    port: int = 0
    scheme: str = "https"
    credential: str = ""
    elsewhere: str = ""
    renamed: tuple[str, str] = ("", "")
    trouble: Trouble = Trouble.NONE
    asked: list[tuple[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Address of the folder of repositories."""
        return f"{self.scheme}://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    """Hands requests to git's own CGI program."""

    web: WebServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._body())

    def _answer(self, body: bytes) -> None:
        web, trouble = self.web, self.web.trouble
        given = self.headers.get("Authorization", "")
        web.asked.append((self.path, given))
        self.close_connection = True
        if trouble is Trouble.AWAY:
            return
        if web.elsewhere:
            self._refuse(302, "Location", web.elsewhere + self.path)
        elif web.renamed[0] and self.path.startswith(web.renamed[0]):
            self._refuse(302, "Location", web.url + self.path.replace(*web.renamed))
        elif trouble is Trouble.STRANGER or (web.credential and given != web.credential):
            self._refuse(401, "WWW-Authenticate", 'Basic realm="r"')
        elif trouble is Trouble.FORBIDDEN:
            self._refuse(403, "X-Why", "no")
        else:
            self._serve(body)

    def _refuse(self, code: int, header: str, value: str) -> None:
        self.send_response(code)
        self.send_header(header, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _serve(self, body: bytes) -> None:
        web = self.web
        path, _, query = self.path.partition("?")
        variables = {
            "GIT_PROJECT_ROOT": str(web.base),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_USER": "somebody",  # whom the server knows may push
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        finished = subprocess.run(
            ["git", "http-backend"],
            env={**ENVIRONMENT, **variables},
            input=body,
            capture_output=True,
            check=False,
        )
        if web.trouble is Trouble.LOST_ANSWER and path.endswith("/git-receive-pack"):
            return
        head, _, content = finished.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().splitlines()]
        status = next((value for name, value in headers if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if web.trouble is Trouble.STALL and path.endswith("/git-upload-pack"):
            self.wfile.write(content[: len(content) // 2])
            web.released.wait()
            return
        self.wfile.write(content)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        return body

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing: clients hang up, and so does the server."""


@contextmanager
def web_server(base: Path, *, certificate: "Certificate | None" = None) -> Iterator[WebServer]:
    """Serve the repositories of a folder, by http without a certificate."""
    web = WebServer(base, scheme="http" if certificate is None else "https")
    handler = type("Handler", (_Handler,), {"web": web})
    with _Quiet(("127.0.0.1", 0), handler) as http:
        web.port = http.server_port
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.file, certificate.key)
            http.socket = context.wrap_socket(
                http.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield web
        finally:
            web.released.set()
            http.shutdown()
            thread.join()


@dataclass(frozen=True)
class Certificate:
    """A certificate for the loopback that signs itself, so it is its own authority."""

    file: Path
    key: Path


def new_certificate(folder: Path) -> Certificate:
    """Make a certificate."""
    made = Certificate(folder / "server.pem", folder / "server.key")
    run_quietly(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-keyout", str(made.key)),
        *("-addext", "subjectAltName=IP:127.0.0.1", "-out", str(made.file)),
    )
    return made


def basic(user: str, password: str) -> str:
    """Return the Authorization of a user."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@dataclass(frozen=True)
class SshServer:
    """An sshd that runs, and what a client needs: its key, and the key of the host."""

    address: str
    key: Path
    known_hosts: Path
    other_key: Path
    other_hosts: Path

    def url(self, repository: Path) -> str:
        """Address of a repository."""
        return f"{self.address}{repository}"


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Run sshd on a free port for this user, with keys that are made for it."""
    if SSHD is None:
        pytest.skip("there is no sshd: apt-get install openssh-server")
    folder.mkdir()
    host, person, stranger = (_new_key(folder / name) for name in ("host", "person", "stranger"))
    (folder / "authorized").write_text(person.with_suffix(".pub").read_text())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {host}\nPidFile none\n"
        f"AuthorizedKeysFile {folder / 'authorized'}\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where it locks itself up, if it may
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=log)

    def listens() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        eventually(listens, "sshd")
        yield SshServer(
            address=f"ssh://{_user()}@127.0.0.1:{port}",
            key=person,
            known_hosts=_known_hosts(folder / "known", port, host),
            other_key=stranger,
            other_hosts=_known_hosts(folder / "other", port, stranger),
        )
    finally:
        process.kill()
        process.wait()


def _new_key(file: Path) -> Path:
    run_quietly("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file))
    return file


def _known_hosts(file: Path, port: int, key: Path) -> Path:
    file.write_text(f"[127.0.0.1]:{port} {key.with_suffix('.pub').read_text()}")
    return file


def _user() -> str:
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


def run_quietly(*arguments: str) -> None:
    """Run a program that must succeed."""
    finished = subprocess.run(arguments, capture_output=True, check=False)
    assert 0 == finished.returncode, finished.stderr.decode()


SECRET = "correct horse battery staple"  # noqa: S105  # of tests only
MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PATIENCE_SECONDS = 60.0


@dataclass
class Stopwatch:
    """Seconds that a test sets by hand."""

    seconds: float = 0.0

    def __call__(self) -> float:
        """Return the seconds that were set."""
        return self.seconds


@dataclass
class Served:
    """A listener that runs; `looks` counts how often the daemon was woken."""

    port: int
    health: DaemonHealth
    metrics: Metrics
    stopwatch: Stopwatch
    looks: list[None] = field(default_factory=list)
    woken: Event = field(default_factory=Event)

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)

    def send(self, *pieces: bytes) -> tuple[int, str]:
        """Send bytes as they are; return status and body of the answer."""
        with self.connect() as connection:
            for piece in pieces:
                connection.sendall(piece)
            return answer_on(connection)

    def get(self, path: str, accept: str = "*/*") -> tuple[int, str]:
        """Ask for a path as curl does."""
        return self.send(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n".encode())

    def hook(self, body: bytes = b"{}", headers: str = "") -> tuple[int, str]:
        """Send a hook; `headers` stand line by line, beside the length of the body."""
        return self.send(hook_request(body, headers))

    def count(self, series: str) -> float:
        """Return the value of one series, 0 if there is none."""
        found = re.search(
            rf"^{re.escape(series)} (\S+)$", self.metrics.text().decode(), re.MULTILINE
        )
        return float(found[1]) if found else 0.0


def answer_on(connection: socket.socket) -> tuple[int, str]:
    """Read all that a server sends until it closes; return status and body."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def hook_request(body: bytes, headers: str) -> bytes:
    """Return the bytes of a hook."""
    lines = "".join(f"{line.strip()}\r\n" for line in headers.splitlines() if line.strip())
    head = f"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    return head.encode() + body


def signed(body: bytes = b"{}", *, key: str = SECRET, digest: str = "sha256") -> str:
    """Return the HMAC of a body in hex."""
    return hmac.new(key.encode(), body, digest).hexdigest()


@contextmanager
def served(
    *,
    secrets: tuple[str, ...] = (SECRET,),
    poll_seconds: float = 60.0,
    connection_seconds: float = PATIENCE_SECONDS,
    collapse_seconds: float = 0.0,
    body_seconds: float = PATIENCE_SECONDS,
) -> Iterator[Served]:
    """Serve while the block lasts; without `secrets` there is no webhook."""
    stopwatch = Stopwatch()
    health = DaemonHealth(poll_seconds=poll_seconds, stopwatch=stopwatch)
    metrics = Metrics(lambda _: MOMENT)
    running = Served(0, health, metrics, stopwatch)

    def wake() -> None:
        running.looks.append(None)
        running.woken.set()

    hook = Webhook(
        lambda: secrets,
        wake,
        metrics.hook_answered,
        collapse_seconds=collapse_seconds,
        body_seconds=body_seconds,
    )
    app = new_app(health, metrics, hook if secrets else None, secrets=(SECRET,))
    address = Address("127.0.0.1", 0)
    with Listener(address, app, connection_seconds=connection_seconds) as listener:
        running.port = listener.address.port
        yield running


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
