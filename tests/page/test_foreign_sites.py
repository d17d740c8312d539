"""Plans and what-ifs start for people, not for pages of other sites that they look at."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path

import pytest

from reconciler.shell.http.page_access import PageAccess
from tests.page.served import ServedPage, served_page
from tests.shell.fleet import new_fleet, run_pass

COSTLY = ("/plan?branch=main", "/what-if?cordon=member2", "/plan", "/what-if")
TOKEN = "correct horse battery staple"  # noqa: S105  # of tests only
PROXY, STRANGER = "127.0.0.1", "127.0.0.2"
BEHIND = PageAccess(token=TOKEN, user_header="x-user", proxies=(ip_network(PROXY),))
KNOWN = {"authorization": f"Bearer {TOKEN}"}
PUBLIC = {"X-Forwarded-Host": "fleet.example.com"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A page behind a proxy on one address of the loopback."""
    fleet = new_fleet(tmp_path_factory.mktemp("foreign") / "fleet")
    run_pass(fleet.folder, 0)
    with served_page(fleet.folder, BEHIND) as found:
        yield found


def test_a_page_of_another_site_starts_nothing_on_the_loopback(tmp_path: Path) -> None:
    """There no token guards a page; a link or an image of any site would start a process."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
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
