"""Links to the forge: of commits, of files, and where a new file is handed over."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from reconciler.page.forge import NO_FORGE, forge_links
from tests.cli.history import told_fleet
from tests.page.served import served_page
from tests.shell.fleet import new_fleet, reconciler

HOME = "https://git.example.org/acme/fleet"
SHOP = "group=apps&kind=Deployment&namespace=default&name=shop"


def test_commits_files_and_new_files_lead_to_the_forge(tmp_path: Path) -> None:
    """Each by the address that the forge has for it."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder, forge=("github", HOME)) as page:
        paths = (f"/object?{SHOP}", "/timeline", f"/manifest?{SHOP}", f"/rebalance?{SHOP}")
        found = [re.findall(r'href="(https://[^"]+)"', page.get(path).text) for path in paths]

    commit = f"{HOME}/commit/{fleet.head()}"
    assert [commit in found[0], commit in found[1]] == [True, True]
    assert f"{HOME}/blob/main/workloads/shop.yaml" in found[2]
    [new] = found[3]
    asked = parse_qs(urlsplit(new.replace("&amp;", "&")).query)
    assert ["rebalancers/rebalance-shop.yaml"] == asked["filename"]
    assert "kind: WorkloadRebalancer\n" in asked["value"][0]


@pytest.mark.parametrize(
    ("kind", "commits", "file", "new"),
    [
        ("github", f"{HOME}/commit/", f"{HOME}/blob/main/a.yaml", f"{HOME}/new/main"),
        ("gitlab", f"{HOME}/-/commit/", f"{HOME}/-/blob/main/a.yaml", ""),
        ("gitea", f"{HOME}/commit/", f"{HOME}/src/branch/main/a.yaml", ""),
    ],
)
def test_each_forge_has_its_addresses(kind: str, commits: str, file: str, new: str) -> None:
    """Only one of them takes a file in an address."""
    links = forge_links(kind, commits, "main", "")

    assert (file, new) == (links.file("a.yaml"), links.new)


def test_a_long_file_is_not_handed_over_in_an_address() -> None:
    """Servers refuse it; the text stands on the page."""
    links = forge_links("github", f"{HOME}/commit/", "main", "")

    assert ("", True) == (links.new_file("a", "x" * 6000), bool(links.new_file("a", "x" * 5000)))


def test_without_a_forge_nothing_leads_there() -> None:
    """No address is made up."""
    found = (NO_FORGE.commit("0" * 40), NO_FORGE.file("a"), NO_FORGE.new_file("a", "b"))

    assert ("", "", "") == found


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc", "https://a@b/c/d"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, address: str) -> None:
    """Before anything is served."""
    fleet = new_fleet(tmp_path / "fleet")

    found = reconciler(fleet.folder, "serve", "--listen", "0", "--page-forge", "github", address)

    assert 2 == found.code
    assert "the URL of --page-forge must" in found.stderr
