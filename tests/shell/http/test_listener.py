"""The listener and its hooks: what it answers, who wakes the daemon, and at which cost."""

import asyncio
import gzip
import hmac
import socket
from base64 import b64encode
from threading import Thread

import pytest

from reconciler.audit.fleet.problems import ProblemCounts
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
from reconciler.shell.http.webhook import BODY_BYTES, Webhook
from reconciler.shell.passes.pass_report import PassReport, summary_of
from reconciler.shell.reading.sources import Heads
from tests.shell.servers import MOMENT, PATIENCE_SECONDS, SECRET, answer_on, served, signed

EMPTY = World(revision="a" * 40, known=KINDS, inputs={}, outputs={})


def finished() -> PassFinished:
    """Return the news of a pass that found nothing to do."""
    heads = Heads("a" * 40, "a" * 40, None)
    report = PassReport(world=EMPTY, outcome=Outcome(), now=MOMENT, heads=heads, commit=None)
    return PassFinished(
        report=summary_of(report, ProblemCounts()),
        world=lambda: EMPTY,
        seconds=0.1,
        moved=True,
        first=True,
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


def standard(key: bytes, identity: str = "7", at: str = "1764201600") -> str:
    """The headers of Standard Webhooks, which GitLab's signing tokens are."""
    made = hmac.new(key, f"{identity}.{at}.".encode() + BODY, "sha256").digest()
    told = f"webhook-id: {identity}\nwebhook-timestamp: {at}\n"
    return f"{told}webhook-signature: v1,{b64encode(made).decode()}"


BODY = b'{"repository": {"clone_url": "https://169.254.169.254/"}}'
GITHUB = f"X-Hub-Signature-256: sha256={signed(BODY)}\nContent-Type: application/json"


@pytest.mark.parametrize(
    ("headers", "provider"),
    [
        pytest.param(GITHUB, "github", id="github"),
        pytest.param(
            f"{GITHUB}\nX-Hub-Signature: sha1={signed(BODY, digest='sha1')}",
            "github",
            id="github-sends-sha1-too",
        ),
        pytest.param(f"X-Gitlab-Token: {SECRET}", "gitlab", id="gitlab"),
        pytest.param(f"X-Gitea-Signature: {signed(BODY)}", "gitea", id="gitea"),
        pytest.param(
            f"{GITHUB}\nX-Gitea-Signature: {signed(BODY)}\nX-Gogs-Signature: {signed(BODY)}",
            "gitea",
            id="gitea-signs-as-others-do",
        ),
        pytest.param(f"X-Signature: sha256={signed(BODY)}", "generic", id="generic"),
        pytest.param(f"X-Hub-Signature: sha256={signed(BODY)}", "bitbucket", id="bitbucket"),
        pytest.param(standard(SECRET.encode()), "gitlab", id="gitlab-signing-token"),
        pytest.param(
            f"{standard(b'other')} {standard(SECRET.encode()).rpartition(' ')[2]}",
            "gitlab",
            id="gitlab-while-it-renews-its-token",
        ),
    ],
)
def test_a_signed_hook_wakes_the_daemon(headers: str, provider: str) -> None:
    """As each forge signs."""
    with served() as listener:
        status, _ = listener.hook(BODY, headers)

        assert 202 == status
        assert listener.woken.wait(PATIENCE_SECONDS)
        series = f'reconciler_webhook_requests_total{{code="202",provider="{provider}"}}'
        assert 1.0 == listener.count(series)


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        pytest.param("", "there is no signature", id="none"),
        pytest.param(f"X-Hub-Signature-256: sha256={signed(b'x')}", "is wrong", id="other-body"),
        pytest.param(
            f"X-Hub-Signature-256: sha256={signed(BODY, key='guessed')}",
            "is wrong",
            id="other-secret",
        ),
        pytest.param("X-Hub-Signature-256: sha256=abc", "64 hex digits", id="short"),
        pytest.param("X-Hub-Signature-256:", "64 hex digits", id="empty"),
        pytest.param(f"X-Hub-Signature-256: {signed(BODY)}", "sha256=<64", id="no-prefix"),
        pytest.param(f"{GITHUB}\n{GITHUB}", "must be there once", id="twice"),
        pytest.param(
            f"X-Hub-Signature-256: sha256={signed(b'x')}, sha256={signed(BODY)}",
            "64 hex digits",
            id="two-in-one",
        ),
        pytest.param(
            f"X-Hub-Signature: sha1={signed(BODY, digest='sha1')}", "SHA-1 is refused", id="sha1"
        ),
        pytest.param(
            f"X-Signature: sha1={signed(BODY, digest='sha1')}", "sha256=<64", id="generic-sha1"
        ),
        pytest.param("X-Gitlab-Token:", "is wrong", id="empty-token"),
        pytest.param(f"X-Gitlab-Token: {SECRET[:-1]}", "is wrong", id="short-token"),
        pytest.param("X-Gitlab-Token: gu\u00e9ssed", "is wrong", id="token-beyond-ascii"),
        pytest.param(
            f"X-Gitlab-Token: {SECRET}\nX-Hub-Signature-256: sha256={signed(b'x')}",
            "is wrong",
            id="one-right-one-wrong",
        ),
        pytest.param(f"X-Gitlab-Token: guessed\n{GITHUB}", "is wrong", id="one-wrong-one-right"),
        pytest.param(standard(b"guessed"), "is wrong", id="standard-with-another-key"),
        pytest.param(
            standard(SECRET.encode()).replace("webhook-id: 7", "webhook-id: 8"),
            "is wrong",
            id="standard-of-another-message",
        ),
        pytest.param(
            standard(SECRET.encode()).partition("\n")[2], "goes with webhook-id", id="no-id"
        ),
        pytest.param(
            f"X-Hub-Signature: sha256={signed(b'x')}", "is wrong", id="bitbucket-other-body"
        ),
        pytest.param(f"X-Hub-Signature: md5={signed(BODY)}", "sha256=<64", id="bitbucket-md5"),
    ],
)
def test_a_hook_that_is_not_signed_well_is_refused(headers: str, says: str) -> None:
    """It says why, not what would have been right, and wakes no one."""
    with served() as listener:
        status, told = listener.hook(BODY, headers)

        assert (401, True) == (status, says in told)
        assert SECRET not in told
        assert signed(BODY) not in told
        assert 202 == listener.hook(BODY, GITHUB)[0]
        assert listener.woken.wait(PATIENCE_SECONDS)
    assert 1 == len(listener.looks)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param("Content-Type: text/plain", 415, id="wrong-content-type"),
        pytest.param("Content-Type: application/x-www-form-urlencoded", 202, id="form"),
        pytest.param("Content-Type: application/json; charset=utf-8", 202, id="parameter"),
        pytest.param("Content-Encoding: gzip", 415, id="gzip"),
        pytest.param("Content-Encoding: identity", 202, id="identity"),
    ],
)
def test_what_a_body_may_be(headers: str, status: int) -> None:
    """Forges send JSON or a form, never compressed."""
    with served() as listener:
        assert status == listener.hook(BODY, f"X-Signature: sha256={signed(BODY)}\n{headers}")[0]


