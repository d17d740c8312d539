"""The page of large fleets: the same figures as the files have, each object asked alone."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from reconciler.audit.fleet.trouble import Trouble
from reconciler.cli.main import run
from reconciler.cli.page.answers import LINKS, PageAnswer, PageAnswers
from reconciler.cli.page.one_object import object_detail
from reconciler.cli.page.views import ON_ITS_WAY, PageViews, new_memory
from reconciler.core.dialects import PLACED
from reconciler.library.fleet import open_repository
from reconciler.model.records import replace
from reconciler.page.lists import ObjectChoice, ObjectStates
from reconciler.page.matrix import MatrixQuery
from reconciler.page.pictures import Past
from tests.builders import (
    DYNAMIC,
    cluster,
    cluster_status,
    deployment,
    policy,
    rebalancer,
    target,
    text,
)
from tests.cli.history import told_fleet
from tests.page.served import served_page
from tests.shell.fleet import decided_fleet, decisions, load_world, run_pass
from tests.shell.repositories import Checkout, new_checkout

CLUSTERS, WORKLOADS = 500, 300
LARGE_FLEET = pytest.mark.cpu_seconds(120)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Five hundred clusters in ten regions, and workloads that were placed on them."""
    status = cluster_status(pods=100)
    files = {
        f"clusters/m{n:03}.yaml": text(cluster(f"m{n:03}", region=f"r{n % 10}", status=status))
        for n in range(CLUSTERS)
    }
    files |= {
        f"workloads/w{n:03}.yaml": text(deployment(f"w{n:03}", replicas=1 + n % 5))
        for n in range(WORKLOADS)
    }
    spread = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]
    placement = {"replicaScheduling": DYNAMIC, "spreadConstraints": spread}
    files["policy.yaml"] = text(policy("all", placement=placement))
    fleet = new_checkout(tmp_path_factory.mktemp("large") / "fleet", files)
    run_pass(fleet.folder, 0)
    return fleet


def replicas(fleet: Checkout) -> dict[str, int]:
    """Cluster to replicas, by the bindings."""
    found: dict[str, int] = {}
    for clusters in decisions(load_world(fleet.folder)).values():
        for one in clusters:
            count = one["replicas"]
            assert isinstance(count, int)
            found[str(one["name"])] = found.get(str(one["name"]), 0) + count
    return found


def regions(shown: str) -> dict[str, tuple[int, int]]:
    """Region to clusters and replicas, as a view of the fleet shows them."""
    zones = re.findall(r"<h3>(?:<a [^>]*>)?(r\d)(?:</a>)? <span[^>]*>([^<]*)</span></h3>", shown)
    numbers = {name: re.findall(r"(\d+) (?:clusters|replicas)", says) for name, says in zones}
    return {name: (int(found[0]), int(found[-1])) for name, found in numbers.items()}


