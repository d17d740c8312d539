"""Lists of the page: the worst first, grouped on request; on a failed cluster nothing is green."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders import (
    cluster,
    cluster_status,
    configuration,
    deployment,
    policy,
    selector,
    text,
)
from tests.page.served import ServedPage, served_page
from tests.shell.fleet import Clock, new_passes
from tests.shell.repositories import new_checkout

SOUTH = "/cluster?name=south"
SEARCH = "/object?group=apps&kind=Deployment&namespace=gamma&name=search"
NOW = datetime.now(UTC).replace(microsecond=0)


def on(name: str, space: str, *clusters: str) -> dict[str, str]:
    """Return a workload of a namespace, and a policy that wants it on some clusters."""
    claim = policy(
        name,
        namespace=space,
        selectors=[selector(name=name)],
        placement={"clusterAffinity": {"clusterNames": [*clusters]}},
    )
    claimed = deployment(name, namespace=space, replicas=2, cpu="1")
    return {f"{name}.yaml": text(claimed), f"{name}-policy.yaml": text(claim)}


FILES = {
    "east.yaml": text(cluster("east", region="r1", status=cluster_status())),
    "north.yaml": text(cluster("north", region="r2", status=cluster_status(cpu="1"))),
    "south.yaml": text(cluster("south", region="r2", status=cluster_status())),
    **on("api", "alpha", "east"),
    **on("cart", "beta", "north"),
    **on("ledger", "gamma", "south"),
    **on("search", "gamma", "nowhere"),
    "broken.yaml": "apiVersion: v1\nkind: [",
}
PATIENT = {  # longer than any run of the tests
    "reconciler.yaml": text(
        configuration(karmada={"failover": {"defaultTolerationSeconds": 86400}})
    )
}
DOWN = cluster("south", region="r2", status=cluster_status("False", since=NOW))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A fleet of which one cluster has failed a moment ago; all on it is tolerated there still."""
    fleet = new_checkout(tmp_path_factory.mktemp("lists") / "fleet", {**FILES, **PATIENT})
    new_passes(fleet.folder, Clock(NOW - timedelta(minutes=10))).run()
    fleet.commit({"south.yaml": text(DOWN)}, "Report that south has no power")
    new_passes(fleet.folder, Clock(NOW)).run()
    with served_page(fleet.folder) as found:
        yield found


def listed(page: ServedPage, path: str) -> dict[str, str]:
    """Return the names of the rows of a list in order, each with its states."""
    rows = re.findall(
        r'<tr><th scope="row"><a [^>]+>([^<]+)</a></th>\s*<td class="first">(.*?)</td>',
        page.get(path).text,
    )
    return {name: re.sub(r"<[^>]+>", " ", states).split("  ")[0].strip() for name, states in rows}


def groups(page: ServedPage, path: str) -> list[str]:
    """Return the titles and the names of rows of a list, as they stand below each other."""
    return re.findall(
        r'<th scope="row(?:group)?"[^>]*>(?:<a [^>]+>|<code>)?([^<]+)<', page.get(path).text
    )


def test_clusters_begin_with_the_worst(page: ServedPage) -> None:
    """What failed, what has more than it can hold, then the others by name."""
    assert {"south": "not ready", "north": "ready", "east": "ready"} == listed(page, "/clusters")
    assert ["south", "north", "east"] == [*listed(page, "/clusters")]
    assert ["east", "north", "south"] == [*listed(page, "/clusters?sort=name")]


def test_objects_begin_with_the_worst_and_none_is_green_on_a_cluster_that_failed(
    page: ServedPage,
) -> None:
    """What is nowhere, what is at risk, then the others by name."""
    expected = {
        "deployment/search": "not placed",
        "deployment/ledger": "at risk",
        "deployment/api": "placed",
        "deployment/cart": "placed",
    }
    found = listed(page, "/objects")

    assert expected == found
    assert [*expected] == [*found]
    assert {"deployment/ledger": "at risk"} == listed(page, "/objects?state=at-risk")
    assert "south is not ready" in page.get("/objects").text


@pytest.mark.parametrize("path", ["/", "/objects", "/objects?name=search", SEARCH])
def test_what_clusters_lack_stands_beside_what_is_not_placed(page: ServedPage, path: str) -> None:
    """In words, wherever it is said."""
    shown = page.get(path).text

    assert "east, north would have to match clusterAffinity: be one of nowhere" in shown


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "/objects?group=namespace",
            ["gamma", "deployment/search", "deployment/ledger", "alpha", "deployment/api", "beta"],
            id="objects-by-namespace",
        ),
        pytest.param(
            "/objects?group=cluster",
            ["no cluster", "deployment/search", "south, not ready", "deployment/ledger", "east"],
            id="objects-by-cluster",
        ),
        pytest.param("/clusters?group=region", ["r2", "south", "north", "r1", "east"], id="region"),
        pytest.param("/faults?group=rule", ["yaml-syntax", "broken.yaml"], id="faults-by-rule"),
        pytest.param(
            "/faults?group=namespace", ["no namespace", "broken.yaml"], id="faults-by-namespace"
        ),
    ],
)
def test_rows_stand_by_what_they_are_grouped_by(
    page: ServedPage, path: str, expected: list[str]
) -> None:
    """The group with the worst comes first."""
    assert expected == groups(page, path)[: len(expected)]


def test_a_cluster_that_failed_begins_with_what_leaves_it(page: ServedPage) -> None:
    """When, which objects, where to; and nothing that is on it is green."""
    shown = page.get(SOUTH).text
    block, _, rest = shown.partition("</section>")

    assert "south is not ready (Told). Everything on it is at risk." in block
    assert re.search(r"<b>1 object leaves <time [^>]+>in [^<]+</time></b>, 2 replicas", block)
    assert '<span class="state bad">1 on no cluster from then on</span>' in block
    assert ["deployment/ledger"] == re.findall(r'<th scope="row"><a [^>]+>([^<]+)', block)
    assert '<span class="state warn">at risk</span>' in rest
    assert "state good" not in block.partition("<h1>")[2] + rest


def test_a_cluster_that_is_well_has_no_such_block(page: ServedPage) -> None:
    """Nothing leaves it."""
    assert "What leaves this cluster" not in page.get("/cluster?name=east").text


def test_what_is_due_is_not_said_to_have_happened(tmp_path: Path) -> None:
    """Where no daemon runs, the moment goes by and nothing leaves."""
    fleet = new_checkout(tmp_path / "fleet", FILES)
    new_passes(fleet.folder, Clock(NOW - timedelta(minutes=20))).run()
    since = NOW - timedelta(minutes=10)
    down = cluster("south", region="r2", status=cluster_status("False", since=since))
    fleet.commit({"south.yaml": text(down)}, "Report that south has no power")
    new_passes(fleet.folder, Clock(since)).run()
    with served_page(fleet.folder) as found:
        shown = found.get(SOUTH).text

    assert re.search(r"<b>1 object leaves with the next pass, due <time [^>]+>[^<]+ ago<", shown)
