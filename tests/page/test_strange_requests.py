"""Requests of strangers: whatever bytes they hold, no answer is a mistake and no line is logged."""

import base64
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from structlog.testing import capture_logs

from reconciler.cli.page.service import open_page
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.daemon.events import DaemonHealth
from reconciler.shell.http.endpoints import _app, new_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.webhook import Webhook
from reconciler.shell.reports.metrics import Metrics
from tests.page.served import VIEWS
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.listening import PATIENCE_SECONDS, SECRET, answer_on

MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HEADERS = [
    "authorization",
    "host",
    "cookie",
    "accept",
    "origin",
    "sec-fetch-site",
    "x-forwarded-user",
    "x-forwarded-for",
    "x-forwarded-host",
    "last-event-id",
    "content-length",
    "content-type",
    "content-encoding",
    "expect",
    "transfer-encoding",
    "upgrade",
    "connection",
    "x-gitlab-token",
    "x-gitea-signature",
    "x-hub-signature",
    "x-hub-signature-256",
    "x-signature",
]
PATHS = (*(view.partition("?")[0] for view in VIEWS), "/hook", "/livez", "/readyz", "/metrics")
ACCESS = PageAccess(
    token=SECRET, user_header="x-forwarded-user", proxies=(ip_network("127.0.0.1"),)
)

VALUES = st.binary(max_size=40).map(lambda data: bytes(c for c in data if c not in b"\r\n\x00"))
BASIC = st.one_of(VALUES, VALUES.map(base64.b64encode)).map(lambda value: b"Basic " + value)
TYPICAL = st.sampled_from(
    [b"Bearer \xff", b"sha256=" + b"0" * 64, b"http://[", b"[", b"[::1", b"1" * 400, b"\xd9\xa3"]
)
LINES = st.lists(
    st.one_of(
        st.tuples(st.just("authorization"), BASIC),
        st.tuples(st.sampled_from(HEADERS), st.one_of(VALUES, TYPICAL)),
    ),
    max_size=4,
)
TAILS = st.binary(max_size=20).map(lambda data: "".join(f"%{byte:02x}" for byte in data))
NAMES = st.sampled_from(
    [
        "name",
        "kind",
        "group",
        "namespace",
        "selector",
        "page",
        "at",
        "from",
        "branch",
        "fail",
        "scale",
    ]
)
QUERIES = st.lists(st.tuples(NAMES, TAILS), max_size=3).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a listener that has all that a daemon's has."""
    fleet = new_fleet(tmp_path_factory.mktemp("strange") / "fleet")
    run_pass(fleet.folder, 0)
    metrics = Metrics(lambda _: MOMENT)
    hook = Webhook(lambda: (SECRET,), lambda: None, metrics.hook_answered, body_seconds=0.05)
    health = DaemonHealth(poll_seconds=1e9, stopwatch=lambda: 0.0)
    with open_page(fleet.folder, "main", RepositoryLayout(), ACCESS) as page:
        app = new_app(health, metrics, hook, secrets=(SECRET,), page=page)
        with Listener(Address("127.0.0.1", 0), app, connection_seconds=5.0) as listener:
            yield listener.address.port


def status_of(port: int, sent: bytes) -> int:
    """Send bytes, and no more; return the status of the answer, 0 for none."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return int(received.split()[1]) if received else 0


@settings(max_examples=150)
@given(
    method=st.sampled_from(["GET", "HEAD", "POST"]),
    path=st.sampled_from(PATHS),
    tail=st.one_of(st.just(""), TAILS),
    query=QUERIES,
    lines=LINES,
)
def test_no_request_makes_a_mistake(
    port: int, method: str, path: str, tail: str, query: str, lines: list[tuple[str, bytes]]
) -> None:
    """Whatever its path, query and headers hold; strangers write no lines into the log."""
    head = f"{method} {path}{tail}?{query} HTTP/1.1\r\nHost: x\r\n".encode()
    sent = head + b"".join(name.encode() + b": " + value + b"\r\n" for name, value in lines)
    with capture_logs() as logged:
        status = status_of(port, sent + b"\r\n")

    unready = path == "/readyz" and status == 503
    assert unready or status < 500, sent
    assert [] == logged


@pytest.mark.parametrize(
    "given_bytes",
    [
        pytest.param(b"Basic \xff\xfe", id="byte-above-127"),
        pytest.param(b"Basic " + base64.b64encode(b"\xff:\xff"), id="no-utf-8"),
        pytest.param(b"Basic YQ", id="no-padding"),
        pytest.param(b"Bearer \xe9", id="bearer"),
    ],
)
def test_credentials_that_cannot_be_read_are_unknown(port: int, given_bytes: bytes) -> None:
    """401, as for any wrong token, and no line in the log."""
    with capture_logs() as logged:
        status = status_of(
            port, b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: " + given_bytes + b"\r\n\r\n"
        )

    assert (401, []) == (status, logged)


def test_a_mistake_is_logged_once() -> None:
    """However often somebody asks for it, and whatever the words of the request in it."""

    async def fail(request: Request) -> Response:
        raise KeyError(request.url.query)

    app: Starlette = _app([Route("/", fail)])
    with capture_logs() as logged, Listener(Address("127.0.0.1", 0), app) as listener:
        for word in "abc":
            with socket.create_connection(("127.0.0.1", listener.address.port)) as connection:
                connection.sendall(f"GET /?{word} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                assert 500 == answer_on(connection)[0]

    assert ["a request failed for a mistake of the reconciler itself"] == [
        line["event"] for line in logged
    ]
