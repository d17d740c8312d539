"""Views of the page: what is wrong, the matrix, the past, quotas, edits, forge links, colours."""

import re
import subprocess
from collections.abc import Iterator
from html import unescape
from itertools import product
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from ruamel.yaml import YAML

from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.history.moves import object_over_time
from reconciler.cli.main import run
from reconciler.cli.page.passes import AT_ONCE, HistoryIndex
from reconciler.core.dialects import PLACED
from reconciler.library.fleet import open_repository
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.page.links import NO_FORGE, ForgeLinks, ServedLinks, forge_links
from reconciler.page.matrix import HeatScale, MatrixQuery, MatrixView, matrix_view
from reconciler.page.rendering import asset
from tests.builders import (
    NOTHING,
    cluster,
    cluster_status,
    configuration,
    deployment,
    policy,
    quota,
    selector,
    text,
)
from tests.cli.history import SCALED, told_fleet
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import decided_fleet, new_fleet, reconciler, run_pass
from tests.shell.repositories import Checkout, new_checkout

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
    shown = page.get(here(path))

    assert chips(page.get("/").text) == chips(shown.text)


OLD_WORDS = (
    "comes next",
    "what comes",
    "taken",
    "leave it",
    "What it reports",
    "Its past",
    "What left it",
    "by itself",
    "more than there is",
    "turned away",
    "afresh",
)


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_is_in_plain_english(page: ServedPage, path: str) -> None:
    """None of the words that readers found translated."""
    shown = re.sub(r"<[^>]+>", " ", page.get(here(path)).text)

    assert [] == [word for word in OLD_WORDS if word in shown]


def here(path: str) -> str:
    """Return a view of this fleet for one of the example's."""
    return re.sub("member[12]", "a", path).replace("shop", "web")


def test_the_fleet_says_who_changed_what_is_wrong(page: ServedPage) -> None:
    """And what to do: nobody has to search the history for the commit."""
    shown = page.get("/").text

    assert "<code>reconciler why OBJECT</code> says what each cluster lacks" in shown
    lost = shown.partition("deployment/lost in namespace default:")[2].partition("</p>")[0]
    assert "<br>last changed " in lost
    assert "<code>" in lost


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
    """In words; upstream's stand on its own page."""
    assert "would have to match clusterAffinity" in page.get("/objects?state=unplaced").text


def test_a_cluster_says_what_is_taken_and_by_whom(page: ServedPage) -> None:
    """Twice as much as there is, as `top` says."""
    shown = page.get("/cluster?name=a").text

    assert "200 % cpu" in shown
    assert "over by 1 core<" in shown
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
        ("ill", "a: ready, over-committed, 200 % used, 1 objects, 4 replicas"),
        ("ill", "b: not ready, 0 % used, 0 objects, 0 replicas, 2 taints"),
        ("ill", "c: no report, 0 % used, 0 objects, 0 replicas, 2 taints"),
    ] == told


@pytest.mark.parametrize(
    ("has_room", "most", "expected"),
    [
        pytest.param(True, 7, ["0", "1-19", "20-39", "40-59", "60-79", "80 and more"], id="room"),
        pytest.param(False, 2, ["0", "1", "2"], id="two-replicas"),
        pytest.param(False, 12, ["0", "1-3", "4-5", "6-8", "9-10", "11-12"], id="replicas"),
        pytest.param(False, 0, ["0"], id="nothing"),
    ],
)
def test_the_legend_of_the_heat_map_is_true(
    most: int, expected: list[str], *, has_room: bool
) -> None:
    """Each number of replicas looks as the range that it stands in."""
    scale = HeatScale(has_room=has_room, most=most)

    assert expected == [text for _, text in scale.legend]
    for count in range(most + 1 if not has_room else 0):
        look = scale.cell(None, count)[1]
        low, _, high = dict(scale.legend)[look].partition("-")
        assert int(low) <= count <= int(high or low)


