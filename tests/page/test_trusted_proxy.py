"""A proxy that lets people in: its header counts, from its addresses, and from nowhere else."""

import http.client
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from reconciler.cli.main import run
from reconciler.shell.http.page_access import PageAccess
from tests.cli.options.test_operation import port_in
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import new_fleet, run_pass, running

HEADER = "X-Forwarded-User"
ADA = {HEADER: "ada"}
PROXY, STRANGER = "127.0.0.1", "127.0.0.2"
ACCESS = PageAccess(user_header="x-forwarded-user", proxies=(ip_network("127.0.0.1/32"),))
OPTIONS = ("--page-user-header", HEADER, "--page-trusted-proxy", PROXY)
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A page behind a proxy on 127.0.0.1."""
    fleet = new_fleet(tmp_path_factory.mktemp("proxy") / "fleet")
    run_pass(fleet.folder, 0)
    with served_page(fleet.folder, ACCESS) as found:
        yield found


@pytest.mark.parametrize("path", VIEWS)
def test_whom_the_proxy_names_is_answered(page: ServedPage, path: str) -> None:
    """Every view, plans and what-ifs included, as with a token."""
    assert 200 == page.get(path, headers=ADA, source=PROXY).status


@pytest.mark.parametrize("path", [*VIEWS, "/style.css", "/script.js", "/events"])
def test_a_forged_header_from_another_address_is_refused(page: ServedPage, path: str) -> None:
    """Anybody can write a header; the address of a connection nobody can."""
    assert 403 == page.get(path, headers=ADA, source=STRANGER).status


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Real-IP", "Forwarded"])
def test_an_address_in_a_header_is_not_believed(page: ServedPage, name: str) -> None:
    """The peer is that of the socket."""
    forged = {**ADA, name: PROXY}

    assert 403 == page.get("/faults", headers=forged, source=STRANGER).status


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({HEADER: ""}, id="empty"),
        pytest.param({HEADER: "  "}, id="blank"),
        pytest.param({"X-Forwarded-Email": "ada@example.org"}, id="another"),
    ],
)
def test_who_is_not_named_is_refused(page: ServedPage, headers: dict[str, str]) -> None:
    """The proxy let nobody in."""
    assert 403 == page.get("/faults", headers=headers, source=PROXY).status


def test_a_header_that_came_twice_does_not_count(page: ServedPage) -> None:
    """A proxy that adds its header to that of the client would let in whom the client names."""
    connection = http.client.HTTPConnection(PROXY, page.port, timeout=60)
    connection.putrequest("GET", "/faults")
    for user in ("mallory", "ada"):
        connection.putheader(HEADER, user)
    connection.endheaders()

    assert 403 == connection.getresponse().status
    connection.close()


def test_the_loopback_alone_opens_nothing_behind_a_proxy(page: ServedPage) -> None:
    """A proxy on the same machine sends everybody from there."""
    assert 403 == page.get("/", headers={"host": f"localhost:{page.port}"}).status


def test_a_token_counts_beside_a_proxy(tmp_path: Path) -> None:
    """For scripts that do not come through the proxy; browsers are asked for it."""
    token = "correct horse battery"  # noqa: S105  # of the test
    fleet = new_fleet(tmp_path / "fleet")
    access = PageAccess(token=token, user_header=ACCESS.user_header, proxies=ACCESS.proxies)
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
