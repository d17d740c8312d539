"""Real servers of remotes on the loopback: git over https with ways to fail, and sshd."""

import base64
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

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