def test_few_clusters_have_their_names_in_the_heat_map(page: ServedPage) -> None:
    """For those who point at nothing, as on a telephone."""
    assert ["a", "b", "c"] == re.findall(r'<span class="name">([^<]+)', page.get("/").text)


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
    shown = page.get(f"/search?list=1&q={words.replace(' ', '+')}").text

    assert expected == re.findall(r"<li>(?:<a [^>]+>)?([^<]+?)(?:</a>)? <span", shown)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            "web", "object?group=apps&kind=Deployment&namespace=default&name=web", id="name"
        ),
        pytest.param("clusters/a.yaml", "cluster?kind=Cluster&name=a", id="file"),
        pytest.param("lost", None, id="object-and-policy"),
        pytest.param("we", None, id="part-of-a-name-and-a-commit"),
        pytest.param("nothing", None, id="nothing"),
    ],
)
def test_the_only_hit_is_shown_at_once(page: ServedPage, words: str, expected: str | None) -> None:
    """Without a script, too; where there are others, there is a list."""
    answer = page.get(f"/search?q={words}")

    assert (303 if expected else 200, expected) == (answer.status, answer.headers.get("location"))


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


LINKS = ServedLinks()


def key(name: str) -> ObjectKey:
    """Return what is decided about an object."""
    return ObjectKey("work.karmada.io", "ResourceBinding", "default", name)


def placed(**parts: int) -> Placed:
    """Return where an object is."""
    return tuple((ClusterName(name), parts[name]) for name in sorted(parts))


PLACEMENTS = {key("a"): placed(m1=3, m2=1, m3=2), key("b"): placed(m3=5), key("c"): placed(m1=0)}


def view(across: int = 1, *, columns: int = 2, regions: dict[str, str] | None = None) -> MatrixView:
    """Return one page of clusters."""
    query = MatrixQuery(across=across)
    return matrix_view(NOTHING, PLACEMENTS, query, LINKS, columns=columns, regions=regions)


def test_what_is_on_other_pages_of_clusters_is_told() -> None:
    """A row without any part on this page says where the rest is."""
    first, second = view(), view(2)
    rows = [{row.anchor.text: row.elsewhere for row in one.groups[0][1]} for one in (first, second)]

    assert [
        {"resourcebinding/a": "2 on 1", "resourcebinding/b": "5 on 1", "resourcebinding/c": ""},
        {"resourcebinding/a": "4 on 2", "resourcebinding/b": "", "resourcebinding/c": "on 1"},
    ] == rows
    assert (True, False) == (first.is_cut, view(columns=3).is_cut)


def test_totals_add_up() -> None:
    """Of each cluster, of clusters on other pages, and of all."""
    found = [(one.totals, one.total_elsewhere, one.total) for one in (view(), view(2))]

    assert [([3, 1], 7, 11), ([7], 4, 11)] == found


def test_clusters_of_a_region_stand_beside_each_other() -> None:
    """Under its name; where none is known there are no such heads."""
    found = view(columns=3, regions={"m1": "us", "m2": "eu", "m3": "us"})

    assert (["m2", "m1", "m3"], [("eu", 1), ("us", 2)]) == (found.columns.items, found.regions)
    assert () == view().regions


def test_a_part_without_replicas_is_no_blank() -> None:
    """It is there, with a ground of its own."""
    [(_, rows)] = view(columns=3).groups
    cells = {row.anchor.text: row.cells for row in rows}

    assert ("yes", "use-1") == cells["resourcebinding/c"][0]
    assert [("3", "use-3"), ("1", "use-1"), ("2", "use-2")] == [*cells["resourcebinding/a"]]


SHOP = "/object?group=apps&kind=Deployment&namespace=default&name=shop"


def told(page: ServedPage, path: str) -> dict[str, str]:
    """Return what the pictures of a view say, by their titles."""
    shown = page.get(path).text
    found = re.findall(
        r'<svg viewBox="0 0 100 100"[^>]+ role="(?:img|group)" aria-label="([^"]+)"', shown
    )
    return dict(one.split(": ", 1) for one in found)


def index_of(fleet: Checkout) -> HistoryIndex:
    """Return the index of all that a repository has."""
    index = HistoryIndex(open_repository(fleet.folder).revisions)
    index.follow(fleet.head())
    while index.read_on():
        pass
    return index