def test_a_compressed_body_is_not_unpacked() -> None:
    """A bomb of a gigabyte is refused by its head, and costs nothing."""
    bomb = gzip.compress(bytes(50_000_000))
    with served() as listener:
        head = f"X-Signature: sha256={signed(bomb)}\nContent-Encoding: gzip"
        assert 415 == listener.hook(bomb, head)[0]


def test_what_is_signed_is_never_parsed() -> None:
    """A body that is no JSON, or nested without end, wakes as any other."""
    with served() as listener:
        for body in (b"", b"\xff\x00", b"[" * 100_000):
            assert 202 == listener.hook(body, f"X-Signature: sha256={signed(body)}")[0]


def test_a_long_body_is_refused_before_it_is_read() -> None:
    """By what its head says: not one byte of the ten gigabytes is sent."""
    with served() as listener:
        head = "POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n"
        signature = f"X-Signature: sha256={signed(b'')}\r\n\r\n"
        assert 413 == listener.send(f"{head}{signature}".encode())[0]


def test_the_longest_body_is_taken() -> None:
    """One byte more is refused."""
    body = bytes(BODY_BYTES)
    with served() as listener:
        assert 202 == listener.hook(body, f"X-Signature: sha256={signed(body)}")[0]
        head = f"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES + 1}\r\n"
        assert 413 == listener.send(f"{head}X-Signature: sha256={signed()}\r\n\r\n".encode())[0]


