"""What is wrong is said first, and leads to lists, to clusters and to objects."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import cluster, cluster_status, deployment, policy, selector, text
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import run_pass
from tests.shell.repositories import new_checkout

LOST = policy(
    "lost",
    selectors=[selector(name="lost")],
    placement={"clusterAffinity": {"clusterNames": ["nowhere"]}},
)
FILES = {
    "clusters/a.yaml": text(cluster("a", region="eu", status=cluster_status(cpu="1"))),
    "clusters/b.yaml": text(cluster("b", region="us", status=cluster_status("False"))),
    "clusters/c.yaml": text(cluster("c", region="us", status=cluster_status("Unknown"))),
    "web.yaml": text(deployment("web", replicas=4, cpu="500m")),
    "policy.yaml": text(
        policy(
            selectors=[selector(name="web")],
            placement={"clusterAffinity": {"clusterNames": ["a"]}},
        )
    ),
    "lost.yaml": text(deployment("lost")),
    "lost-policy.yaml": text(LOST),
    "broken.yaml": "apiVersion: v1\nkind: [",
}
WELL = {"clusters/a.yaml": text(cluster("a", status=cluster_status()))}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A fleet with one of each thing that may be wrong, served."""
    fleet = new_checkout(tmp_path_factory.mktemp("wrong") / "fleet", FILES)
    run_pass(fleet.folder, 0)
    with served_page(fleet.folder) as found:
        yield found


def chips(shown: str) -> dict[str, str]:
    """Return what the head says is wrong, with where it leads."""
    bar = shown.partition('aria-label="What is wrong now">')[2].partition("</nav>")[0]
    return {told: href for href, told in re.findall(r'<a href="([^"]+)">([^<]+)</a>', bar)}


def rows(shown: str) -> list[str]:
    """Return the names of the rows of a list."""
    return re.findall(r'<tr><th scope="row"><a [^>]+>([^<]+)</a></th>', shown)


def test_each_count_leads_to_its_list(page: ServedPage) -> None:
    """One click from the front page."""
    found = chips(page.get("/").text)
    lists = {told: rows(page.get(f"/{href}").text) for told, href in found.items()}

    assert {
        "1 cluster not ready": ["b"],
        "1 cluster without a report": ["c"],
        "1 cluster over-committed": ["a"],
        "1 object not placed": ["deployment/lost"],
        "1 fault": [],
    } == lists
    assert "broken.yaml" in page.get(f"/{found['1 fault']}").text


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_says_what_is_wrong(page: ServedPage, path: str) -> None:
    """The same in the head of each."""
    shown = page.get(path.replace("member1", "a").replace("member2", "a").replace("shop", "web"))

    assert chips(page.get("/").text) == chips(shown.text)


def test_nothing_wrong_is_said_in_one_line(tmp_path: Path) -> None:
    """Instead of counts that are all 0."""
    fleet = new_checkout(tmp_path / "fleet", WELL)
    run_pass(fleet.folder, 0)
    with served_page(fleet.folder) as found:
        shown = found.get("/").text

    assert {} == chips(shown)
    assert 2 == shown.count('<span class="state good">Nothing is wrong</span>')


def test_a_list_is_sorted_by_its_address(page: ServedPage) -> None:
    """Of numbers the greatest come first, and the head that counts leads to the opposite."""
    shown = page.get("/clusters?sort=-replicas").text

    assert "a" == rows(shown)[0]
    assert 'aria-sort="descending"><a href="clusters?sort=replicas">replicas</a>' in shown
    assert ["a", "b", "c"] == rows(page.get("/clusters?sort=name").text)
    assert ["b", "c"] == rows(page.get("/clusters?region=us").text)


def test_why_an_object_lacks_clusters_stands_in_its_row(page: ServedPage) -> None:
    """In upstream's words."""
    assert "0/3 clusters are available" in page.get("/objects?state=unplaced").text


def test_a_cluster_says_what_is_taken_and_by_whom(page: ServedPage) -> None:
    """Twice as much as there is, as `top` says."""
    shown = page.get("/cluster?name=a").text

    assert "200 % cpu" in shown
    assert "over by 1" in shown
    assert ["deployment/web"] == rows(shown)


def test_a_state_is_a_word(page: ServedPage) -> None:
    """Never a shape and a colour alone."""
    for path in ("/", "/clusters", "/objects", "/cluster?name=b"):
        states = re.findall(r'class="state [a-z ]+">([^<]*)<', page.get(path).text)
        assert states
        assert "" not in states


def test_the_heat_map_tells_each_cluster_in_words(page: ServedPage) -> None:
    """For those who do not see colours, too."""
    told = re.findall(r'class="(ill|off|use-\d)" title="([^"]+)"', page.get("/").text)

    assert [
        ("ill", "a: ready, over-committed, 200 % taken, 1 objects, 4 replicas"),
        ("ill", "b: not ready, 0 % taken, 0 objects, 0 replicas, 2 taints"),
        ("ill", "c: no report, 0 % taken, 0 objects, 0 replicas, 2 taints"),
    ] == told


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("WEB", ["deployment/web", "Place default/web on a(4)"], id="object"),
        pytest.param("clusters/a.yaml", ["a"], id="file"),
        pytest.param("policy lost", ["propagationpolicy/lost"], id="policy"),
        pytest.param("start", ["Start"], id="commit"),
        pytest.param("<b>", [], id="nothing"),
    ],
)
def test_anything_is_found_by_a_word(page: ServedPage, words: str, expected: list[str]) -> None:
    """In upper or lower case; each result leads to its view."""
    shown = page.get(f"/search?q={words.replace(' ', '+')}").text

    assert expected == re.findall(r"<li>(?:<a [^>]+>)?([^<]+?)(?:</a>)? <span", shown)


def test_values_of_secrets_are_hidden(tmp_path: Path) -> None:
    """By the function that hides them everywhere, in texts and in what a pass changed."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key", "namespace": "default"},
        "stringData": {"password": "hunter2"},
    }
    claim = policy("key", selectors=[selector("Secret", name="key")])
    fleet = new_checkout(tmp_path / "f", {**WELL, "s.yaml": text(secret), "p.yaml": text(claim)})
    run_pass(fleet.folder, 0)
    address = "/manifest?kind=Secret&namespace=default&name=key"
    with served_page(fleet.folder) as found:
        texts = [found.get(f"{address}{at}").text for at in ("", f"&at={fleet.head()}")]

    assert 'password: "***"' in texts[0].replace("&#34;", '"')
    assert ["hunter2" in shown for shown in texts] == [False, False]


def test_a_page_is_compressed_for_those_who_take_it(page: ServedPage) -> None:
    """And only for them."""
    plain = page.get("/")
    small = page.raw("/", {"accept-encoding": "gzip"})

    assert "content-encoding" not in plain.headers
    assert len(small) < len(plain.text) / 3