def test_what_was_where_is_what_each_commit_holds(tmp_path: Path) -> None:
    """Of every object, after every commit of the history, a decision that was reverted, too."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.git("revert", "--no-edit", "HEAD")
    run_pass(fleet.folder, 180)
    index, loader = index_of(fleet), open_repository(fleet.folder).revisions.loader
    world = loader.load(fleet.head())
    for key in (key for key in world.outputs if key[:2] in PLACED):
        found = object_over_time(key, placed_on(world, key), index.found)
        by_commit = {one.revision: one.parts for one in found.steps}
        parts = found.before
        for commit in reversed(index.commits):
            parts = by_commit.get(commit.revision, parts)
            then = placed_on(loader.load(commit.revision), key)
            assert {str(name): max(1, count) for name, count in then} == parts


def test_an_index_that_follows_knows_what_a_new_one_knows(tmp_path: Path) -> None:
    """From each commit to the next, and from the first one to the last at once."""
    fleet = decided_fleet(tmp_path / "fleet")
    index = index_of(fleet)
    fleet.commit(SCALED, "Scale the shop")
    index.follow(fleet.head())
    run_pass(fleet.folder, 60)
    index.follow(fleet.head())

    assert index_of(fleet).found == index.found
    assert index.is_whole


def test_a_branch_that_was_moved_back_is_listed_anew(tmp_path: Path) -> None:
    """Nothing of what was cut off stays."""
    fleet = told_fleet(tmp_path / "fleet")
    index = index_of(fleet)
    fleet.git("reset", "--quiet", "--hard", "HEAD~2")
    index.follow(fleet.head())

    assert index_of(fleet).found == index.found


def test_older_commits_are_read_later(tmp_path: Path) -> None:
    """A view waits for few of them; until all are read that is said in one line."""
    fleet = decided_fleet(tmp_path / "fleet")
    for number in range(AT_ONCE + 2):
        fleet.commit({"notes.txt": str(number)}, f"Note {number}")
    index = HistoryIndex(open_repository(fleet.folder).revisions)
    index.follow(fleet.head())
    at_once = len(index.found)
    while index.read_on():
        pass

    assert (AT_ONCE, AT_ONCE + 4, True) == (at_once, len(index.found), index.is_whole)


def test_what_is_read_in_pieces_is_what_is_read_at_once(tmp_path: Path) -> None:
    """A change at a time, of a pass that wrote more than a view reads."""
    fleet = told_fleet(tmp_path / "fleet")
    slow = HistoryIndex(open_repository(fleet.folder).revisions, most_blobs=0, piece=1)
    slow.follow(fleet.head())
    pieces = 0
    while slow.read_on():
        pieces += 1

    assert index_of(fleet).found == slow.found
    assert len(slow.commits) < pieces


def test_the_pictures_say_what_they_show(tmp_path: Path) -> None:
    """For those who do not see them; each has a table, too."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        timeline, thing, cluster = (
            told(page, path) for path in ("/timeline", SHOP, "/cluster?name=member1")
        )
        tables = page.get(SHOP).text.count("Replicas over time, as a table")

    assert {"Replicas over time": "from 0 to 5 in 3 changes, 5 at most"} == thing
    assert "from 0 to 4 in 3 changes, 9 at most" == cluster["Replicas over time"]
    assert timeline["Moves of each pass"].startswith("16 replicas came and 5 left in all; most at ")
    assert 1 == tables


def test_a_picture_has_an_axis_with_numbers(tmp_path: Path) -> None:
    """What its top and its bottom stand for, beside it."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        shown = page.get("/timeline").text
    axis = re.search(r'<svg class="ys"[^>]*>(.*?)</svg>', shown)

    assert axis is not None
    assert ["0", "8", "5"] == re.findall(r">(\d+)</text>", axis[1])


def test_what_changes_nothing_is_behind_details(tmp_path: Path) -> None:
    """Scores, and what would be judged differently now; what can be done stands above."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        shown = page.get(SHOP).text
    table = shown.partition('class="why"')[2].partition("</table>")[0]

    assert "score" not in table
    assert shown.index(">Rebalance it</a>") < shown.index("Where it runs")
    for heading in ("Scores of ", "What would be judged differently now"):
        assert shown.count(heading) == shown.count(f"<summary>{heading}")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/", "no cluster reports how it is, so each counts as ready"),
        ("/rebalancers", "reconciler rebalance deployment/NAME"),
        ("/objects", "An object is listed once a policy or placement selects it"),
        ("/timeline", "<code>reconciler reconcile</code> runs one"),
        ("/plan", "There is no other branch here."),
    ],
)
def test_what_is_empty_says_how_to_begin(empty: ServedPage, path: str, says: str) -> None:
    """With what writes the first one."""
    assert says in empty.get(path).text


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A cluster that says nothing, and no pass yet."""
    files = {"clusters/a.yaml": text(cluster("a"))}
    fleet = new_checkout(tmp_path_factory.mktemp("empty") / "fleet", files)
    with served_page(fleet.folder) as found:
        yield found


def test_a_day_without_moves_is_one_line(tmp_path: Path) -> None:
    """Instead of an empty picture: these commits are of long ago."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        shown = page.get("/").text

    assert "Moves per hour: nothing moved in any hour from " in shown