def test_chunks_without_end_are_refused_while_they_come() -> None:
    """As soon as they are too long, though no length was announced."""
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    with served() as listener, listener.connect() as connection:
        connection.sendall(
            b"POST /hook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            + f"X-Signature: sha256={signed(b'')}\r\n\r\n".encode()
        )
        sent = 0
        try:
            while sent < 100 * BODY_BYTES:
                connection.sendall(chunk)
                sent += 0x10000
        except (BrokenPipeError, ConnectionResetError):
            pass

        assert sent < 100 * BODY_BYTES
        assert 1.0 == listener.count(
            'reconciler_webhook_requests_total{code="413",provider="generic"}'
        )


def test_a_slow_body_is_given_up() -> None:
    """Though the connection is still open."""
    with served(body_seconds=0.05) as listener, listener.connect() as connection:
        connection.sendall(
            b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
            + f"X-Signature: sha256={signed(b'')}\r\n\r\nx".encode()
        )

        assert 408 == answer_on(connection)[0]


def test_a_body_that_breaks_off_wakes_no_one() -> None:
    """The part that came may even be signed."""
    with served() as listener:
        with listener.connect() as connection:
            connection.sendall(
                b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
                + f"X-Signature: sha256={signed(b'x')}\r\n\r\nx".encode()
            )
        while not listener.count(
            'reconciler_webhook_requests_total{code="400",provider="generic"}'
        ):
            assert 200 <= listener.get("/livez")[0]

    assert [] == listener.looks


def test_many_hooks_and_replays_are_one_look() -> None:
    """The same delivery, from several senders at once, within the time in which hooks collapse."""
    with served(collapse_seconds=2.0) as listener:
        threads = [
            Thread(target=lambda: [listener.hook(BODY, GITHUB) for _ in range(25)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert listener.woken.wait(PATIENCE_SECONDS)

        series = 'reconciler_webhook_requests_total{code="202",provider="github"}'
        assert 100.0 == listener.count(series)
        assert 1 == len(listener.looks)


def test_a_hundred_thousand_hooks_are_one_look() -> None:
    """However many come before it is over; the next one begins anew."""
    looks: list[None] = []

    async def flood() -> None:
        woken = asyncio.Event()

        def wake() -> None:
            looks.append(None)
            woken.set()

        hook = Webhook(lambda: (SECRET,), wake, lambda *_: None, collapse_seconds=0.0)
        for _ in range(2):
            for _ in range(100_000):
                hook.ring()
            await woken.wait()
            woken.clear()

    asyncio.run(flood())

    assert 2 == len(looks)


def test_without_a_secret_there_is_no_webhook() -> None:
    """It is not found, rather than open to everybody."""
    with served(secrets=()) as listener:
        assert 404 == listener.hook(BODY, GITHUB)[0]


def test_a_hook_is_posted() -> None:
    """Nothing else."""
    with served() as listener:
        assert 405 == listener.get("/hook")[0]


def test_two_secrets_hold_at_once_while_one_is_renewed() -> None:
    """Of a hook that has two signatures each may be by another; a signing token is in Base64."""
    token = f"whsec_{b64encode(b'a-key-of-thirty-two-bytes-or-so').decode()}"
    key = b"a-key-of-thirty-two-bytes-or-so"
    with served(secrets=(SECRET, token)) as listener:
        answers = [
            listener.hook(BODY, headers)[0]
            for headers in (
                GITHUB,
                standard(key),
                f"X-Gitlab-Token: {SECRET}\n{standard(key)}",
                f"X-Gitlab-Token: {token}\n{standard(key)}",
                f"X-Gitlab-Token: guessed\n{standard(key)}",
                standard(token.encode()),
            )
        ]

    assert [202, 202, 202, 202, 401, 401] == answers
