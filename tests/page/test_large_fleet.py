"""Page and report of a generated fleet of 500 clusters: the same figures as the files have."""

import re
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import DYNAMIC, cluster, cluster_status, deployment, policy, text
from tests.page.served import served_page
from tests.shell.fleet import decisions, load_world, run_pass
from tests.shell.repositories import Checkout, new_checkout

CLUSTERS, WORKLOADS = 500, 300
pytestmark = pytest.mark.cpu_seconds(120)


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
    rows = re.findall(r'<tr><th scope="row">(?:<a [^>]*>)?(r\d)(?:</a>)?</th>(.*?)</tr>', shown)
    numbers = {name: re.findall(r"<td[^>]*>(\d+)</td>", cells) for name, cells in rows}
    return {name: (int(found[0]), int(found[-1])) for name, found in numbers.items()}


def expected_regions(fleet: Checkout) -> dict[str, tuple[int, int]]:
    """The same by the files."""
    sums = dict.fromkeys((f"r{n}" for n in range(10)), 0)
    for name, count in replicas(fleet).items():
        sums[f"r{int(name[1:]) % 10}"] += count
    return {name: (CLUSTERS // 10, count) for name, count in sums.items()}


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