@pytest.mark.parametrize("title", ["Moves per hour", "Moves of each pass", "Replicas over time"])
def test_the_report_has_the_same_pictures(tmp_path: Path, title: str) -> None:
    """Up to the commit that it is of."""
    fleet, file = told_fleet(tmp_path / "fleet"), tmp_path / "report.html"
    assert 0 == run(["-C", str(fleet.folder), "report", "-o", str(file)])

    assert f"{title}: " in file.read_text(encoding="utf-8")


QUOTA_FILES = {
    "reconciler.yaml": text(configuration(karmada={"federatedQuotaEnforcement": True})),
    "clusters/a.yaml": text(cluster("a")),
    "policy.yaml": text(policy()),
    "quota.yaml": text(quota(overall={"cpu": "3"})),
    "api.yaml": text(deployment("api", cpu="1")),
    "web.yaml": text(deployment("web", cpu="1")),
}


def test_a_quota_is_shown_with_what_is_used(tmp_path: Path) -> None:
    """Its status file stands below its manifest."""
    fleet = new_checkout(tmp_path / "fleet", QUOTA_FILES)
    run_pass(fleet.folder, 0)

    with served_page(fleet.folder) as page:
        kind = "group=policy.karmada.io&kind=FederatedResourceQuota"
        shown = page.get(f"/manifest?{kind}&namespace=default&name=quota").text
        kind = "group=work.karmada.io&kind=ResourceBinding"
        refused = page.get(f"/object?{kind}&namespace=default&name=web-deployment").text

    assert "overallUsed" in shown
    assert "FederatedResourceQuota(default/quota) exceeded" in refused


COMPOSED_FILES = {
    "clusters.yaml": "---\n".join(text(cluster(name)) for name in ("a", "b")),
    "shop.yaml": "---\n".join(text(deployment(n, namespace="shop")) for n in ("cart", "search")),
    "media.yaml": text(deployment("video", namespace="media")),
    "policies/shop.yaml": text(policy("all", namespace="shop")),
    "policies/media.yaml": text(policy("all", namespace="media")),
}


@pytest.fixture(scope="module")
def composed_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """Three objects of two namespaces, served."""
    fleet = new_checkout(tmp_path_factory.mktemp("composed") / "fleet", COMPOSED_FILES)
    run_pass(fleet.folder, 0)
    with served_page(fleet.folder) as found:
        yield found


def steps(page: ServedPage, path: str) -> dict[str, str]:
    """Return what a list offers for all that it shows, with where that is."""
    found = re.findall(
        r'<a class="button" href="((?:rebalance|suspend)\?[^"]+)">([^<]+)</a>', page.get(path).text
    )
    return {told: f"/{unescape(href)}" for href, told in found}


def written(shown: str) -> str:
    """Return the text that is composed."""
    listed = shown.partition("<pre")[2].partition(">")[2].partition("</pre>")[0]
    return unescape(re.sub(r"<span[^>]*>", "", listed).replace("</span>", "\n"))


def test_a_list_offers_what_can_be_done_with_all_that_it_shows(composed_page: ServedPage) -> None:
    """As many as its filter leaves."""
    assert ["Rebalance these 3", "Suspend these 3"] == [*steps(composed_page, "/objects")]
    assert ["Rebalance it", "Suspend it"] == [*steps(composed_page, "/objects?name=video")]
    assert {} == steps(composed_page, "/objects?name=nothing")


@pytest.mark.parametrize(
    ("filtered", "names", "has_command"),
    [("?namespace=shop", ["cart", "search"], True), ("", ["video", "cart", "search"], False)],
)
def test_all_of_a_list_is_rebalanced_by_one_file(
    composed_page: ServedPage, filtered: str, names: list[str], *, has_command: bool
) -> None:
    """Of several namespaces, too; then no command says the same."""
    shown = composed_page.get(
        steps(composed_page, f"/objects{filtered}")[f"Rebalance these {len(names)}"]
    ).text
    body = YAML(typ="safe").load(written(shown))

    assert names == [one["name"] for one in body["spec"]["workloads"]]
    assert has_command == ("reconciler rebalance deployment.apps/cart" in shown)
    assert "Plan: " in shown


