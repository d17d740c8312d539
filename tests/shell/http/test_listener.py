"""The listener: what it answers, and that no client holds it up."""

import socket

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.dialects import KINDS
from reconciler.errors import ShellError, UsageError
from reconciler.model.world import World
from reconciler.shell.daemon.events import (
    BranchRead,
    LoopTurned,
    PassBegun,
    PassFailed,
    PassFinished,
)
from reconciler.shell.git.command import RemoteUnreachable
from reconciler.shell.http.listener import Address, Listener, parse_address
from reconciler.shell.passes.pass_report import PassReport, summary_of
from reconciler.shell.reading.sources import Heads
from tests.shell.listening import MOMENT, SECRET, served

EMPTY = World(revision="a" * 40, known=KINDS, inputs={}, outputs={})


def finished() -> PassFinished:
    """Return the news of a pass that found nothing to do."""
    heads = Heads("a" * 40, "a" * 40, None)
    report = PassReport(world=EMPTY, outcome=Outcome(), now=MOMENT, heads=heads, commit=None)
    return PassFinished(
        report=summary_of(report), world=lambda: EMPTY, seconds=0.1, moved=True, first=True
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("9440", Address("127.0.0.1", 9440), id="port-alone-is-loopback"),
        pytest.param("0.0.0.0:80", Address("0.0.0.0", 80), id="all-addresses"),  # noqa: S104
        pytest.param("[::]:80", Address("::", 80), id="six"),
        pytest.param("node-1.example:1", Address("node-1.example", 1), id="name"),
    ],
)
def test_where_to_listen(text: str, expected: Address) -> None:
    """A port, or a host and a port."""
    assert expected == parse_address(text)


@pytest.mark.parametrize("text", ["", ":9440", "host", "1:2:3", "65536", "host:-1", "a b:1", "٣"])
def test_what_is_no_address(text: str) -> None:
    """The message says what would be one."""
    with pytest.raises(UsageError, match=r"PORT.*HOST:PORT"):
        parse_address(text)


def test_a_port_in_use_is_told() -> None:
    """With the address, before the daemon begins."""
    with served() as listener, pytest.raises(ShellError, match=f"127.0.0.1:{listener.port}: Addr"):
        Listener(Address("127.0.0.1", listener.port), lambda *_: None).__enter__()  # type: ignore[arg-type]


def test_alive_is_a_loop_that_turns() -> None:
    """From the start on; a loop that does not turn for a quarter of an hour is stuck."""
    with served(poll_seconds=60.0) as listener:
        assert (200, "ok\n") == listener.get("/livez")
        listener.stopwatch.seconds += 961
        status, reason = listener.get("/livez")
        assert (503, "the loop has not turned for 961 seconds; restart the daemon\n") == (
            status,
            reason,
        )
        listener.health(LoopTurned())
        assert (200, "ok\n") == listener.get("/livez")


def test_ready_is_not_before_the_first_pass() -> None:
    """It says so."""
    with served() as listener:
        listener.health(PassBegun("a" * 40))
        assert (503, "no pass has ended yet since the start\n") == listener.get("/readyz")


def test_a_failure_makes_unready_with_its_reason() -> None:
    """Without credentials, in text and in JSON."""
    error = RemoteUnreachable(f"cannot reach https://me:pw@example.com/{SECRET}")
    with served() as listener:
        listener.health(PassFailed(error, 2))

        reason = "the last pass failed, 2 times in a row: cannot reach https://***@example.com/***"
        assert (503, f"{reason}\n") == listener.get("/readyz")
        assert (503, f'{{"ready":false,"reason":"{reason}","warnings":[]}}') == listener.get(
            "/readyz", "application/json"
        )
        assert 200 == listener.get("/livez")[0]


def test_a_branch_that_is_not_read_makes_unready() -> None:
    """After three polls; reading it again makes ready."""
    with served(poll_seconds=60.0) as listener:
        listener.health(finished())
        listener.stopwatch.seconds += 180
        assert (200, "ok\n") == listener.get("/readyz")
        listener.stopwatch.seconds += 1
        assert (503, "the branch was read 181 seconds ago, it must be read each 180\n") == (
            listener.get("/readyz")
        )
        listener.health(BranchRead("a" * 40))
        assert (200, "ok\n") == listener.get("/readyz")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404, id="traversal"),
        pytest.param(b"GET /readyz/ HTTP/1.1\r\nHost: evil\r\n\r\n", 404, id="no-redirect"),
        pytest.param(b"DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405, id="method"),
        pytest.param(b"nonsense\r\n\r\n", 400, id="no-http"),
        pytest.param(
            b"GET /livez HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 70_000,
            400,
            id="endless-header",
        ),
        pytest.param(b"GET /livez HTTP/1.1\r\nHost: a@b:c/\r\n\r\n", 200, id="strange-host"),
    ],
)
def test_strange_requests_are_answered(request_bytes: bytes, status: int) -> None:
    """And the next one, too."""
    with served() as listener:
        assert status == listener.send(request_bytes)[0]
        assert 200 == listener.get("/livez")[0]


def test_a_client_that_never_ends_its_request_is_cut_off() -> None:
    """Each connection has a few seconds for all that it does."""
    with served(connection_seconds=0.05) as listener, listener.connect() as slow:
        slow.sendall(b"GET /livez HTTP/1.1\r\nX: ")
        assert b"" == _rest(slow)


def test_a_connection_has_one_request() -> None:
    """So that an idle client holds nothing."""
    with served() as listener:
        request = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
        assert (200, "ok\n") == listener.send(request, request)


def _rest(connection: socket.socket) -> bytes:
    """Return what comes before the connection ends, however it ends."""
    try:
        return connection.recv(1)
    except ConnectionResetError:
        return b""
