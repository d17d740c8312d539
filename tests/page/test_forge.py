"""Links to the forge: of commits, of files, and where a new file is handed over."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from reconciler.page.links import NO_FORGE, ForgeLinks, forge_links
from tests.cli.history import SCALED, told_fleet
from tests.page.served import served_page
from tests.shell.fleet import new_fleet, reconciler, run_pass

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


NEW = {"github": "new/", "gitlab": "-/new/", "gitea": "_new/"}
NAMES = {
    "github": ("filename", "value"),
    "gitlab": ("file_name", "content"),
    "gitea": ("filename", "value"),
}


def links_of(kind: str) -> ForgeLinks:
    """Return the links of a forge of a kind."""
    commits = f"{HOME}/-/commit/" if kind == "gitlab" else f"{HOME}/commit/"
    return forge_links(kind, commits, "main", "")


@pytest.mark.parametrize(
    ("kind", "file"),
    [("github", "blob/main"), ("gitlab", "-/blob/main"), ("gitea", "src/branch/main")],
)
def test_each_forge_has_its_addresses(kind: str, file: str) -> None:
    """Of a file, and of the page for a new one, which is told its path and its text."""
    links, [path, text] = links_of(kind), NAMES[kind]
    address, _, asked = links.new_file("a b.yaml", "kind: <b>&\n").partition("?")

    assert f"{HOME}/{file}/a.yaml" == links.file("a.yaml")
    assert f"{HOME}/{NEW[kind]}main" == address
    assert {path: ["a b.yaml"], text: ["kind: <b>&\n"]} == parse_qs(asked)


@pytest.mark.parametrize(
    ("kind", "subject", "expected"),
    [
        pytest.param("github", "Merge pull request #12 from ada/scale", "pull/12", id="merge"),
        pytest.param("github", "Scale the shop (#7)", "pull/7", id="squash"),
        pytest.param("github", "Revert (#7) in part", None, id="in-the-middle"),
        pytest.param("github", "Merge pull request #0x1 from a", None, id="no-number"),
        pytest.param("github", "Merge pull request #12/../../x from a", None, id="no-path"),
        pytest.param(
            "gitlab", "Scale; See merge request acme/fleet!3", "-/merge_requests/3", id="lab"
        ),
        pytest.param("gitlab", "Scale the shop (#7)", None, id="issue-of-gitlab"),
        pytest.param(
            "gitea", "Merge pull request 'Scale' (#5) from scale into main", "pulls/5", id="tea"
        ),
    ],
)
def test_a_merge_leads_to_its_pull_request(kind: str, subject: str, expected: str | None) -> None:
    """By its subject, as the forge writes it; only a number becomes a part of an address."""
    found = links_of(kind).request(subject)

    assert expected == (None if found is None else found.href.removeprefix(f"{HOME}/"))


def test_commits_that_are_named_lead_to_pull_requests(tmp_path: Path) -> None:
    """In the history of an object and where commits are found, beside the commit at the forge."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit(SCALED, "Scale the shop (#7)")
    scaled = fleet.head()
    run_pass(fleet.folder, 60)
    with served_page(fleet.folder, forge=("github", HOME)) as page:
        shown = [page.get(path).text for path in (f"/object?{SHOP}", "/search?q=scale")]

    for view in shown:
        assert f'<a href="{HOME}/pull/7">pull request 7</a>' in view
        assert f'<a href="{HOME}/commit/{scaled}"><code>{scaled[:12]}</code></a>' in view


def test_a_long_file_is_not_handed_over_in_an_address() -> None:
    """Servers refuse it; the text stands on the page."""
    links = forge_links("github", f"{HOME}/commit/", "main", "")

    assert ("", True) == (links.new_file("a", "x" * 6000), bool(links.new_file("a", "x" * 5000)))


def test_without_a_forge_nothing_leads_there() -> None:
    """No address is made up."""
    found = (NO_FORGE.commit("0" * 40), NO_FORGE.file("a"), NO_FORGE.new_file("a", "b"))

    assert ("", "", "") == found
    assert NO_FORGE.request("Scale the shop (#7)") is None


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc", "https://a@b/c/d"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, address: str) -> None:
    """Before anything is served."""
    fleet = new_fleet(tmp_path / "fleet")

    found = reconciler(fleet.folder, "serve", "--listen", "0", "--page-forge", "github", address)

    assert 2 == found.code
    assert "the URL of --page-forge must" in found.stderr