def expected_regions(fleet: Checkout) -> dict[str, tuple[int, int]]:
    """The same by the files."""
    sums = dict.fromkeys((f"r{n}" for n in range(10)), 0)
    for name, count in replicas(fleet).items():
        sums[f"r{int(name[1:]) % 10}"] += count
    return {name: (CLUSTERS // 10, count) for name, count in sums.items()}


@LARGE_FLEET
def test_the_page_shows_every_cluster_and_replica(fleet: Checkout) -> None:
    """Region by region, and where one workload runs."""
    with served_page(fleet.folder) as page:
        shown = page.get("/").text
        matrix = page.get("/matrix?q=w007").text
        found = page.get("/object?group=apps&kind=Deployment&namespace=default&name=w007").text

    assert f'<b>{CLUSTERS}</b><a href="clusters">clusters</a>' in shown
    assert f'<b>{WORKLOADS}</b><a href="objects">objects placed</a>' in shown
    assert expected_regions(fleet) == regions(shown)
    for name in replicas_of(fleet, "w007"):
        assert name in matrix
        assert name in found


@LARGE_FLEET
def test_the_report_shows_the_same(fleet: Checkout, tmp_path: Path) -> None:
    """In one file."""
    file = tmp_path / "fleet.html"
    assert 0 == run(["-C", str(fleet.folder), "report", "-o", str(file)])

    assert expected_regions(fleet) == regions(file.read_text(encoding="utf-8"))


def replicas_of(fleet: Checkout, name: str) -> list[str]:
    """The clusters of one workload, by its binding."""
    found = decisions(load_world(fleet.folder))
    return [
        str(one["name"]) for key, listed in found.items() if f"/{name}-" in key for one in listed
    ]


SHOP = {"group": "apps", "kind": "Deployment", "namespace": "default", "name": "shop"}
BATCHES = {"rebalancer.yaml": text(rebalancer("all", target(name="shop"), limits={"maxMoves": 1}))}
KEPT = {"rebalancer.yaml": text(rebalancer("all", target(name="shop"), ttl=600))}
NO_PAST = Past(
    found=(), is_whole=True, is_reading=False, now=datetime(2026, 11, 20, tzinfo=UTC), links=LINKS
)
WITHOUT = "it depends on others (WorkloadRebalancer all moves its targets in batches)"


def asked(
    folder: Path,
    view: str,
    query: Mapping[str, str] | None = None,
    *,
    more: Mapping[str, str] | None = None,
    most: int | None = 0,
    few: int = 100,
    problem: str = "",
) -> PageAnswer:
    """Ask for a view where whole passes are computed over so many objects.

    Of so few of them each is told in full at once.
    """
    fleet = decided_fleet(folder / "fleet")
    if more:
        fleet.commit(more)
    repository = open_repository(fleet.folder)
    memory = replace(new_memory(repository.revisions, most), few=few)
    return PageAnswers(repository, "main", memory).answer(view, query or {}, fleet.head(), problem)


def test_an_object_is_told_with_its_past_by_itself(tmp_path: Path) -> None:
    """Where it is, since when, why, and by whose commit; nothing is left to anybody."""
    shown = asked(tmp_path, "object", SHOP)

    assert (200, False) == (shown.status, shown.lacks)
    assert '<th scope="row">member1</th>' in shown.html
    assert "Why, for each cluster" in shown.html
    assert "<p>Decided " in shown.html
    assert "<h2>History</h2>" in shown.html


def test_of_many_objects_each_is_told_at_once_without_why(tmp_path: Path) -> None:
    """Where it runs, what moved it, and where the rest is asked for, by a plain link."""
    shown = asked(tmp_path, "object", SHOP, few=0)

    assert (200, False) == (shown.status, shown.lacks)
    assert '<th scope="row"><a href="cluster?name=member1">member1</a></th>' in shown.html
    assert "<h2>What moved it</h2>" in shown.html
    assert "Why, for each cluster" not in shown.html
    [rest] = re.findall(r'data-then="([^"]+)"', shown.html)
    assert f'<a href="{rest}">loaded next</a>' in shown.html
    assert {**SHOP, "full": "1"} == dict(parse_qsl(urlsplit(unescape(rest)).query))


def test_what_is_asked_next_is_all_of_it(tmp_path: Path) -> None:
    """As of few objects at once."""
    full = {**SHOP, "full": "1"}
    many, few = asked(tmp_path / "1", "object", full, few=0), asked(tmp_path / "2", "object", SHOP)

    assert "Why, for each cluster" in many.html
    assert "data-then" not in many.html
    assert many.html.count("<table") == few.html.count("<table")


def test_what_is_told_of_an_object_alone_is_what_whole_passes_tell(tmp_path: Path) -> None:
    """Every part of the view: placed, scaled, and evicted from a cluster that failed."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_repository(fleet.folder).revisions
    world = revisions.loader.load(fleet.head())
    keys = [key for key in world.outputs if key[:2] in PLACED]
    assert len(keys) > 2
    for key in keys:
        alone, whole = (
            object_detail(
                revisions,
                new_memory(revisions).replay,
                fleet.head(),
                world,
                key,
                LINKS,
                states=ObjectStates(Trouble()),
                past=NO_PAST,
                unknown=unknown,
            )
            for unknown in ("left out", "")
        )

        assert not alone.lacks
        assert whole.view == alone.view


def test_where_others_have_a_say_it_is_said_so(tmp_path: Path) -> None:
    """What is known without whole passes is shown until they are computed."""
    shown = asked(tmp_path, "object", SHOP, more=BATCHES)

    assert (200, True) == (shown.status, shown.lacks)
    assert '<th scope="row">member1</th>' in shown.html
    assert f"{WITHOUT}; {ON_ITS_WAY}" in shown.html
    assert "<h2>History</h2>" in shown.html


def test_whole_passes_that_cannot_be_computed_are_told(tmp_path: Path) -> None:
    """With what there is without them."""
    shown = asked(tmp_path, "object", SHOP, more=BATCHES, problem="it took too long")

    assert f"{WITHOUT}; it could not be computed over all objects: it took too long" in shown.html


def test_whole_passes_complete_it(tmp_path: Path) -> None:
    """Where they are computed nothing is missing."""
    shown = asked(tmp_path, "object", SHOP, more=BATCHES, most=None)

    assert (200, False) == (shown.status, shown.lacks)
    assert "depends on others" not in shown.html
    assert "Why, for each cluster" in shown.html


@pytest.mark.parametrize("view", ["coming", "rebalancers"])
@pytest.mark.parametrize(("most", "lacks"), [(0, True), (100, False), (None, False)])
def test_what_comes_of_all_takes_whole_passes(
    tmp_path: Path, view: str, most: int | None, *, lacks: bool
) -> None:
    """Over few objects they are computed at once."""
    shown = asked(tmp_path, view, more=BATCHES, most=most)

    assert (200, lacks, lacks) == (shown.status, shown.lacks, ON_ITS_WAY in shown.html)


@pytest.mark.parametrize(
    ("most", "cell"), [(0, "not computed yet"), (None, "2026-11-20T12:10:01Z its manifest")]
)
def test_what_comes_of_a_rebalancer_stands_in_its_line(
    tmp_path: Path, most: int | None, cell: str
) -> None:
    """As below the table, whose title is true of whatever comes."""
    shown = asked(tmp_path, "rebalancers", more=KEPT, most=most)

    assert re.search(rf"<td[^>]*>{cell}", shown.html)
    assert ("<h2>Upcoming</h2>" in shown.html, "Next runs" in shown.html) == (True, False)


@pytest.mark.parametrize("view", ["fleet", "matrix", "timeline", "faults", "rebalancers"])
def test_the_other_views_need_no_whole_pass(tmp_path: Path, view: str) -> None:
    """Rebalancers neither, where there are none."""
    shown = asked(tmp_path, view)

    assert (200, False) == (shown.status, shown.lacks)


def test_passes_far_from_each_other_are_compared_elsewhere(tmp_path: Path) -> None:
    """All that was written in between may have to be read."""
    fleet = told_fleet(tmp_path / "fleet")
    repository = open_repository(fleet.folder)
    first = repository.revisions.commits(fleet.head())[-2].revision
    shown = [
        PageAnswers(repository, "main", new_memory(repository.revisions, most)).answer(
            "timeline", {"since": first}, fleet.head()
        )
        for most in (0, None)
    ]

    assert [(200, True), (200, False)] == [(one.status, one.lacks) for one in shown]
    assert ["Moved from" in one.html for one in shown] == [False, True]


def test_the_rows_of_the_matrix_are_asked_about_together(tmp_path: Path) -> None:
    """Whoever looks at a page of it opens them next, and most were moved by the same passes."""
    fleet = decided_fleet(tmp_path / "fleet")
    revisions = open_repository(fleet.folder).revisions
    memory = new_memory(revisions)
    views = PageViews(revisions, fleet.head(), LINKS, memory)
    views.matrix(MatrixQuery(choice=ObjectChoice(name="shop")))

    assert ["shop-deployment"] == [key.name for key in memory.replay.together]
