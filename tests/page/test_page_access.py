"""Who may ask the page: people through a proxy, no pages of other sites, whatever bytes come."""

import base64
import http.client
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from structlog.testing import capture_logs

from reconciler.cli.main import run
from reconciler.cli.page.service import open_page
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.daemon.events import DaemonHealth
from reconciler.shell.http.endpoints import _app, new_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.webhook import Webhook
from reconciler.shell.reports.metrics import Metrics
from tests.cli.test_operation import port_in
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import decided_fleet, new_fleet, running
from tests.shell.servers import PATIENCE_SECONDS, SECRET, answer_on

COSTLY = ("/plan?branch=main", "/what-if?cordon=member2", "/plan", "/what-if")
TOKEN = "correct horse battery staple"  # noqa: S105  # of tests only
PROXY, STRANGER = "127.0.0.1", "127.0.0.2"
BEHIND = PageAccess(token=TOKEN, user_header="x-user", proxies=(ip_network(PROXY),))
KNOWN = {"authorization": f"Bearer {TOKEN}"}
PUBLIC = {"X-Forwarded-Host": "fleet.example.com"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A page behind a proxy on one address of the loopback."""
    fleet = decided_fleet(tmp_path_factory.mktemp("foreign") / "fleet")
    with served_page(fleet.folder, BEHIND) as found:
        yield found


def test_a_page_of_another_site_starts_nothing_on_the_loopback(tmp_path: Path) -> None:
    """There no token guards a page; a link or an image of any site would start a process."""
    fleet = decided_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        told = [page.get(path, headers={"Sec-Fetch-Site": "cross-site"}) for path in COSTLY]
        own = {"Origin": f"http://127.0.0.1:{page.port}"}
        assert 200 == page.get("/what-if", headers=own).status

    assert [403] * 4 == [answer.status for answer in told]
    assert "such a page starts no computation" in told[0].text


@pytest.mark.parametrize("path", COSTLY)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="neither-header"),
        pytest.param({"Sec-Fetch-Site": "same-origin"}, 200, id="own-link"),
        pytest.param({"Sec-Fetch-Site": "none"}, 200, id="typed"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 403, id="neighbour-below-the-domain"),
        pytest.param({"Sec-Fetch-Site": "nonsense"}, 403, id="unknown-word"),
        pytest.param(
            {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"}, 200, id="site-wins"
        ),
        pytest.param({"Origin": "https://evil.example"}, 403, id="foreign-origin"),
        pytest.param({"Origin": "null"}, 403, id="null"),
        pytest.param({"Origin": "http://["}, 403, id="no-address"),
        pytest.param({"Origin": "https://fleet.example.com", **PUBLIC}, 200, id="public-host"),
        pytest.param({"Origin": "https://fleet.example.com:443", **PUBLIC}, 200, id="with-port"),
        pytest.param({"Origin": "https://fleet.example.com:8443", **PUBLIC}, 403, id="other-port"),
        pytest.param({"Origin": "https://evil.example", **PUBLIC}, 403, id="not-the-public-host"),
    ],
)
def test_which_site_may_ask(
    page: ServedPage, path: str, headers: Mapping[str, str], status: int
) -> None:
    """What the browser says of it counts, and where it says nothing the origin."""
    assert status == page.get(path, headers={**KNOWN, **headers}, source=PROXY).status


def test_a_host_that_is_forwarded_counts_from_the_proxy_only(page: ServedPage) -> None:
    """Anybody could write the header."""
    headers = {**KNOWN, **PUBLIC, "Origin": "https://fleet.example.com"}

    assert 403 == page.get("/what-if", headers=headers, source=STRANGER).status


def test_views_that_cost_little_may_be_linked_from_anywhere(page: ServedPage) -> None:
    """An address can be sent to a colleague."""
    headers = {**KNOWN, "Sec-Fetch-Site": "cross-site"}

    assert 200 == page.get("/faults", headers=headers, source=PROXY).status


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
    fleet = decided_fleet(tmp_path_factory.mktemp("strange") / "fleet")
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


HEADER = "X-Forwarded-User"
ADA = {HEADER: "ada"}

PROXY_ACCESS = PageAccess(user_header="x-forwarded-user", proxies=(ip_network("127.0.0.1/32"),))
OPTIONS = ("--page-user-header", HEADER, "--page-trusted-proxy", PROXY)
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def proxied_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A page behind a proxy on 127.0.0.1."""
    fleet = decided_fleet(tmp_path_factory.mktemp("proxy") / "fleet")
    with served_page(fleet.folder, PROXY_ACCESS) as found:
        yield found


@pytest.mark.parametrize("path", VIEWS)
def test_whom_the_proxy_names_is_answered(proxied_page: ServedPage, path: str) -> None:
    """Every view, plans and what-ifs included, as with a token."""
    assert 200 == proxied_page.get(path, headers=ADA, source=PROXY).status


@pytest.mark.parametrize("path", [*VIEWS, "/style.css", "/script.js", "/events"])
def test_a_forged_header_from_another_address_is_refused(
    proxied_page: ServedPage, path: str
) -> None:
    """Anybody can write a header; the address of a connection nobody can."""
    assert 403 == proxied_page.get(path, headers=ADA, source=STRANGER).status


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Real-IP", "Forwarded"])
def test_an_address_in_a_header_is_not_believed(proxied_page: ServedPage, name: str) -> None:
    """The peer is that of the socket."""
    forged = {**ADA, name: PROXY}

    assert 403 == proxied_page.get("/faults", headers=forged, source=STRANGER).status


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({HEADER: ""}, id="empty"),
        pytest.param({HEADER: "  "}, id="blank"),
        pytest.param({"X-Forwarded-Email": "ada@example.org"}, id="another"),
    ],
)
def test_who_is_not_named_is_refused(proxied_page: ServedPage, headers: dict[str, str]) -> None:
    """The proxy let nobody in."""
    assert 403 == proxied_page.get("/faults", headers=headers, source=PROXY).status