def test_all_of_a_list_is_suspended_by_one_patch(composed_page: ServedPage, tmp_path: Path) -> None:
    """Which git applies: two objects of one file, one of another."""
    shown = composed_page.get(steps(composed_page, "/objects")["Suspend these 3"]).text
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(composed_page.folder), str(clone)], check=True)
    subprocess.run(["git", "apply"], cwd=clone, input=written(shown), text=True, check=True)

    assert 2 == (clone / "shop.yaml").read_text().count("reconciler.dev/suspend")
    assert 1 == (clone / "media.yaml").read_text().count("reconciler.dev/suspend")
    assert 2 == shown.count(" &amp;&amp; reconciler suspend deployment.apps/")


def test_more_than_can_be_composed_is_refused(composed_page: ServedPage) -> None:
    """As nothing is."""
    composed_page.get("/")
    shown = composed_page.get("/rebalance?of=objects&name=nothing")

    assert 400 == shown.status
    assert "0 objects are chosen; one change takes 1 to 50, so filter the list" in shown.text
    assert 'aria-label="What is wrong now"' in shown.text


HOME = "https://git.example.org/acme/fleet"
SHOP_QUERY = "group=apps&kind=Deployment&namespace=default&name=shop"


def test_commits_files_and_new_files_lead_to_the_forge(tmp_path: Path) -> None:
    """Each by the address that the forge has for it."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder, forge=("github", HOME)) as page:
        paths = (
            f"/object?{SHOP_QUERY}",
            "/timeline",
            f"/manifest?{SHOP_QUERY}",
            f"/rebalance?{SHOP_QUERY}",
        )
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
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.commit(SCALED, "Scale the shop (#7)")
    scaled = fleet.head()
    run_pass(fleet.folder, 60)
    with served_page(fleet.folder, forge=("github", HOME)) as page:
        shown = [page.get(path).text for path in (f"/object?{SHOP_QUERY}", "/search?q=scale")]

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


TEXT, SHAPE = 4.5, 3.0
"""Source: WCAG 2.2, 1.4.3 for text and 1.4.11 for what is no text."""
STATES = ("good", "bad", "warn", "hold")
PAIRS = (
    *(
        (ink, ground, TEXT)
        for ink, ground in product(("text", "soft", "link"), ("ground", "raised"))
    ),
    ("text", "on", TEXT),
    *((state, ground, TEXT) for state, ground in product(STATES, ("ground", "raised"))),
    *((state, f"{state}-tint", TEXT) for state in STATES),
    *((f"ink-{n}", f"use-{n}", TEXT) for n in range(6)),
    ("edge", "ground", SHAPE),
    ("use-4", "line", SHAPE),
    *((f"band-{n}", "ground", SHAPE) for n in range(6)),
)


def tokens(theme: str) -> dict[str, str]:
    """Return the colours of a theme by name; dark says what is otherwise."""
    light, dark = asset("tokens.css").split("@media (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", light))
    return (
        found
        if theme == "light"
        else found | dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", dark))
    )


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_ink_can_be_read_on_its_ground(theme: str) -> None:
    """By the contrast that is asked of text and of shapes."""
    colours = tokens(theme)
    low = {}
    for ink, ground, least in PAIRS:
        first, second = luminance(colours[ink]), luminance(colours[ground])
        contrast = (max(first, second) + 0.05) / (min(first, second) + 0.05)
        if contrast < least:
            low[ink, ground] = round(contrast, 2)

    assert {} == low


@pytest.mark.parametrize("name", ["style.css", "picture.css", "flows.svg", "picture.svg"])
def test_no_other_file_has_colours(name: str) -> None:
    """They name those of the one file."""
    assert [] == re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", asset(name))


def test_every_token_that_is_used_is_there() -> None:
    """A name that is written wrong is a colour that is missing."""
    used = {
        name
        for file in ("style.css", "picture.css")
        for name in re.findall(r"var\(--([a-z0-9-]+)\)", asset(file))
    }

    assert set() == used - set(re.findall(r"--([a-z0-9-]+):", asset("tokens.css")))


def test_dark_names_no_token_that_light_has_not() -> None:
    """Nothing is there in one theme only."""
    assert tokens("light").keys() == tokens("dark").keys()
