"""`make pin`: the digest of a base image, from a registry on the loopback."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from release.base_images import digest_at, pinned

DIGEST = "sha256:" + "a" * 64


@contextmanager
def registry(digest: str) -> Iterator[str]:
    """Serve tokens and manifests as Docker's registry does; whoever has no token is refused."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = "scope=repository:library/python:pull" in self.path
            self._answer(200 if wanted else 400, json.dumps({"token": "tok"}).encode())

        def do_HEAD(self) -> None:
            known = self.headers["Authorization"] == "Bearer tok"
            found = self.path == "/v2/library/python/manifests/3.13"
            self._answer(200 if known and found else 401, b"", digest)

        def _answer(self, code: int, body: bytes, digest: str = "") -> None:
            self.send_response(code)
            self.send_header("Docker-Content-Digest", digest)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


def test_each_base_image_gets_its_digest() -> None:
    """In the place of an older one; stages keep their names."""
    before = f"FROM python:3.13@sha256:{'0' * 64} AS build\nRUN true\nFROM debian:13\n"
    expected = f"FROM python:3.13@{DIGEST} AS build\nRUN true\nFROM debian:13@{DIGEST}\n"

    assert expected == pinned(before, lambda _image, _tag: DIGEST)


def test_the_registry_is_asked_with_a_token() -> None:
    """For an image of the library."""
    with registry(DIGEST) as url:
        found = digest_at("python", "3.13", registry=url, tokens=f"{url}/token?service=x")

    assert DIGEST == found


def test_an_answer_without_a_digest_is_refused() -> None:
    """Nothing else may stand in the file."""
    with registry("latest") as url, pytest.raises(ValueError, match="without a digest"):
        digest_at("python", "3.13", registry=url, tokens=f"{url}/token?service=x")