def test_a_header_that_came_twice_does_not_count(proxied_page: ServedPage) -> None:
    """A proxy that adds its header to that of the client would let in whom the client names."""
    connection = http.client.HTTPConnection(PROXY, proxied_page.port, timeout=60)
    connection.putrequest("GET", "/faults")
    for user in ("mallory", "ada"):
        connection.putheader(HEADER, user)
    connection.endheaders()

    assert 403 == connection.getresponse().status
    connection.close()


def test_the_loopback_alone_opens_nothing_behind_a_proxy(proxied_page: ServedPage) -> None:
    """A proxy on the same machine sends everybody from there."""
    assert 403 == proxied_page.get("/", headers={"host": f"localhost:{proxied_page.port}"}).status


def test_a_token_counts_beside_a_proxy(tmp_path: Path) -> None:
    """For scripts that do not come through the proxy; browsers are asked for it."""
    token = "correct horse battery"  # noqa: S105  # of the test
    fleet = new_fleet(tmp_path / "fleet")
    access = PageAccess(
        token=token, user_header=PROXY_ACCESS.user_header, proxies=PROXY_ACCESS.proxies
    )
    with served_page(fleet.folder, access) as found:
        told = [
            found.get("/faults", headers=headers, source=source).status
            for headers, source in (
                ({"authorization": f"Bearer {token}"}, STRANGER),
                (ADA, PROXY),
                (ADA, STRANGER),
            )
        ]

    assert [200, 200, 401] == told


@pytest.mark.parametrize(
    ("peer", "is_let_in"),
    [
        pytest.param("10.1.0.7", True, id="in-range"),
        pytest.param("10.2.0.7", False, id="outside"),
        pytest.param("::ffff:10.1.0.7", True, id="mapped"),
        pytest.param("2001:db8::1", True, id="ipv6"),
        pytest.param("", False, id="unknown"),
    ],
)
def test_ranges_hold_addresses_of_both_kinds(peer: str, is_let_in: bool) -> None:  # noqa: FBT001  # a row
    """A listener on all of IPv6 sees those of IPv4 mapped."""
    ranges = (ip_network("10.1.0.0/16"), ip_network("2001:db8::/32"))
    access = PageAccess(user_header=HEADER.lower(), proxies=ranges)

    assert is_let_in == (access.refusal(peer, Headers(ADA)) is None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(("header", "X User"), '"X User" must be the name of a header', id="space"),
        pytest.param(("header", "Host"), '"Host" must be a header that the proxy sends', id="all"),
        pytest.param(("proxy", "10.0.0"), '"10.0.0" must be an address or a range', id="address"),
        pytest.param(("proxy", "10.0.0.7/8"), "use 10.0.0.0/8", id="inside"),
        pytest.param(("proxy", "0.0.0.0/0"), '"0.0.0.0/0" covers every address', id="everybody"),
        pytest.param(("header", HEADER), "require each other", id="header-alone"),
        pytest.param(("proxy", PROXY), "require each other", id="proxy-alone"),
    ],
)
@pytest.mark.parametrize("verb", ["serve", "run", "check"])
def test_what_is_no_proxy_is_refused_in_a_sentence(
    tmp_path: Path, capsys: Capsys, verb: str, options: tuple[str, str], says: str
) -> None:
    """Before anything is listened on."""
    fleet = new_fleet(tmp_path / "fleet")
    names = {"header": "--page-user-header", "proxy": "--page-trusted-proxy"}
    words = [names[options[0]], options[1]]

    code = run(["-C", str(fleet.folder), verb, "--listen", "0", *words])
    told = capsys.readouterr()
    assert says in " ".join((told.out + told.err).split())
    assert (1 if verb == "check" and "require each other" in says else 2) == code


def test_the_settings_file_has_it_too(tmp_path: Path, capsys: Capsys) -> None:
    """With the line of what is wrong."""
    fleet, file = new_fleet(tmp_path / "fleet"), tmp_path / "settings.yaml"
    file.write_text(f"listen: 0\npage-user-header: {HEADER}\npage-trusted-proxy: [10.0.0.7/8]\n")

    code = run(["-C", str(fleet.folder), "run", "--settings", str(file)])
    assert 2 == code
    assert ':3: `page-trusted-proxy`: "10.0.0.7/8" is not the start of a range' in (
        capsys.readouterr().err
    )


def test_the_daemon_trusts_the_proxy_of_its_settings(tmp_path: Path) -> None:
    """On all addresses, without a token."""
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"
    file = tmp_path / "settings.yaml"
    file.write_text(
        f'listen: "0.0.0.0:0"\npage-user-header: {HEADER}\npage-trusted-proxy: [{PROXY}]\n'
    )
    with running(fleet.folder, "--settings", str(file), log=log):
        told = {source: status_from(source, port_in(log)) for source in (PROXY, STRANGER)}

    assert 403 == told[STRANGER]
    assert told[PROXY] in (200, 202, 503)  # as far as it has come with its first pass


def status_from(source: str, port: int) -> int:
    """Ask for a view as Ada from an address."""
    connection = http.client.HTTPConnection(PROXY, port, timeout=60, source_address=(source, 0))
    connection.request("GET", "/faults", headers=ADA)
    status = connection.getresponse().status
    connection.close()
    return status
