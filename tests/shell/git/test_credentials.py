"""Credentials on the wire: they reach their own host, and nobody else."""

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reconciler.shell.git.command import GitError, RemoteMisconfigured
from reconciler.shell.git.remotes.mirror import Mirror


@contextmanager
def server(
    *, redirect: str = "", asked: list[str] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """A web server that wants a password, then says 403; or one that sends everybody elsewhere.

    Yields:
        The port, and the credentials that it was given so far; `asked` gets every path.
    """
    given: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked is not None:
                asked.append(self.path)
            kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
            if kind == "Basic":
                given.append(base64.b64decode(encoded).decode())
            if redirect:
                self.send_response(302)
                self.send_header("Location", redirect + self.path)
            else:
                self.send_response(403 if kind else 401)
                self.send_header("WWW-Authenticate", 'Basic realm="r"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield http.server_port, given
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("userinfo", "expected"),
    [
        pytest.param("me:p%40w%2F", "me:p@w/", id="user-and-password"),
        pytest.param("tok-123", "tok-123:", id="lone-token"),
        pytest.param("x-access-token:tok", "x-access-token:tok", id="forge-token"),
    ],
)
def test_credentials_of_the_url_arrive(tmp_path: Path, userinfo: str, expected: str) -> None:
    """Decoded, and not in the message of the failure that follows."""
    with (
        server() as (port, given),
        Mirror.open(
            f"http://{userinfo}@127.0.0.1:{port}/r", tmp_path / "m", insecure=True
        ) as mirror,
        pytest.raises(RemoteMisconfigured) as caught,
    ):
        mirror.fetch("main")

    assert expected in given
    for secret in ("p%40w", "p@w", "tok-123"):
        assert secret not in str(caught.value)


def test_credentials_do_not_follow_a_redirect(tmp_path: Path) -> None:
    """The other server asks for a password and gets none."""
    with (
        server() as (evil, stolen),
        server(redirect=f"http://127.0.0.1:{evil}") as (port, _),
        Mirror.open(f"http://me:pw@127.0.0.1:{port}/r", tmp_path / "m", insecure=True) as mirror,
        pytest.raises(GitError),
    ):
        mirror.fetch("main")

    assert [] == stolen


def test_a_token_in_the_query_arrives_and_is_neither_shown_nor_stored(tmp_path: Path) -> None:
    """Git gets it as a setting; arguments, messages and files have the URL without it."""
    asked: list[str] = []
    with (
        server(asked=asked) as (port, _),
        Mirror.open(
            f"http://127.0.0.1:{port}/r?private_token=tok-123", tmp_path / "m", insecure=True
        ) as mirror,
        pytest.raises(GitError) as caught,
    ):
        mirror.fetch("main")

    assert any("private_token=tok-123" in path for path in asked)
    assert "tok-123" not in str(caught.value) + repr(mirror.repository) + repr(mirror.remote)
    stored = [path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()]
    assert not any(b"tok-123" in content for content in stored)
