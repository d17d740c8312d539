"""What the page composes of all objects that a list shows: one rebalancer, one patch."""

import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.builders import cluster, deployment, policy, text
from tests.page.served import ServedPage, served_page
from tests.shell.fleet import run_pass
from tests.shell.repositories import new_checkout

FILES = {
    "clusters.yaml": "---\n".join(text(cluster(name)) for name in ("a", "b")),
    "shop.yaml": "---\n".join(text(deployment(n, namespace="shop")) for n in ("cart", "search")),
    "media.yaml": text(deployment("video", namespace="media")),
    "policies/shop.yaml": text(policy("all", namespace="shop")),
    "policies/media.yaml": text(policy("all", namespace="media")),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """Three objects of two namespaces, served."""
    fleet = new_checkout(tmp_path_factory.mktemp("composed") / "fleet", FILES)
    run_pass(fleet.folder, 0)
    with served_page(fleet.folder) as found:
        yield found


def steps(page: ServedPage, path: str) -> dict[str, str]:
    """Return what a list offers for all that it shows, with where that is."""
    found = re.findall(r'<a href="((?:rebalance|suspend)\?[^"]+)">([^<]+)</a>', page.get(path).text)
    return {told: f"/{unescape(href)}" for href, told in found}


def written(shown: str) -> str:
    """Return the text that is composed."""
    listed = shown.partition("<pre")[2].partition(">")[2].partition("</pre>")[0]
    return unescape(re.sub(r"<span[^>]*>", "", listed).replace("</span>", "\n"))


def test_a_list_offers_what_can_be_done_with_all_that_it_shows(page: ServedPage) -> None:
    """As many as its filter leaves."""
    assert ["Rebalance these 3", "Suspend these 3"] == [*steps(page, "/objects")]
    assert ["Rebalance it", "Suspend it"] == [*steps(page, "/objects?name=video")]
    assert {} == steps(page, "/objects?name=nothing")


@pytest.mark.parametrize(
    ("filtered", "names", "has_command"),
    [("?namespace=shop", ["cart", "search"], True), ("", ["video", "cart", "search"], False)],
)
def test_all_of_a_list_is_rebalanced_by_one_file(
    page: ServedPage, filtered: str, names: list[str], *, has_command: bool
) -> None:
    """Of several namespaces, too; then no command says the same."""
    shown = page.get(steps(page, f"/objects{filtered}")[f"Rebalance these {len(names)}"]).text
    body = YAML(typ="safe").load(written(shown))

    assert names == [one["name"] for one in body["spec"]["workloads"]]
    assert has_command == ("reconciler rebalance deployment.apps/cart" in shown)
    assert "Plan: " in shown


def test_all_of_a_list_is_suspended_by_one_patch(page: ServedPage, tmp_path: Path) -> None:
    """Which git applies: two objects of one file, one of another."""
    shown = page.get(steps(page, "/objects")["Suspend these 3"]).text
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(page.folder), str(clone)], check=True)
    subprocess.run(["git", "apply"], cwd=clone, input=written(shown), text=True, check=True)

    assert 2 == (clone / "shop.yaml").read_text().count("reconciler.dev/suspend")
    assert 1 == (clone / "media.yaml").read_text().count("reconciler.dev/suspend")
    assert 2 == shown.count(" &amp;&amp; reconciler suspend deployment.apps/")


def test_more_than_can_be_composed_is_refused(page: ServedPage) -> None:
    """As nothing is."""
    shown = page.get("/rebalance?of=objects&name=nothing")

    assert (400, True) == (shown.status, "0 objects are chosen; it must be 1 to 50" in shown.text)
