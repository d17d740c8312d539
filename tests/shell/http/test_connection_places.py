"""Places at the listener of a real daemon: slow clients keep neither probes nor others out."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from ipaddress import ip_network
from pathlib import Path

import pytest

from reconciler.shell.http.listener import MOST_CONNECTIONS, RESERVED, SHARE, ConnectionPlaces
from reconciler.shell.http.trusted_proxies import client_of
from tests.cli.test_operation import port_in
from tests.shell.fleet import eventually, new_fleet, running
from tests.shell.servers import PATIENCE_SECONDS, answer_on

ATTACKER, NEIGHBOUR, PROXY, OTHER = "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"
SLOW = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "
TRUST = ("--page-user-header", "X-Forwarded-User", "--page-trusted-proxy", PROXY)


@contextmanager
def daemon_on(folder: Path, *options: str) -> Iterator[int]:
    """Run a daemon that listens; yield its port."""
    fleet = new_fleet(folder / "fleet")
    with running(fleet.folder, "--listen", "0", "--log-format", "json", *options):
        yield port_in(fleet.folder.with_name("fleet.log"))


def ask(port: int, path: str, source: str, header: str = "Accept: */*") -> int:
    """Ask as curl does, from an address of this machine; return the status."""
    with connected(port, source) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())
        return answer_on(connection)[0]


def connected(port: int, source: str) -> socket.socket:
    """Open a connection from an address of this machine."""
    return socket.create_connection(
        ("127.0.0.1", port), timeout=PATIENCE_SECONDS, source_address=(source, 0)
    )


@contextmanager
def slow_clients(
    port: int, number: int, sources: Sequence[str], sent: bytes = SLOW
) -> Iterator[None]:
    """Hold connections whose requests never end, and see them taken."""
    with ExitStack() as stack:
        for index in range(number):
            connection = connected(port, sources[index % len(sources)])
            stack.enter_context(connection).sendall(sent)
        yield


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
@pytest.mark.parametrize("source", [ATTACKER, NEIGHBOUR])
def test_probes_are_answered_beside_slow_clients(tmp_path: Path, path: str, source: str) -> None:
    """From the address of 70 slow clients as from any other."""
    with daemon_on(tmp_path) as port:
        eventually(lambda: ask(port, "/readyz", OTHER) == 200, "the first pass")
        with slow_clients(port, 70, [ATTACKER]):
            assert 200 == ask(port, path, source)


def test_slow_clients_of_one_address_leave_room_for_others(tmp_path: Path) -> None:
    """They have a share; what is beyond it is answered with a sentence, unless it is a probe."""
    with daemon_on(tmp_path) as port, slow_clients(port, 70, [ATTACKER]):
        assert 503 == ask(port, "/metrics", ATTACKER)
        assert 200 == ask(port, "/metrics", NEIGHBOUR)


def test_probes_are_answered_when_every_place_is_taken(tmp_path: Path) -> None:
    """By many addresses, and again and again."""
    with daemon_on(tmp_path) as port, slow_clients(port, 150, [ATTACKER, NEIGHBOUR, OTHER]):
        assert [200] * 40 == [ask(port, "/livez", NEIGHBOUR) for _ in range(40)]
        assert 503 == ask(port, "/metrics", PROXY)


def test_behind_a_trusted_proxy_a_share_is_of_the_forwarded_client(tmp_path: Path) -> None:
    """The proxy itself has none; a header of anybody else counts for nothing."""
    hook = (
        b"POST /hook HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.9.9.9, 192.0.2.7\r\n"
        b"Content-Length: 9\r\nX-Signature: sha256=" + b"0" * 64 + b"\r\n\r\n"
    )
    secret = tmp_path / "secret"
    secret.write_text("correct horse battery staple")
    with (
        daemon_on(tmp_path, *TRUST, "--webhook-secret-file", str(secret)) as port,
        slow_clients(port, SHARE, [PROXY], hook),
    ):
        assert 503 == ask(port, "/metrics", PROXY, "X-Forwarded-For: 10.1.1.1, 192.0.2.7")
        assert 200 == ask(port, "/metrics", PROXY, "X-Forwarded-For: 192.0.2.7, 192.0.2.8")
        assert 200 == ask(port, "/livez", PROXY, "X-Forwarded-For: 192.0.2.7")
        assert 200 == ask(port, "/metrics", NEIGHBOUR, "X-Forwarded-For: 192.0.2.7")


class Cut:
    """A connection that remembers whether it was ended."""

    is_cut = False

    def cut(self) -> None:
        """End it."""
        self.is_cut = True


def test_the_client_with_most_reserved_places_loses_its_oldest() -> None:
    """So who floods crowds out itself, not the probe of somebody else."""
    places = ConnectionPlaces()
    for index in range(MOST_CONNECTIONS):
        places.admit(Cut(), f"192.0.2.{index}")
    probe, flood = Cut(), [Cut() for _ in range(RESERVED + 3)]
    told = [places.admit(probe, "198.51.100.1")]
    told += [places.admit(connection, "203.0.113.1") for connection in flood]

    assert [True] * 4 + [False] * RESERVED == [*(one.is_cut for one in flood), probe.is_cut]
    assert {f"all {MOST_CONNECTIONS} places are taken; ask again in a moment"} == set(told)


def test_a_place_that_is_left_is_free_again() -> None:
    """Also an address of IPv6: its network counts as one client."""
    places = ConnectionPlaces()
    held = [Cut() for _ in range(SHARE)]
    for index, connection in enumerate(held):
        assert "" == places.admit(connection, f"2001:db8::{index:x}")
    assert "this address has" in places.admit(Cut(), "2001:db8::ffff")
    places.leave(held[0])
    assert "" == places.admit(Cut(), "2001:db8::ffff")


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["192.0.2.7"], "192.0.2.7", id="one"),
        pytest.param(["1.1.1.1", "192.0.2.7, 10.0.0.2"], "192.0.2.7", id="last-that-is-no-proxy"),
        pytest.param(["1.1.1.1, unknown"], "", id="no-address"),
        pytest.param(["10.0.0.1"], "", id="proxies-only"),
    ],
)
def test_for_whom_a_proxy_asks(forwarded: list[str], expected: str) -> None:
    """What stands before the proxy's own words is the client's to write."""
    assert expected == client_of(forwarded, [ip_network("10.0.0.0/8")])
